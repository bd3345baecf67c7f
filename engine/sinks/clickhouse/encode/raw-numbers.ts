import { digitsEnd, isDigit, textOf, wholeEnd } from "../../../event/raw-json.ts";
import type { Walk } from "../../../event/raw-json.ts";

const [minus, plus, point, zero, letterE] = Buffer.from("-+.0e");

/** Decimal digits that survive in every double unchanged. */
const exactDigits = 15;

/** Whole numbers of so few digits have one spelling. */
export const shortWhole = wholeWithin("9".repeat(exactDigits), "9".repeat(exactDigits));

/** The same from 0 on. */
export const shortUnsigned = wholeWithin("", "9".repeat(exactDigits));

/**
 * The values of an integer column. In columns wider than 64 bits, values with more digits are written as strings.
 * `isSigned`: of the field's type. `hasSign`: of the column.
 */
export function rawInteger(isSigned: boolean, hasSign: boolean, bits: number): Walk {
  const mayBeNegative = isSigned && hasSign;
  if (bits > 64) return mayBeNegative ? shortWhole : shortUnsigned;
  const beyond = 2n ** BigInt(hasSign ? bits - 1 : bits);
  return wholeWithin(mayBeNegative ? beyond.toString() : "", (beyond - 1n).toString());
}

/** A whole number in digits: at most `low` after a minus sign, at most `high` without one, and no `-0`. */
export function wholeWithin(low: string, high: string): Walk {
  const [lowest, highest] = [Buffer.from(low), Buffer.from(high)];
  return (bytes, start) => {
    const isNegative = bytes.getUint8(start) === minus;
    const first = isNegative ? start + 1 : start;
    const end = wholeEnd(bytes, first);
    if (end === 0 || (isNegative && bytes.getUint8(first) === zero)) return 0;
    const limit = isNegative ? lowest : highest;
    const digits = end - first;
    return digits < limit.length || (digits === limit.length && !isAbove(bytes, first, limit)) ? end : 0;
  };
}

/** Whether digits spell a greater number than other digits of the same length. */
function isAbove(bytes: DataView, at: number, limit: Uint8Array): boolean {
  for (let index = 0; index < limit.length; index += 1) {
    const difference = bytes.getUint8(at + index) - (limit[index] as number);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** A number as JSON.stringify spells it, or a whole one of up to 15 digits with a fraction of zeros. No `-0`. */
export function rawFloat(bits: 32 | 64): Walk {
  return (bytes, start) => {
    const first = bytes.getUint8(start) === minus ? start + 1 : start;
    const whole = wholeEnd(bytes, first);
    if (whole === 0) return 0;
    const end = bytes.getUint8(whole) === point ? digitsEnd(bytes, whole + 1) : whole;
    const isPlain = end - first <= exactDigits && end !== whole + 1 && !isExponent(bytes.getUint8(end));
    if (isPlain && isUsual(bytes, first, whole, end)) return first > start && isNought(bytes, first, end) ? 0 : end;
    return spelledEnd(bytes, start, bits);
  };
}

/**
 * Whether digits that are few enough for any double are spelled as they would be written: without a fraction, with one
 * that ends in no zero and is not so small as to need an exponent; or else with zeros alone after the point.
 */
function isUsual(bytes: DataView, first: number, whole: number, end: number): boolean {
  if (end === whole) return true;
  if (bytes.getUint8(end - 1) === zero) return areZeros(bytes, whole + 1, end);
  return bytes.getUint8(first) !== zero || !areZeros(bytes, whole + 1, whole + 7);
}

/** Whether a number in a usual spelling is zero. */
function isNought(bytes: DataView, first: number, end: number): boolean {
  return bytes.getUint8(first) === zero && bytes.getUint8(end - 1) === zero;
}

function areZeros(bytes: DataView, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes.getUint8(at) !== zero) return false;
  return true;
}

/** Characters of the longest spelling of a double. */
const longestSpelling = 24;

/** Any other number, if it is spelled as it would be written. */
function spelledEnd(bytes: DataView, start: number, bits: 32 | 64): number {
  let end = start;
  while (isOfNumber(bytes.getUint8(end))) end += 1;
  if (end - start > longestSpelling) return 0;
  const text = textOf(bytes, start, end, "latin1");
  const number = Number(text);
  return String(number) === text && (bits === 64 || Number.isFinite(Math.fround(number))) ? end : 0;
}

function isOfNumber(byte: number): boolean {
  return isDigit(byte) || isExponent(byte) || byte === minus || byte === plus || byte === point;
}

function isExponent(byte: number): boolean {
  return (byte | 0x20) === letterE;
}
