/**
 * Writes a request, field after field. In a flexible version lengths are unsigned varints plus one, so that 0 is null, and
 * each structure ends with its tagged fields, none of which are written here. In an earlier one lengths have two or four
 * bytes, and -1 is null.
 */
export class RequestWriter {
  readonly #parts: Buffer[] = [];
  readonly #isFlexible: boolean;

  constructor({ isFlexible = true } = {}) {
    this.#isFlexible = isFlexible;
  }

  /** The bytes so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  int8(value: number): this {
    return this.#add(1, (bytes) => bytes.writeInt8(value));
  }

  int16(value: number): this {
    return this.#add(2, (bytes) => bytes.writeInt16BE(value));
  }

  int32(value: number): this {
    return this.#add(4, (bytes) => bytes.writeInt32BE(value));
  }

  int64(value: number): this {
    return this.#add(8, (bytes) => bytes.writeBigInt64BE(BigInt(value)));
  }

  text(value: string | null): this {
    const length = value === null ? -1 : Buffer.byteLength(value);
    if (this.#isFlexible) this.#varint(length + 1);
    else this.int16(length);
    if (value !== null) this.#parts.push(Buffer.from(value));
    return this;
  }

  binary(value: Buffer): this {
    this.#length(value.length);
    this.#parts.push(value);
    return this;
  }

  /** A topic id, as `FieldReader.uuid` reads it; without one, the id of all zeros. */
  uuid(id?: string): this {
    this.#parts.push(id === undefined ? Buffer.alloc(16) : Buffer.from(id, "base64url"));
    return this;
  }

  list<Item>(items: readonly Item[], write: (item: Item) => void): this {
    this.#length(items.length);
    for (const item of items) write(item);
    return this;
  }

  /** No tagged fields. */
  noTags(): this {
    return this.int8(0);
  }

  #length(value: number): void {
    if (this.#isFlexible) this.#varint(value + 1);
    else this.int32(value);
  }

  #varint(value: number): void {
    let left = value;
    for (; left >= 0x80; left >>>= 7) this.int8((((left & 0x7f) | 0x80) << 24) >> 24);
    this.int8(left);
  }

  #add(size: number, write: (bytes: Buffer) => void): this {
    const bytes = Buffer.alloc(size);
    write(bytes);
    this.#parts.push(bytes);
    return this;
  }
}
