import { randomUUID } from "node:crypto";

/**
 * JSON whose whole numbers keep their digits. JSON.parse rounds those beyond 2^53, and ids of that length are common;
 * so the few events that hold one are parsed with bigints in their place, and all others by JSON.parse alone.
 */

/**
 * Marks the digits of a wide number while they are inside a string. Random in each process, so that no event contains
 * it.
 */
const mark = `${randomUUID()}:`;

/**
 * A whole number of 16 digits or more, but not in a key, a fraction or an exponent. Numbers that are longer than the
 * widest column (Decimal(76)) stay as JSON.parse reads them.
 */
const wide = /(?<![\d.eE+-])-?[1-9]\d{15,79}(?![\d.eE]|\s*:)/g;

/**
 * Parses JSON like JSON.parse, but whole numbers outside the safe range become bigints. Throws the SyntaxError of
 * JSON.parse. Linear in the length of the text, whatever it holds, and no deeper on the stack for deeper nesting.
 */
export function parseExactly(text: string): unknown {
  const marked = withMarks(text, mark, wide, (token) => !Number.isSafeInteger(Number(token)));
  return marked === text ? (JSON.parse(text) as unknown) : withoutMarks(JSON.parse(marked) as unknown);
}

/** Writes JSON like JSON.stringify, bigints as their digits. Throws a RangeError where the value nests too deep. */
export function writeExactly(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const marked = JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === "bigint" ? `${mark}${inner}` : inner,
    );
    return marked.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
  }
}

/** JSON whose numbers that `pattern` and `isMeant` find are texts: `begin`, and then the number as it is spelled. */
export function withMarks(text: string, begin: string, pattern: RegExp, isMeant: (token: string) => boolean): string {
  let marked = "";
  let copied = 0;
  let quote = text.indexOf('"');
  let outside = 0;
  for (const { 0: token, index } of text.matchAll(pattern)) {
    while (quote !== -1 && quote < index) {
      outside = endOfString(text, quote);
      quote = text.indexOf('"', outside);
    }
    if (index < outside || !isMeant(token)) continue;
    marked += `${text.slice(copied, index)}"${begin}${token}"`;
    copied = index + token.length;
  }
  return copied === 0 ? text : marked + text.slice(copied);
}

/** The index after the quote that ends the string; the end of the text where there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === "\\") first -= 1;
    if ((end - first) % 2 === 0) return end + 1;
  }
  return text.length;
}

function withoutMarks(root: unknown): unknown {
  if (isMarked(root)) return unmarked(root);
  const open = [root as Record<string, unknown>];
  for (let object = open.pop(); object !== undefined; object = open.pop()) {
    for (const key of Object.keys(object)) {
      const value = object[key];
      if (isMarked(value)) object[key] = unmarked(value);
      else if (typeof value === "object" && value !== null) open.push(value as Record<string, unknown>);
    }
  }
  return root;
}

function isMarked(value: unknown): value is string {
  return typeof value === "string" && value.startsWith(mark);
}

function unmarked(value: string): bigint {
  return BigInt(value.slice(mark.length));
}

/** Digits of the widest whole numbers that are all safe, and the widest safe number of one digit more. */
const safeDigits = 15;
const widestSafe = "9007199254740991";

const [zero, nine] = [0x30, 0x39];
const beforeNumber = new Set(Buffer.from(":,[ \t\n\r"));
const afterNumber = new Set(Buffer.from(",}] \t\n\r"));

/**
 * Whether JSON may hold a whole number outside the safe range: every sixteenth byte is examined, which finds each run
 * of 16 digits; the bytes around it show most that are not a wide number. Never false where there is one.
 */
export function mayHoldWide(bytes: Buffer): boolean {
  const { length } = bytes;
  for (let at = safeDigits; at < length; at += safeDigits + 1) {
    const byte = bytes[at] as number;
    if (byte < zero || byte > nine) continue;
    let start = at;
    while (isDigit(bytes[start - 1])) start -= 1;
    while (isDigit(bytes[at + 1])) at += 1;
    if (at - start >= safeDigits && isWide(bytes, start, at + 1)) return true;
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}

function isWide(bytes: Buffer, start: number, end: number): boolean {
  const before = bytes[bytes[start - 1] === 0x2d ? start - 2 : start - 1];
  if (before !== undefined && !beforeNumber.has(before)) return false;
  const after = bytes[end];
  if (after !== undefined && !afterNumber.has(after)) return false;
  return end - start > widestSafe.length || bytes.toString("latin1", start, end) > widestSafe;
}
