import { foreignText } from "./foreign-text.ts";

/** Removes the secrets of a connection from a text that its peer may have written. */
export type Hide = (text: unknown) => string;

/** What stands in the place of a secret. */
const mark = "***";

/** A shorter secret protects nothing, and hiding it would make every text unreadable. */
const fewestCharacters = 3;

/** Fewer characters of base64 could be part of a word. */
const fewestOfBase64 = 6;

/** User and password of a URL, whosever they are. The user of ssh is no secret. */
const inUrl = /\b(?!ssh:)([a-z][a-z0-9+.-]{0,31}:\/\/)[^\s/@]{1,1024}@/gi;
const inSshUrl = /(ssh:\/\/[^\s/:@]{0,255}):[^\s/@]{1,1024}@/gi;

/**
 * Hides what a peer got from us and may send back in an error: a password or a token as it is, reversed, escaped for
 * JSON or a URL, in hexadecimal digits, and in base64, also as a part of a longer text such as `user:password`; and the
 * credentials of any URL. Call it before a text is cut: at the cut, a part of a secret would stay.
 */
export function hiding(secrets: Iterable<string | undefined>, replacement = mark): Hide {
  const known = new Set([...secrets].filter((secret) => secret !== undefined).filter(isLong));
  const plain = byLength([...known].flatMap(spellings));
  const hexadecimal = byLength(Array.from(known, (secret) => Buffer.from(secret).toString("hex")));
  const encoded = byLength([...known].flatMap(base64Parts));
  return (text) => {
    let shown = foreignText(text);
    for (const secret of plain) shown = shown.replaceAll(secret, replacement);
    for (const digits of hexadecimal) shown = replacedInAnyCase(shown, digits, replacement);
    for (const part of encoded) shown = withoutRuns(shown, part, replacement);
    return shown.replaceAll(inUrl, `$1${replacement}@`).replaceAll(inSshUrl, `$1:${replacement}@`);
  };
}

function isLong(secret: string): boolean {
  return secret.length >= fewestCharacters;
}

/** The longest first: a shorter one may be a part of it. */
function byLength(texts: readonly string[]): string[] {
  return [...new Set(texts)].toSorted((a, b) => b.length - a.length);
}

/** The ways to write a secret by which its characters stay recognisable. */
function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  // A half of a surrogate pair cannot be encoded.
  const wellFormed = Buffer.from(secret).toString();
  const url = encodeURIComponent(wellFormed);
  const reversed = Array.from(secret).toReversed().join("");
  const ascii = json.replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const percent = Buffer.from(secret).toString("hex").replaceAll(/../g, "%$&");
  const all = [
    secret,
    reversed,
    json,
    json.replaceAll("/", "\\/"),
    ascii,
    url,
    url.replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`),
    url.replaceAll("%20", "+"),
    encodeURI(wellFormed),
    percent,
    percent.toUpperCase(),
  ];
  // Who takes UTF-8 for Latin-1, as Git does with the text of an answer, spells each byte as a character.
  return [...all, ...all.map(withLowerPercents), ...all.map((text) => Buffer.from(text).toString("latin1"))];
}

function withLowerPercents(text: string): string {
  return text.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase());
}

/**
 * The characters of base64 that depend on the secret alone, at each of the three places where it may begin within a
 * group, in both alphabets.
 */
function base64Parts(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const parts = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    const isCut = (before + bytes.length) % 3 !== 0;
    return text.slice(Math.ceil((before * 8) / 6), isCut ? -1 : undefined);
  });
  const long = parts.filter((part) => part.length >= fewestOfBase64);
  return [...long, ...long.map((part) => part.replaceAll("+", "-").replaceAll("/", "_"))];
}

function replacedInAnyCase(text: string, digits: string, replacement: string): string {
  return spliced(text, text.toLowerCase(), digits, replacement, (start, end) => [start, end]);
}

/** Replaces each whole run of base64 that holds the part: its neighbours hold the first and the last bits. */
function withoutRuns(text: string, part: string, replacement: string): string {
  return spliced(text, text, part, replacement, (from, to) => {
    let [start, end] = [from, to];
    while (start > 0 && isBase64(text.charCodeAt(start - 1))) start -= 1;
    while (end < text.length && isBase64(text.charCodeAt(end))) end += 1;
    return [start, end];
  });
}

/** Replaces what `part` stands in, as far as `around` says; it is looked for in `searched`, of the same length as `text`. */
function spliced(
  text: string,
  searched: string,
  part: string,
  replacement: string,
  around: (start: number, end: number) => [number, number],
): string {
  let [shown, done] = ["", 0];
  if (searched.length !== text.length) return text.replaceAll(part, replacement);
  for (let at = searched.indexOf(part); at !== -1; at = searched.indexOf(part, done)) {
    const [start, end] = around(at, at + part.length);
    shown += text.slice(done, Math.max(start, done)) + replacement;
    done = end;
  }
  return shown + text.slice(done);
}

function isBase64(code: number): boolean {
  const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
  return (
    isLetter || (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 47 || code === 61 || code === 95
  );
}
