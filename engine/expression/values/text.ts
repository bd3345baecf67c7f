/**
 * Texts of the language: `len` counts characters, while positions count bytes of UTF-8. Only texts with characters
 * beyond ASCII need a conversion.
 */

/** Whether every character is one byte of UTF-8. */
function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}

/** How many characters: code points, not UTF-16 units. */
export function characters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index += 1) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) {
      count -= 1;
      index += 1;
    }
  }
  return count;
}

/** The byte at an index, negative ones from the end; undefined outside. */
export function byteAt(text: string, index: number): number | undefined {
  const bytes = Buffer.from(text);
  return bytes[index < 0 ? bytes.length + index : index];
}

/** The bytes `from`..`to`, the latter not included; a character that is cut becomes U+FFFD. */
export function byteSlice(text: string, from: number, to: number): string {
  if (isAscii(text)) return text.slice(...bounds(text.length, from, to));
  const bytes = Buffer.from(text);
  return bytes.subarray(...bounds(bytes.length, from, to)).toString();
}

/** The byte position of a UTF-16 index of `text`; -1 stays -1. */
export function bytePosition(text: string, index: number): number {
  return index <= 0 ? index : Buffer.byteLength(text.slice(0, index));
}

/** Clamps the ends of a slice of `length`; negative ends count from the end. */
export function bounds(length: number, from: number, to: number): [number, number] {
  const start = Math.max(0, from < 0 ? length + from : from);
  const end = Math.min(length, Math.max(0, to < 0 ? length + to : to));
  return [Math.min(start, end), end];
}

/** Upper case, character by character, so that the text keeps its number of characters. */
export function upper(text: string): string {
  return isAscii(text) ? text.toUpperCase() : each(text, (character) => character.toUpperCase());
}

export function lower(text: string): string {
  return isAscii(text) ? text.toLowerCase() : each(text, (character) => character.toLowerCase());
}

function each(text: string, change: (character: string) => string): string {
  let changed = "";
  for (const character of text) {
    const other = change(character);
    changed += characters(other) === 1 ? other : character === "İ" ? "i" : character;
  }
  return changed;
}

function isSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit === 0x85 || unit === 0xa0 || unit === 0x1680 || unit === 0x3000) return true;
  return (unit >= 0x2000 && unit <= 0x200a) || unit === 0x2028 || unit === 0x2029 || unit === 0x202f || unit === 0x205f;
}

/** Without white space at both ends. */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}
