import { isDigit } from "../../../event/raw-json.ts";
import type { Walk } from "../../../event/raw-json.ts";

const [quote, point, zero, letterZ] = Buffer.from('".0Z');
const dayLayout = Buffer.from('"0000-00-00');
const clockLayout = Buffer.from("T00:00:00");

/** Most digits of a fraction of a second. */
const mostDigits = 9;

/**
 * A time as `2024-05-31T12:30:45Z`, with up to nine digits of a fraction, from 1970 until before the second `before`.
 * ClickHouse cuts or pads the digits for its column, like the converter.
 */
export function rawTime(before: string): Walk {
  const [first, beyond] = [Buffer.from("1970-01-01T00:00:00"), Buffer.from(before)];
  const lastDay = Buffer.from(before.slice(0, "2024-05-31".length));
  const known = new KnownDay();
  return (bytes, start) => {
    const isKnown = known.standsAt(bytes, start);
    const clock = isKnown ? start + dayLayout.length : dayEnd(bytes, start);
    if (clock === 0 || !isClock(bytes, clock)) return 0;
    if (!isKnown && (isBefore(bytes, start + 1, first) || !isBefore(bytes, start + 1, beyond))) return 0;
    if (!isKnown && isBefore(bytes, start + 1, lastDay)) known.learn(bytes, start);
    const end = fractionEnd(bytes, clock + clockLayout.length);
    return end !== 0 && bytes.getUint8(end) === letterZ && bytes.getUint8(end + 1) === quote ? end + 2 : 0;
  };
}

/** A valid day, all of which is within the range: most times are of the same day as the one before. */
class KnownDay {
  #first = 0;
  #second = 0;
  #third = 0;

  constructor() {
    const { buffer, byteOffset, length } = Buffer.from('"1970-01-01');
    this.learn(new DataView(buffer, byteOffset, length), 0);
  }

  /** Takes the quote and the day that stand at a place. */
  learn(bytes: DataView, start: number): void {
    this.#first = bytes.getInt32(start, true);
    this.#second = bytes.getInt32(start + 4, true);
    this.#third = bytes.getInt32(start + 7, true);
  }

  standsAt(bytes: DataView, start: number): boolean {
    return (
      bytes.getInt32(start, true) === this.#first &&
      bytes.getInt32(start + 4, true) === this.#second &&
      bytes.getInt32(start + 7, true) === this.#third
    );
  }
}

/** A day as `2024-05-31`, from `first` until before `beyond`. */
export function rawDay(first: string, beyond: string): Walk {
  const [from, until] = [Buffer.from(first), Buffer.from(beyond)];
  return (bytes, start) => {
    const end = dayEnd(bytes, start);
    if (end === 0 || bytes.getUint8(end) !== quote) return 0;
    return isBefore(bytes, start + 1, from) || !isBefore(bytes, start + 1, until) ? 0 : end + 1;
  };
}

/** The place after the quote and the day, which must exist; else 0. */
function dayEnd(bytes: DataView, start: number): number {
  if (!fits(bytes, start, dayLayout)) return 0;
  const year = two(bytes, start + 1) * 100 + two(bytes, start + 3);
  const day = two(bytes, start + 9);
  return day >= 1 && day <= daysOf(two(bytes, start + 6), year) ? start + dayLayout.length : 0;
}

/** Days of a month from 1 to 12; 0 for any other. */
function daysOf(month: number, year: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  if (month < 1 || month > 12) return 0;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isClock(bytes: DataView, at: number): boolean {
  return fits(bytes, at, clockLayout) && two(bytes, at + 1) < 24 && two(bytes, at + 4) < 60 && two(bytes, at + 7) < 60;
}

/** The place after a point and its digits, or `start` without a point; 0 where the digits are none or too many. */
function fractionEnd(bytes: DataView, start: number): number {
  if (bytes.getUint8(start) !== point) return start;
  let at = start + 1;
  while (isDigit(bytes.getUint8(at))) at += 1;
  const digits = at - start - 1;
  return digits === 0 || digits > mostDigits ? 0 : at;
}

/** Of each byte: zero for any digit, itself for any other. */
const folded = Uint8Array.from({ length: 256 }, (_, byte) => (isDigit(byte) ? zero! : byte));

/** Whether the bytes have digits where the layout has zeros, and are the same elsewhere. */
function fits(bytes: DataView, at: number, layout: Uint8Array): boolean {
  for (let index = 0; index < layout.length; index += 1) {
    if (folded[bytes.getUint8(at + index)] !== layout[index]) return false;
  }
  return true;
}

function two(bytes: DataView, at: number): number {
  return (bytes.getUint8(at) - 0x30) * 10 + bytes.getUint8(at + 1) - 0x30;
}

/** Whether digits in a layout stand for an earlier time than others in the same layout. */
function isBefore(bytes: DataView, at: number, other: Uint8Array): boolean {
  for (let index = 0; index < other.length; index += 1) {
    const difference = bytes.getUint8(at + index) - (other[index] as number);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
