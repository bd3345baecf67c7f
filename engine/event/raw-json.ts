/**
 * Walks over JSON that lies in bytes, without making a value of it.
 *
 * A walk takes the place where a value begins and returns the place after it, or 0 where it rejects the value: it is
 * not JSON, not of the kind that the walk is for, or spelled in a way that two parsers may read differently. What a
 * walk passes is one line of valid UTF-8. The caller checks what follows the value. A line break has to follow the
 * bytes, and `padding` after that, so that no walk reads beyond them.
 */
export type Walk = (bytes: DataView, at: number) => number;

/**
 * What makes an event a row of a sink's columns as it is. Other columns have another object, so that a result for one
 * is never used for the other.
 */
export interface RowWalks {
  /** Over the values of the columns, by key: each has to pass. */
  readonly walks: ReadonlyMap<string, Walk>;
  /** Keys that a row may lack: the column then holds what an encoded row would have there. */
  readonly optional: ReadonlySet<string>;
  /** Keys whose values may be null. */
  readonly nullable: ReadonlySet<string>;
}

/** Bytes of any content after the line break: four are read at once. */
export const padding = 3;

const [quote, backslash, comma, colon, space] = Buffer.from('"\\,: ');
const [openObject, closeObject, openArray, closeArray] = Buffer.from("{}[]");
const [minus, plus, point, zero, letterE, letterU] = Buffer.from("-+.0eu");
const shortEscapes = new Set(Buffer.from('"\\/bfnrt'));
const words = ["true", "false", "null"].map((word) => Buffer.from(word));

/** A string that is text: whole Unicode characters, also where they are escaped. */
export function textEnd(bytes: DataView, start: number): number {
  if (bytes.getUint8(start) !== quote) return 0;
  let at = start + 1;
  for (;;) {
    const found = specials(bytes.getInt32(at, true));
    if (found === 0) {
      at += 4;
      continue;
    }
    at += firstOf(found);
    const byte = bytes.getUint8(at);
    if (byte === quote) return at + 1;
    at = byte === backslash ? escapeEnd(bytes, at) : wideEnd(bytes, at);
    if (at === 0) return 0;
  }
}

/** Whether the bytes of a string stand for themselves: ASCII without an escape. The string has been walked. */
export function isPlainText(bytes: DataView, start: number, end: number): boolean {
  let at = start + 1;
  let found = specials(bytes.getInt32(at, true));
  while (found === 0) {
    at += 4;
    found = specials(bytes.getInt32(at, true));
  }
  return at + firstOf(found) === end - 1;
}

/**
 * Sets the highest bit of each of four bytes that a text does not hold as it is: a quote, a backslash, a byte of a
 * longer character, or one below 0x20. A byte of a longer character has that bit already; a byte below 0x20 gets it
 * when 0x20 is subtracted; a quote or a backslash gets it when it was made 0 and 1 is subtracted. After the first such
 * byte the bits may be wrong.
 */
function specials(four: number): number {
  const unquoted = (four ^ 0x22222222) - 0x01010101;
  const unslashed = (four ^ 0x5c5c5c5c) - 0x01010101;
  return (four | (four - 0x20202020) | unquoted | unslashed) & 0x80808080;
}

/** The place of the lowest byte whose highest bit is set. */
function firstOf(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >> 3;
}

/** An escape; one of a surrogate only together with its other half. */
function escapeEnd(bytes: DataView, at: number): number {
  const letter = bytes.getUint8(at + 1);
  if (letter !== letterU) return shortEscapes.has(letter) ? at + 2 : 0;
  const unit = hexadecimal(bytes, at + 2);
  if (unit < 0xd800 || unit > 0xdfff) return unit < 0 ? 0 : at + 6;
  if (unit > 0xdbff || bytes.getUint8(at + 6) !== backslash || bytes.getUint8(at + 7) !== letterU) return 0;
  const low = hexadecimal(bytes, at + 8);
  return low >= 0xdc00 && low <= 0xdfff ? at + 12 : 0;
}

