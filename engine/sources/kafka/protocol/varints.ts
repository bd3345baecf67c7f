import { Unreadable } from "./unreadable.ts";

/**
 * Reads the zigzag varints of records. It does not check bounds, and reads zeros after the end of the bytes: callers
 * compare `at` with the end before they use a value.
 */
export class Varints {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  /** A number of 32 bits. */
  next(): number {
    const { bytes } = this;
    const first = bytes[this.at]!;
    if (first < 0x80) {
      this.at += 1;
      return (first >>> 1) ^ -(first & 1);
    }
    const second = bytes[this.at + 1]!;
    if (second >= 0x80) return this.#long();
    this.at += 2;
    const raw = (first & 0x7f) | (second << 7);
    return (raw >>> 1) ^ -(raw & 1);
  }

  /** Skips a number of 64 bits. */
  skip(): void {
    const { bytes } = this;
    let { at } = this;
    const last = at + 10;
    while (bytes[at++]! >= 0x80) {
      if (at === last) throw new Unreadable("expected a varint of at most 10 bytes, found a longer one");
    }
    this.at = at;
  }

  #long(): number {
    let raw = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.bytes[this.at++]!;
      raw |= (byte & 0x7f) << shift;
      if (!(byte >= 0x80)) return (raw >>> 1) ^ -(raw & 1);
    }
    throw new Unreadable("expected a varint of at most 5 bytes, found a longer one");
  }
}
