const reversed = (text: string): string => Array.from(text).toReversed().join("");
const percents = (text: string): string =>
  Buffer.from(text)
    .toString("hex")
    .replaceAll(/../g, (byte) => `%${byte.toUpperCase()}`);

/** The ways in which a peer says a password again that it got. */
export const echoes: Readonly<Record<string, (user: string, password: string) => string>> = {
  "as it is": (_user, password) => password,
  "as it is, with its bytes taken for Latin-1": (_user, password) => Buffer.from(password).toString("latin1"),
  "after its user": (user, password) => `${user}:${password}`,
  "in base64": (_user, password) => Buffer.from(password).toString("base64"),
  "in base64 for URLs": (_user, password) => Buffer.from(password).toString("base64url"),
  "in base64 after its user": (user, password) => Buffer.from(`${user}:${password}`).toString("base64"),
  "in base64 after one character": (_user, password) => Buffer.from(`:${password}`).toString("base64"),
  "in base64 after two characters": (_user, password) => Buffer.from(`::${password}`).toString("base64"),
  "in base64 within a login of SASL": (user, password) => Buffer.from(`\0${user}\0${password}`).toString("base64"),
  "encoded for a URL": (_user, password) => encodeURIComponent(password),
  "encoded for a URL in small letters": (_user, password) =>
    encodeURIComponent(password).replaceAll(/%../g, (one) => one.toLowerCase()),
  "encoded for a form": (_user, password) => encodeURIComponent(password).replaceAll("%20", "+"),
  "encoded byte by byte": (_user, password) => percents(password),
  "in hexadecimal digits": (_user, password) => Buffer.from(password).toString("hex"),
  "in large hexadecimal digits": (_user, password) => Buffer.from(password).toString("hex").toUpperCase(),
  "from its end": (_user, password) => reversed(password),
  "escaped for JSON": (_user, password) => JSON.stringify(password),
};

/** All of them in one text, which is repeated `times`, so that cutting it cuts some of them. */
export function echoed(user: string, password: string, times = 1): string {
  const said = Object.values(echoes).map((say) => say(user, password));
  return Array.from({ length: times }, () => said.join(" ")).join(" ");
}

/** What must not be in a text that was shown: each spelling whole, and each part of the password of six characters. */
export function partsOf(user: string, password: string): string[] {
  const parts = Array.from({ length: Math.max(0, password.length - 5) }, (_, at) => password.slice(at, at + 6));
  const spelled = Object.values(echoes).map((say) => say(user, password));
  return [...spelled, ...parts, ...parts.map(reversed)];
}
