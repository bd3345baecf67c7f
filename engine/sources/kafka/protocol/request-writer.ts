/**
 * Writes a request of a flexible version, field after field. Lengths are unsigned varints plus one, so that 0 is null;
 * each structure ends with its tagged fields, none of which are written here.
 */
export class RequestWriter {
  readonly #parts: Buffer[] = [];

  /** The bytes so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  int8(value: number): this {
    return this.#add(1, (bytes) => bytes.writeInt8(value));
  }

  int32(value: number): this {
    return this.#add(4, (bytes) => bytes.writeInt32BE(value));
  }

  int64(value: number): this {
    return this.#add(8, (bytes) => bytes.writeBigInt64BE(BigInt(value)));
  }

  text(value: string): this {
    this.#length(Buffer.byteLength(value) + 1);
    this.#parts.push(Buffer.from(value));
    return this;
  }

  /** A topic id, as `FieldReader.uuid` reads it; without one, the id of all zeros. */
  uuid(id?: string): this {
    this.#parts.push(id === undefined ? Buffer.alloc(16) : Buffer.from(id, "base64url"));
    return this;
  }

  list<Item>(items: readonly Item[], write: (item: Item) => void): this {
    this.#length(items.length + 1);
    for (const item of items) write(item);
    return this;
  }

  /** No tagged fields. */
  noTags(): this {
    return this.int8(0);
  }

  #length(value: number): void {
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
