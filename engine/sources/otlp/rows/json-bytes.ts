import { isUtf8 } from "node:buffer";
import { OversizedRequest } from "../protobuf/wire.ts";

/** The most bytes of the rows of one request: each row repeats the attributes of its resource and its scope. */
export const mostBytes = 64 << 20;

const [quote, backslash, letterU, zero, minus] = Buffer.from('"\\u0-');
const mostInt = 2 ** 31 - 1;
const hexDigits = Buffer.from("0123456789abcdef");
const beyondAscii = 255;
/**
 * How each ASCII byte is written in a JSON string: as it is (0), after a backslash as the given letter, or `u` for
 * \u00..
 */
const escapes = Uint8Array.from({ length: 256 }, (_, byte) => escapeOf(byte));

function escapeOf(byte: number): number {
  if (byte > 127) return beyondAscii;
  const spelled = JSON.stringify(String.fromCharCode(byte));
  return spelled.length === 3 ? 0 : spelled.charCodeAt(2);
}

/** Gives memory of so many bytes. Once it has given more, what it gave before is no longer used. */
export type Allocate = (bytes: number) => Buffer;

/** JSON in UTF-8 that grows while it is written, up to `most` bytes. */
export class JsonBytes {
  bytes: Buffer;
  length = 0;
  readonly #most: number;
  readonly #allocate: Allocate;
  #dropped = 0;

  constructor(capacity: number, most = mostBytes, allocate: Allocate = (bytes) => Buffer.allocUnsafeSlow(bytes)) {
    this.bytes = allocate(capacity);
    this.#most = most;
    this.#allocate = allocate;
  }