/** The number that four hexadecimal digits spell, -1 where they are none. */
function hexadecimal(bytes: DataView, start: number): number {
  let unit = 0;
  for (let at = start; at < start + 4; at += 1) {
    const byte = bytes.getUint8(at);
    const letter = (byte | 0x20) - 0x61;
    if (isDigit(byte)) unit = unit * 16 + byte - 0x30;
    else if (letter >= 0 && letter < 6) unit = unit * 16 + letter + 10;
    else return -1;
  }
  return unit;
}

/** A character of several bytes, as UTF-8 allows it: neither longer than needed, nor a surrogate, nor beyond U+10FFFF. */
function wideEnd(bytes: DataView, at: number): number {
  const lead = bytes.getUint8(at);
  const second = bytes.getUint8(at + 1);
  if (lead < 0xc2 || lead > 0xf4 || !isContinuation(second)) return 0;
  if (lead < 0xe0) return at + 2;
  if (!isContinuation(bytes.getUint8(at + 2))) return 0;
  if (lead < 0xf0) return (lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f) ? 0 : at + 3;
  if (!isContinuation(bytes.getUint8(at + 3))) return 0;
  return (lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f) ? 0 : at + 4;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function digitsEnd(bytes: DataView, start: number): number {
  let at = start;
  while (isDigit(bytes.getUint8(at))) at += 1;
  return at;
}

/** The digits of a whole number without its sign: at least one, and no zero before others. */
export function wholeEnd(bytes: DataView, at: number): number {
  const end = digitsEnd(bytes, at);
  return end === at || (bytes.getUint8(at) === zero && end > at + 1) ? 0 : end;
}

/** Numbers longer than this, or with longer exponents, are left to the parser. */
const longestNumber = 40;
const longestExponent = 2;

function numberEnd(bytes: DataView, start: number): number {
  let at = wholeEnd(bytes, bytes.getUint8(start) === minus ? start + 1 : start);
  if (at === 0) return 0;
  if (bytes.getUint8(at) === point) {
    const fraction = at + 1;
    at = digitsEnd(bytes, fraction);
    if (at === fraction) return 0;
  }
  if ((bytes.getUint8(at) | 0x20) === letterE) {
    const sign = bytes.getUint8(at + 1);
    const exponent = sign === minus || sign === plus ? at + 2 : at + 1;
    at = digitsEnd(bytes, exponent);
    if (at === exponent || at - exponent > longestExponent) return 0;
  }
  return at - start > longestNumber ? 0 : at;
}

/** Bytes as a string. */
export function textOf(bytes: DataView, start: number, end: number, encoding: "latin1" | "utf8"): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString(encoding);
}

/** Whether the bytes from `at` are those of `expected`. */
export function matches(bytes: DataView, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index += 1) {
    if (bytes.getUint8(at + index) !== expected[index]) return false;
  }
  return true;
}

/** Nothing, or the one space that some writers put after a comma or a colon. */
export function gapEnd(bytes: DataView, at: number): number {
  return bytes.getUint8(at) === space ? at + 1 : at;
}

/** Levels of nesting that are walked: deeper nesting could exhaust the stack. */
const deepest = 32;

/** Any value. */
export function valueEnd(bytes: DataView, at: number, depth = 0): number {
  const byte = bytes.getUint8(at);
  if (byte === quote) return textEnd(bytes, at);
  if (byte === minus || isDigit(byte)) return numberEnd(bytes, at);
  if (byte === openObject || byte === openArray) return depth < deepest ? groupEnd(bytes, at, depth + 1) : 0;
  for (const word of words) if (matches(bytes, at, word)) return at + word.length;
  return 0;
}

function groupEnd(bytes: DataView, start: number, depth: number): number {
  const isObject = bytes.getUint8(start) === openObject;
  const close = isObject ? closeObject : closeArray;
  let at = start + 1;
  if (bytes.getUint8(at) === close) return at + 1;
  for (;;) {
    if (isObject) {
      at = textEnd(bytes, at);
      if (at === 0 || bytes.getUint8(at) !== colon) return 0;
      at = gapEnd(bytes, at + 1);
    }
    at = valueEnd(bytes, at, depth);
    if (at === 0) return 0;
    if (bytes.getUint8(at) === close) return at + 1;
    if (bytes.getUint8(at) !== comma) return 0;
    at = gapEnd(bytes, at + 1);
  }
}
