/** What replaces characters in a longer text could exceed the longest text that there can be. */
const longestRead = 1 << 24;

/** Addresses of one name of which is said why they could not be connected to. */
const mostAddresses = 4;

/**
 * What a library or a peer gave as a text, whatever it is in truth; of an error its message. Never throws, also for values
 * that throw when they are read.
 */
export function foreignText(value: unknown): string {
  try {
    const text = typeof value === "string" ? value : messageOf(value) || String(value);
    return text.length <= longestRead ? text : `a text of ${text.length} characters`;
  } catch {
    return "a value without a text";
  }
}

/**
 * A text of a peer as one line in which control characters are visible: it must not look like a line of Sluice, and not
 * steer a terminal. The caller bounds it.
 */
export function oneLine(text: unknown): string {
  return foreignText(text)
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, escaped);
}

/** One line of at most `longest` characters; the end is kept, since an error names its place there. */
export function clippedTo(text: unknown, longest: number): string {
  const line = oneLine(text);
  return line.length <= longest ? line : `${line.slice(0, longest / 2)} … ${line.slice(-longest / 2)}`;
}

/** Empty where it is no error, or its message is no text. */
function messageOf(value: unknown): string {
  if (!(value instanceof Error)) return "";
  // Where no address of a name can be connected to, the errors of the addresses say why, and the error itself nothing.
  const addresses: unknown[] = value instanceof AggregateError ? value.errors.slice(0, mostAddresses) : [];
  const messages = [value, ...addresses].map((error) => (error as Error).message);
  return messages.filter((message) => typeof message === "string" && message !== "").join("; ");
}

function escaped(character: string): string {
  return `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`;
}
