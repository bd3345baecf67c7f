import { Unreadable } from "./unreadable.ts";

/** Reads the fields of a response in order, never beyond its bytes. Each read has the name of the field, for errors. */
export class FieldReader {
  readonly #subject: string;
  readonly #bytes: Buffer;
  #at = 0;

  /** `subject`: what the bytes are, such as "fetch response". */
  constructor(subject: string, bytes: Buffer) {
    this.#subject = subject;
    this.#bytes = bytes;
  }

  int8(field: string): number {
    return this.#bytes.readInt8(this.#take(1, field));
  }

  int16(field: string): number {
    return this.#bytes.readInt16BE(this.#take(2, field));
  }

  int32(field: string): number {
    return this.#bytes.readInt32BE(this.#take(4, field));
  }

  /** A number of 64 bits that a number holds exactly. */
  int64(field: string): number {
    const value = this.bigint(field);
    if (BigInt.asIntN(54, value) === value) return Number(value);
    throw this.#error(field, "a number of at most 53 bits", String(value));
  }

  bigint(field: string): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8, field));
  }

  text(field: string): string {
    const found = this.nullableText(field);
    if (found === undefined) throw this.#error(field, "a text", "null");
    return found;
  }

  /** Undefined for null. */
  nullableText(field: string): string | undefined {
    const length = this.int16(field);
    if (length === -1) return undefined;
    if (length < 0) throw this.#error(field, "a text", `a length of ${length}`);
    const start = this.#take(length, field);
    return this.#bytes.toString("utf8", start, start + length);
  }

  /** A part of the response, not a copy; null is read as no bytes. */
  bytes(field: string): Buffer {
    const length = this.int32(field);
    if (length < -1) throw this.#error(field, "bytes", `a length of ${length}`);
    const start = this.#take(Math.max(0, length), field);
    return this.#bytes.subarray(start, this.#at);
  }

  /** Null is read as no items. */
  list<Item>(field: string, read: () => Item): Item[] {
    const length = this.int32(field);
    const left = this.#bytes.length - this.#at;
    if (length < -1 || length > left) throw this.#error(field, `a list within ${left} bytes`, `a length of ${length}`);
    const items: Item[] = [];
    for (let count = 0; count < length; count += 1) items.push(read());
    return items;
  }

  /** As Kafka's tools print it; undefined for the id of all zeros, which means none. */
  uuid(field: string): string | undefined {
    const start = this.#take(16, field);
    const id = this.#bytes.subarray(start, start + 16);
    return id.every((byte) => byte === 0) ? undefined : id.toString("base64url");
  }

  // Of flexible versions: lengths are unsigned varints that are one too large, so that 0 is null.

  compactText(field: string): string | undefined {
    const length = this.#length(field);
    if (length < 0) return undefined;
    const start = this.#take(length, field);
    return this.#bytes.toString("utf8", start, start + length);
  }

  /** A part of the response, not a copy; null is read as no bytes. */
  compactBytes(field: string): Buffer {
    const start = this.#take(Math.max(0, this.#length(field)), field);
    return this.#bytes.subarray(start, this.#at);
  }

  /** Null is read as no items. `most`: the most items that are read. */
  compactList<Item>(field: string, read: () => Item, most = Infinity): Item[] {
    const length = this.#length(field);
    const left = this.#bytes.length - this.#at;
    if (length > left) throw this.#error(field, `a list within ${left} bytes`, `a length of ${length}`);
    if (length > most) throw this.#error(field, `at most ${most}`, String(length));
    const items: Item[] = [];
    for (let count = 0; count < length; count += 1) items.push(read());
    return items;
  }

  /** Skips tagged fields, none of which is needed here. */
  tags(field: string): void {
    for (let left = this.#uvarint(field); left > 0; left -= 1) {
      this.#uvarint(field);
      this.#take(this.#uvarint(field), field);
    }
  }

  end(): void {
    const left = this.#bytes.length - this.#at;
    if (left > 0) throw this.#error("end", "no more bytes", String(left));
  }

  /** -1 for null. */
  #length(field: string): number {
    return this.#uvarint(field) - 1;
  }

  #uvarint(field: string): number {
    let value = 0;
    for (let shift = 0; shift < 32; shift += 7) {
      const byte = this.#bytes[this.#take(1, field)]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw this.#error(field, "a varint of at most 5 bytes", "more");
  }

  #take(length: number, field: string): number {
    const start = this.#at;
    const left = this.#bytes.length - start;
    if (length > left) throw this.#error(field, `${length} bytes`, String(left));
    this.#at = start + length;
    return start;
  }

  #error(field: string, expected: string, found: string): Unreadable {
    return new Unreadable(`${this.#subject}, byte ${this.#at}, ${field}: expected ${expected}, found ${found}`);
  }
}
