import { fixed32, fixed64, lengthGiven, varint } from "./wire.ts";

/** The longest length of a message's content, in bytes. */
const longestLength = 5;

/** A lone surrogate, which is not a character. */
const halfCharacter = /\p{Surrogate}/u;

/** Writes lone surrogates as three bytes each, which are not valid UTF-8, so that later validation finds them. */
function wideBytes(text: string): Buffer {
  // A lone surrogate becomes U+FFFD, which has three bytes too.
  const bytes = Buffer.from(text);
  for (let index = 0, at = 0; index < text.length;) {
    const code = text.codePointAt(index)!;
    if (code >= 0xd800 && code <= 0xdfff) {
      bytes[at] = 0xe0 | (code >> 12);
      bytes[at + 1] = 0x80 | ((code >> 6) & 0x3f);
      bytes[at + 2] = 0x80 | (code & 0x3f);
    }
    at += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    index += code < 0x10000 ? 1 : 2;
  }
  return bytes;
}

/** Writes protobuf's encoding; its buffer grows as needed. */
export class WireWriter {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** What has been written, as a view. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  tag(id: number, kind: number): void {
    this.uint32((id << 3) | kind);
  }

  /** A whole number of 64 bits, given as its lower and upper 32 bits. */
  varint(high: number, low: number): void {
    let upper = high >>> 0;
    let lower = low >>> 0;
    while (upper > 0 || lower > 127) {
      this.#byte((lower & 127) | 128);
      lower = ((lower >>> 7) | (upper << 25)) >>> 0;
      upper >>>= 7;
    }
    this.#byte(lower);
  }

  uint32(value: number): void {
    this.varint(0, value);
  }

  fixed32(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32LE(value >>> 0, this.#length);
  }

  /** 64 bits, given as their lower and upper 32 bits. */
  fixed64(high: number, low: number): void {
    this.fixed32(low);
    this.fixed32(high);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  /** A string or bytes, with their length. */
  content(given: string | Uint8Array): void {
    const value = typeof given === "string" && halfCharacter.test(given) ? wideBytes(given) : given;
    const size = typeof value === "string" ? Buffer.byteLength(value) : value.length;
    this.uint32(size);
    this.#reserve(size);
    if (typeof value === "string") this.#bytes.write(value, this.#length);
    else this.#bytes.set(value, this.#length);
    this.#length += size;
  }

  /** Begins the content of a message, or of a list of numbers; pass the result to `close`. */
  open(): number {
    this.#byte(0);
    return this.#length;
  }

  /** Ends the content that `open` began, and writes its length before it, for which `open` left one byte. */
  close(start: number): void {
    const size = this.#length - start;
    if (size < 128) {
      this.#bytes[start - 1] = size;
      return;
    }
    this.#reserve(longestLength);
    const end = this.#length;
    this.#length = start - 1;
    let width = 1;
    for (let rest = size; rest > 127; rest >>>= 7) width += 1;
    this.#bytes.copyWithin(start - 1 + width, start, end);
    this.uint32(size);
    this.#length = end + width - 1;
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = byte;
    this.#length += 1;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const bytes = Buffer.allocUnsafeSlow(2 * (this.#length + count));
    bytes.set(this.written());
    this.#bytes = bytes;
  }
}

/** The kind of encoding of each scalar type. */
export const kindOfScalar: Readonly<Record<string, number>> = {
  bool: varint,
  int32: varint,
  int64: varint,
  uint32: varint,
  uint64: varint,
  sint32: varint,
  fixed32,
  fixed64,
  sfixed64: fixed64,
  double: fixed64,
  string: lengthGiven,
  bytes: lengthGiven,
};
