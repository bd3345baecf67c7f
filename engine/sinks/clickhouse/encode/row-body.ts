import { padding } from "../../../event/raw-json.ts";
import type { Walk } from "../../../event/raw-json.ts";
import { BufferPool } from "./buffer-pool.ts";

const [lineBreak, quote, backslash, minus, point, zero] = Buffer.from('\n"\\-.0') as unknown as [
  number,
  number,
  number,
  number,
  number,
  number,
];

/** Bytes above the guess: encoded rows may be longer than their events. */
const headroom = 4096;

/** A body of so many bytes grows by a quarter, a smaller one to twice its size: the room is seldom needed whole. */
const large = 8 * 1024 * 1024;

/** Shorter strings are written letter by letter: for them a call of the fast native write costs more. */
const short = 64;

/** Most bytes of a character of a text, which is one or two of its units. */
const widest = 3;

/** Whole numbers are written in parts of this many digits, which fit 32 bits; fractions have at most 6 digits. */
const part = { digits: 9, size: 10 ** 9 };
const fraction = { digits: 6, size: 10 ** 6 };

/** A few bytes that are added to every row, in groups of four, padded with zeros. */
export interface ConstantBytes {
  length: number;
  fours: Int32Array;
}

export function constantOf(text: string): ConstantBytes {
  const bytes = Buffer.from(text);
  const padded = Buffer.concat([bytes, Buffer.alloc(3)]);
  const fours = Int32Array.from({ length: Math.ceil(bytes.length / 4) }, (_, index) => padded.readInt32LE(4 * index));
  return { length: bytes.length, fours };
}

/** The body of an insert, which grows row by row: bytes of events that are rows already, and values as JSON. */
export class RowBody {
  readonly #pool: BufferPool;
  #bytes: Buffer;
  #view: DataView;
  #end = 0;

  /** `size` is a guess at its bytes, which are a buffer of `pool`. */
  constructor(size: number, pool = new BufferPool(0)) {
    this.#pool = pool;
    this.#bytes = pool.take(size + headroom);
    this.#view = viewOf(this.#bytes);
  }

  get length(): number {
    return this.#end;
  }

  /** Removes what was added after this length. */
  cutTo(length: number): void {
    this.#end = length;
  }

  /** A range of bytes, such as a row without its line break. */
  addBytes(bytes: Buffer, start = 0, end = bytes.length): void {
    this.#reserve(end - start);
    bytes.copy(this.#bytes, this.#end, start, end);
    this.#end += end - start;
  }

  addConstant({ length, fours }: ConstantBytes): void {
    this.#reserve(4 * fours.length);
    for (let index = 0; index < fours.length; index += 1) {
      this.#view.setInt32(this.#end + 4 * index, fours[index]!, true);
    }
    this.#end += length;
  }

  endRow(): void {
    this.#reserve(1);
    this.#bytes[this.#end] = lineBreak;
    this.#end += 1;
  }

  /** Whether a walk passes what was added after this length. */
  passes(length: number, walk: Walk): boolean {
    this.#reserve(1 + padding);
    this.#bytes[this.#end] = lineBreak;
    return walk(this.#view, length) === this.#end;
  }

  /** JSON. */
  addJson(text: string): void {
    this.#reserve(widest * text.length);
    const start = this.#end;
    if (text.length > short) this.#end += this.#bytes.write(text, start);
    else if (!this.#addShortAscii(text)) this.#end = start + this.#bytes.write(text, start);
  }

  /** A string as JSON, if it is short and has only ASCII letters without escapes; else adds nothing. */
  addShortText(text: string): boolean {
    const { length } = text;
    if (length > short) return false;
    this.#reserve(length + 2);
    const bytes = this.#bytes;
    let end = this.#end;
    bytes[end++] = quote;
    for (let at = 0; at < length; at += 1) {
      const letter = text.charCodeAt(at);
      if (letter < 0x20 || letter > 0x7e || letter === quote || letter === backslash) return false;
      bytes[end++] = letter;
    }
    bytes[end++] = quote;
    this.#end = end;
    return true;
  }

  /** A whole number in the safe range. */
  addWhole(value: number): void {
    this.#reserve(2 * part.digits);
    const size = this.#addSign(value);
    const high = Math.floor(size / part.size);
    if (high > 0) this.#addDigits(high, 1);
    this.#addDigits(size - high * part.size, high > 0 ? part.digits : 1);
  }

  /** A number that has up to 9 digits before the point and 6 after it, spelled as `String` does; else adds nothing. */
  addShortNumber(value: number): boolean {
    const whole = Math.trunc(Math.abs(value));
    if (!(whole < part.size)) return false;
    const decimals = Math.round((Math.abs(value) - whole) * fraction.size);
    // Different decimals of so few digits are different numbers, so the one that equals this number is its shortest
    // spelling.
    if ((whole * fraction.size + decimals) / fraction.size !== Math.abs(value)) return false;
    this.#reserve(2 * part.digits);
    this.#addSign(value);
    this.#addDigits(whole, 1);
    if (decimals === 0) return true;
    this.#bytes[this.#end++] = point;
    this.#addDigits(decimals, fraction.digits);
    while (this.#bytes[this.#end - 1] === zero) this.#end -= 1;
    return true;
  }

  toBytes(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** Adds a minus sign, if there is one; returns the absolute number. */
  #addSign(value: number): number {
    if (value < 0) this.#bytes[this.#end++] = minus;
    return Math.abs(value);
  }

  /** A whole number below `part.size` in so many digits, zeros before it included; in as many as it needs where that is 1. */
  #addDigits(value: number, count: number): void {
    let digits = count;
    if (count === 1) for (let limit = 10; value >= limit; limit *= 10) digits += 1;
    let rest = value;
    for (let at = this.#end + digits - 1; at >= this.#end; at -= 1) {
      const tens = (rest / 10) | 0;
      this.#bytes[at] = zero + rest - 10 * tens;
      rest = tens;
    }
    this.#end += digits;
  }

  #addShortAscii(text: string): boolean {
    const bytes = this.#bytes;
    let end = this.#end;
    for (let at = 0; at < text.length; at += 1) {
      const letter = text.charCodeAt(at);
      if (letter > 0x7f) return false;
      bytes[end++] = letter;
    }
    this.#end = end;
    return true;
  }

  #reserve(size: number): void {
    const needed = this.#end + size;
    if (needed <= this.#bytes.length) return;
    const { length } = this.#bytes;
    const grown = this.#pool.take(Math.max(needed, length < large ? 2 * length : length + length / 4));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#pool.give(this.#bytes);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
