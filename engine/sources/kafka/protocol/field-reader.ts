import { Unreadable } from "./unreadable.ts";

/** Reads the fields of a response one after the other, never beyond its bytes. Each names itself for the error. */
export class FieldReader {
  readonly #subject: string;
  readonly #bytes: Buffer;
  #at = 0;

  /** `subject`: what the bytes are, such as "fetch response". */
  constructor(subject: string, bytes: Buffer) {
    this.#subject = subject;
    this.#bytes = bytes;
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
    const length = this.int16(field);
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

  end(): void {
    const left = this.#bytes.length - this.#at;
    if (left > 0) throw this.#error("end", "no more bytes", String(left));
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
