/**
 * Walks over JSON that lies in bytes, without making a value of it.
 *
 * A walk is given the place where a value begins and answers the place behind it, or 0 where it gives up: the value is
 * not JSON, not of the kind that the walk is for, or spelled in a way that two readers might take for two things. What
 * a walk passes is one line of valid UTF-8. What stands behind the value is for the caller to judge. A line break has to
 * stand behind the bytes, so that no walk leaves them.
 */
export type Walk = (bytes: Buffer, at: number) => number;

const [quote, backslash, comma, colon, space] = Buffer.from('"\\,: ');
const [openObject, closeObject, openArray, closeArray] = Buffer.from("{}[]");
const [minus, plus, point, zero, letterE, letterU] = Buffer.from("-+.0eu");
const shortEscapes = new Set(Buffer.from('"\\/bfnrt'));
const words = ["true", "false", "null"].map((word) => Buffer.from(word));

/** Of each byte: 0 stands in a text as it is, 1 ends it, is an escape or is refused, 2 is part of a longer character. */
const roles = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return 2;
  return byte < 0x20 || byte === quote || byte === backslash ? 1 : 0;
});

/** A string that is text: whole Unicode characters, also where they are escaped. */
export function textEnd(bytes: Buffer, start: number): number {
  if (bytes[start] !== quote) return 0;
  let at = start + 1;
  for (;;) {
    while (roles[bytes[at] as number] === 0) at += 1;
    const byte = bytes[at] as number;
    if (byte === quote) return at + 1;
    at = byte === backslash ? escapeEnd(bytes, at) : wideEnd(bytes, at);
    if (at === 0) return 0;
  }
}

/** An escape; that of a surrogate only together with its other half. */
function escapeEnd(bytes: Buffer, at: number): number {
  const letter = bytes[at + 1] as number;
  if (letter !== letterU) return shortEscapes.has(letter) ? at + 2 : 0;
  const unit = hexadecimal(bytes, at + 2);
  if (unit < 0xd800 || unit > 0xdfff) return unit < 0 ? 0 : at + 6;
  if (unit > 0xdbff || bytes[at + 6] !== backslash || bytes[at + 7] !== letterU) return 0;
  const low = hexadecimal(bytes, at + 8);
  return low >= 0xdc00 && low <= 0xdfff ? at + 12 : 0;
}

/** The number that four hexadecimal digits spell, -1 where they are none. */
function hexadecimal(bytes: Buffer, start: number): number {
  let unit = 0;
  for (let at = start; at < start + 4; at += 1) {
    const byte = bytes[at] as number;
    const letter = (byte | 0x20) - 0x61;
    if (isDigit(byte)) unit = unit * 16 + byte - 0x30;
    else if (letter >= 0 && letter < 6) unit = unit * 16 + letter + 10;
    else return -1;
  }
  return unit;
}

/** A character of several bytes, as UTF-8 allows it: neither longer than needed, nor a surrogate, nor beyond U+10FFFF. */
function wideEnd(bytes: Buffer, at: number): number {
  const lead = bytes[at] as number;
  const second = bytes[at + 1] as number;
  if (lead < 0xc2 || lead > 0xf4 || !isContinuation(second)) return 0;
  if (lead < 0xe0) return at + 2;
  if (!isContinuation(bytes[at + 2] as number)) return 0;
  if (lead < 0xf0) return (lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f) ? 0 : at + 3;
  if (!isContinuation(bytes[at + 3] as number)) return 0;
  return (lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f) ? 0 : at + 4;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function digitsEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at] as number)) at += 1;
  return at;
}

/** The digits of a whole number without its sign: at least one, and no zero before others. */
export function wholeEnd(bytes: Buffer, at: number): number {
  const end = digitsEnd(bytes, at);
  return end === at || (bytes[at] === zero && end > at + 1) ? 0 : end;
}

/** Numbers longer than this, or with longer exponents, are left to readers that were made for them. */
const longestNumber = 40;
const longestExponent = 2;

function numberEnd(bytes: Buffer, start: number): number {
  let at = wholeEnd(bytes, bytes[start] === minus ? start + 1 : start);
  if (at === 0) return 0;
  if (bytes[at] === point) {
    const fraction = at + 1;
    at = digitsEnd(bytes, fraction);
    if (at === fraction) return 0;
  }
  if (((bytes[at] as number) | 0x20) === letterE) {
    const sign = bytes[at + 1];
    const exponent = sign === minus || sign === plus ? at + 2 : at + 1;
    at = digitsEnd(bytes, exponent);
    if (at === exponent || at - exponent > longestExponent) return 0;
  }
  return at - start > longestNumber ? 0 : at;
}

/** Whether the bytes from `at` are those of `expected`. */
export function matches(bytes: Buffer, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index += 1) {
    if (bytes[at + index] !== expected[index]) return false;
  }
  return true;
}

/** Nothing, or the one space that some writers put behind a comma or a colon. */
export function gapEnd(bytes: Buffer, at: number): number {
  return bytes[at] === space ? at + 1 : at;
}

/** Levels of nesting that are walked: an event nested deeper is made to exhaust a stack. */
const deepest = 32;

/** Any value. */
export function valueEnd(bytes: Buffer, at: number, depth = 0): number {
  const byte = bytes[at] as number;
  if (byte === quote) return textEnd(bytes, at);
  if (byte === minus || isDigit(byte)) return numberEnd(bytes, at);
  if (byte === openObject || byte === openArray) return depth < deepest ? groupEnd(bytes, at, depth + 1) : 0;
  for (const word of words) if (matches(bytes, at, word)) return at + word.length;
  return 0;
}

function groupEnd(bytes: Buffer, start: number, depth: number): number {
  const isObject = bytes[start] === openObject;
  const close = isObject ? closeObject : closeArray;
  let at = start + 1;
  if (bytes[at] === close) return at + 1;
  for (;;) {
    if (isObject) {
      at = textEnd(bytes, at);
      if (at === 0 || bytes[at] !== colon) return 0;
      at = gapEnd(bytes, at + 1);
    }
    at = valueEnd(bytes, at, depth);
    if (at === 0) return 0;
    if (bytes[at] === close) return at + 1;
    if (bytes[at] !== comma) return 0;
    at = gapEnd(bytes, at + 1);
  }
}