  /** Drops what was written after `length`. All that is dropped has the same bound: it was work too. */
  dropAfter(length: number): void {
    this.#dropped += this.length - length;
    this.length = length;
    this.checkFits(this.#dropped);
  }

  /** Throws OversizedRequest where that many bytes are more than it may grow to. */
  checkFits(count: number): void {
    if (count <= this.#most) return;
    throw new OversizedRequest(
      `the rows of this request take more than ${this.#most >> 20} MiB, because each repeats the attributes of its ` +
        `resource and its scope: send fewer records in a request, or fewer attributes on their resource`,
    );
  }

  /** Makes room for that many more bytes. */
  reserve(count: number): Buffer {
    if (this.length + count > this.bytes.length) this.#grow(this.length + count);
    return this.bytes;
  }

  /** Writes bytes that are JSON already. For many bytes `append` is faster. */
  put(json: Uint8Array): void {
    const bytes = this.reserve(json.length);
    const at = this.length;
    for (let index = 0; index < json.length; index += 1) bytes[at + index] = json[index]!;
    this.length = at + json.length;
  }

  append(json: Uint8Array): void {
    this.reserve(json.length).set(json, this.length);
    this.length += json.length;
  }

  byte(byte: number): void {
    this.reserve(1)[this.length] = byte;
    this.length += 1;
  }

  /** What has been written, as a view. */
  written(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /**
   * Writes UTF-8 as a JSON string; invalid bytes stay as they are, so that later validation finds them. False where it
   * is not all ASCII.
   */
  text(source: Uint8Array, start: number, end: number): boolean {
    const bytes = this.reserve(end - start + 2);
    let at = this.length;
    bytes[at] = quote!;
    at += 1;
    let from = start;
    for (; from < end; from += 1) {
      const byte = source[from]!;
      if (escapes[byte] !== 0) break;
      bytes[at] = byte;
      at += 1;
    }
    this.length = at;
    if (from < end) return this.#escaped(source, from, end);
    bytes[at] = quote!;
    this.length = at + 1;
    return true;
  }

  /** Writes bytes as a string of lower-case hexadecimal digits. */
  hex(source: Uint8Array, start: number, end: number): void {
    const bytes = this.reserve(2 * (end - start) + 2);
    let at = this.length;
    bytes[at] = quote!;
    at += 1;
    for (let from = start; from < end; from += 1) {
      const byte = source[from]!;
      bytes[at] = hexDigits[byte >> 4]!;
      bytes[at + 1] = hexDigits[byte & 15]!;
      at += 2;
    }
    bytes[at] = quote!;
    this.length = at + 1;
  }

  /** Writes a whole number from 0 to 2^53. */
  digits(value: number): void {
    let width = 1;
    for (let bound = 10; value >= bound; bound *= 10) width += 1;
    this.#digits(value, width);
  }

  /** Writes a whole number below 10^width with leading zeros. */
  padded(value: number, width: number): void {
    this.#digits(value, width);
  }

  /** Writes the digits of an unsigned number of 64 bits, given as its lower and upper 32 bits. */
  uint64(high: number, low: number): void {
    const upper = high >>> 0;
    const lower = low >>> 0;
    if (upper < 1 << 21) this.digits(upper * 2 ** 32 + lower);
    else this.ascii(((BigInt(upper) << 32n) | BigInt(lower)).toString());
  }

  /** Writes a signed number of 64 bits, given as its lower and upper 32 bits. */
  int64(high: number, low: number): void {
    if (high >= 0) {
      this.uint64(high, low);
      return;
    }
    this.byte(minus!);
    const lower = (~low + 1) | 0;
    this.uint64(lower === 0 ? ~high + 1 : ~high, lower);
  }

  /** Writes ASCII that needs no escapes as a string. */
  quoted(text: string): void {
    this.byte(quote!);
    this.ascii(text);
    this.byte(quote!);
  }

  /** Writes ASCII as it is. */
  ascii(text: string): void {
    const bytes = this.reserve(text.length);
    for (let index = 0; index < text.length; index += 1) bytes[this.length + index] = text.charCodeAt(index);
    this.length += text.length;
  }

  #digits(value: number, width: number): void {
    const bytes = this.reserve(width);
    let rest = value;
    let at = this.length + width - 1;
    for (; rest > mostInt; at -= 1) {
      const tens = Math.floor(rest / 10);
      bytes[at] = zero! + (rest - 10 * tens);
      rest = tens;
    }
    // Whole numbers of 32 bits are divided much faster.
    for (let small = rest | 0; at >= this.length; at -= 1) {
      const tens = (small / 10) | 0;
      bytes[at] = zero! + (small - 10 * tens);
      small = tens;
    }
    this.length += width;
  }

  /** Writes the rest of a string, from the first byte on that needs an escape. */
  #escaped(source: Uint8Array, start: number, end: number): boolean {
    for (let from = start; from < end; from += 1) {
      const byte = source[from]!;
      const escape = escapes[byte]!;
      if (escape === beyondAscii) {
        const rest = Buffer.from(source.buffer, source.byteOffset + from, end - from);
        // Latin-1 maps each byte to a character and back: only ASCII is escaped.
        const encoding = isUtf8(rest) ? "utf8" : "latin1";
        const json = JSON.stringify(rest.toString(encoding)).slice(1);
        this.length += this.reserve(Buffer.byteLength(json, encoding)).write(json, this.length, encoding);
        return false;
      }
      const bytes = this.reserve(8);
      if (escape === 0) {
        bytes[this.length] = byte;
        this.length += 1;
        continue;
      }
      bytes[this.length] = backslash!;
      bytes[this.length + 1] = escape;
      this.length += 2;
      if (escape === letterU) {
        this.padded(0, 2);
        this.bytes[this.length] = hexDigits[byte >> 4]!;
        this.bytes[this.length + 1] = hexDigits[byte & 15]!;
        this.length += 2;
      }
    }
    this.byte(quote!);
    return true;
  }

  #grow(needed: number): void {
    this.checkFits(needed);
    const bytes = this.#allocate(Math.min(this.#most, Math.max(needed, 2 * this.bytes.length)));
    bytes.set(this.written());
    this.bytes = bytes;
  }
}

/** Writes a number; NaN and infinities, which JSON does not have, as the texts that OTLP has for them in JSON. */
export function writeNumber(out: JsonBytes, value: number): void {
  if (!Number.isFinite(value)) out.quoted(String(value));
  else if (Number.isSafeInteger(value) && value > 0) out.digits(value);
  else out.ascii(Object.is(value, -0) ? "-0" : String(value));
}
