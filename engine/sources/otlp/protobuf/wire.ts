/** The deepest nesting of messages and groups, as in protobuf libraries. */
export const deepest = 100;

/** The wire types of protobuf, by the number in a tag. */
export const [varint, fixed64, lengthGiven, group, groupEnd, fixed32] = [0, 1, 2, 3, 4, 5];

/**
 * Reads protobuf's encoding. Every read takes the offset at which the enclosing message ends, and throws
 * MalformedRequest instead of reading beyond it.
 */
export class Wire {
  readonly bytes: Buffer;
  readonly #view: DataView;
  /** Where the next read begins. */
  at = 0;
  /** The two halves of the last varint, each a signed 32-bit integer. */
  low = 0;
  high = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The next field's number and kind: `number << 3 | kind`, unsigned. */
  tag(end: number): number {
    const first = this.at < end ? this.bytes[this.at]! : 128;
    const tag = first < 128 ? first : this.#long(end, 15, "a field's tag");
    if (first < 128) this.at += 1;
    if (tag < 8) throw this.refusal("a field number from 1", "0");
    return tag;
  }

  /** Reads the length of a content, and returns where the content ends; `at` is then where it begins. */
  content(end: number): number {
    const first = this.at < end ? this.bytes[this.at]! : 128;
    const size = first < 128 ? first : this.#long(end, 7, "a length");
    if (first < 128) this.at += 1;
    if (size > end - this.at) throw this.refusal(`content of at most the ${end - this.at} bytes left`, `${size} bytes`);
    return this.at + size;
  }

  /** Reads a whole number of up to 64 bits into `low` and `high`. */
  varint(end: number): void {
    let low = 0;
    let high = 0;
    for (let index = 0; index < 10; index += 1) {
      if (this.at >= end) throw this.refusal("a whole number", "the end of its message");
      const byte = this.bytes[this.at]!;
      this.at += 1;
      const bits = byte & 127;
      if (index < 5) low |= bits << (7 * index);
      if (index === 4) high = bits >>> 4;
      if (index > 4) high |= bits << (7 * index - 32);
      if (byte < 128) {
        this.low = low;
        this.high = high;
        return;
      }
    }
    throw this.refusal("a whole number of at most 10 bytes", "more");
  }

  /** Skips `count` bytes, and returns where they begin. */
  take(count: number, end: number): number {
    const start = this.at;
    if (count > end - start) throw this.refusal(`a value of ${count} bytes`, `${end - start} bytes`);
    this.at = start + count;
    return start;
  }

  /** The 32 bits at a place, unsigned. */
  uint32(place: number): number {
    return this.#view.getUint32(place, true);
  }

  double(place: number): number {
    return this.#view.getFloat64(place, true);
  }

  /** Skips the content of an unknown field. */
  skip(tag: number, end: number, depth: number): void {
    if (depth > deepest) throw this.tooDeep();
    switch (tag & 7) {
      case varint:
        while (this.bytes[this.take(1, end)]! > 127);
        return;
      case fixed64:
        this.take(8, end);
        return;
      case lengthGiven:
        this.at = this.content(end);
        return;
      case group:
        this.#skipGroup(tag >>> 3, end, depth);
        return;
      case fixed32:
        this.take(4, end);
        return;
      default:
        throw this.refusal("a kind of field that protobuf has", `kind ${tag & 7}`);
    }
  }

  tooDeep(): MalformedRequest {
    return this.refusal(`at most ${deepest} messages inside one another`, "more");
  }

  refusal(expected: string, found: string): MalformedRequest {
    return new MalformedRequest(`protobuf, byte ${this.at}: expected ${expected}, found ${found}`);
  }

  #skipGroup(number: number, end: number, depth: number): void {
    for (;;) {
      const tag = this.tag(end);
      if ((tag & 7) !== groupEnd) this.skip(tag, end, depth + 1);
      else if (tag >>> 3 === number) return;
      else throw this.refusal(`the end of group ${number}`, `that of group ${tag >>> 3}`);
    }
  }

  /** Up to 32 bits in at most 5 bytes, the last of which is at most `last`. */
  #long(end: number, last: number, what: string): number {
    let value = 0;
    for (let index = 0; index < 5; index += 1) {
      if (this.at >= end) throw this.refusal(what, "the end of its message");
      const byte = this.bytes[this.at]!;
      this.at += 1;
      if (index === 4 && byte > last) break;
      value |= (byte & 127) << (7 * index);
      if (byte < 128) return value >>> 0;
    }
    throw this.refusal(`${what} of at most 5 bytes`, "a longer one");
  }
}

/**
 * Thrown for bytes that are not a request of their signal. The message has the place, what was expected and what was
 * found.
 */
export class MalformedRequest extends Error {}

/** Thrown for a request whose rows would take more memory than one request may: the sender must split it. */
export class OversizedRequest extends MalformedRequest {}
