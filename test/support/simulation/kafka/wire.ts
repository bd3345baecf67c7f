// Kafka's requests as they are read, and answers as they are written, from the protocol and not from kafkajs or the
// engine, so that these are compared with something else than themselves.

/** Reads the fields of a request one after the other. Throws a RangeError where the bytes end before a field does. */
export class RequestReader {
  readonly #bytes: Buffer;
  #at = 0;
  /** Whether lengths are varints and structures end with tagged fields, as in the newest versions of a request. */
  isFlexible = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  int8(): number {
    return this.#bytes.readInt8(this.#take(1));
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#take(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#take(4));
  }

  int64(): number {
    return Number(this.#bytes.readBigInt64BE(this.#take(8)));
  }

  text(): string {
    return this.nullableText() ?? "";
  }

  nullableText(): string | null {
    const length = this.isFlexible ? this.#varint() - 1 : this.int16();
    if (length < 0) return null;
    const start = this.#take(length);
    return this.#bytes.toString("utf8", start, start + length);
  }

  bytes(): Buffer {
    const length = Math.max(0, this.isFlexible ? this.#varint() - 1 : this.int32());
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** The id of a topic, as Kafka's tools print it. */
  uuid(): string {
    const start = this.#take(16);
    return this.#bytes.toString("base64url", start, start + 16);
  }

  /** Null is read as undefined: in a request it often means all there are. */
  list<Item>(read: () => Item): Item[] | undefined {
    const length = this.isFlexible ? this.#varint() - 1 : this.int32();
    if (length < 0) return undefined;
    const items: Item[] = [];
    for (let count = 0; count < length; count += 1) items.push(read());
    return items;
  }

  /** Tagged fields, which say nothing that is used here. */
  tags(): void {
    if (!this.isFlexible) return;
    for (let left = this.#varint(); left > 0; left -= 1) {
      this.#varint();
      this.#take(this.#varint());
    }
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#take(1));
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  #take(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new RangeError(`${length} bytes at ${start}: beyond the request`);
    this.#at = start + length;
    return start;
  }
}

/** Writes the fields of an answer one after the other. */
export class AnswerWriter {
  #bytes = Buffer.allocUnsafe(256);
  #at = 0;
  readonly #isFlexible: boolean;
  /** Error codes that were written, without 0. */
  readonly codes = new Set<number>();

  constructor(isFlexible = false) {
    this.#isFlexible = isFlexible;
  }

  int8(value: number): this {
    const at = this.#room(1);
    this.#bytes.writeInt8(value, at);
    return this;
  }

  int16(value: number): this {
    const at = this.#room(2);
    this.#bytes.writeInt16BE(value, at);
    return this;
  }

  /** An error code; 0 if there is none. */
  code(value: number): this {
    if (value !== 0) this.codes.add(value);
    return this.int16(value);
  }

  int32(value: number): this {
    const at = this.#room(4);
    this.#bytes.writeInt32BE(value, at);
    return this;
  }

  int64(value: number): this {
    const at = this.#room(8);
    this.#bytes.writeBigInt64BE(BigInt(value), at);
    return this;
  }

  text(value: string | null): this {
    const length = value === null ? -1 : Buffer.byteLength(value);
    if (this.#isFlexible) this.#varint(length + 1);
    else this.int16(length);
    if (value === null) return this;
    const at = this.#room(length);
    this.#bytes.write(value, at, "utf8");
    return this;
  }

  bytes(value: Buffer): this {
    if (this.#isFlexible) this.#varint(value.length + 1);
    else this.int32(value.length);
    return this.#raw(value);
  }

  /** The id of a topic. */
  uuid(value: string): this {
    return this.#raw(Buffer.from(value, "base64url"));
  }

  #raw(value: Buffer): this {
    const at = this.#room(value.length);
    value.copy(this.#bytes, at);
    return this;
  }

  list<Item>(items: readonly Item[], write: (item: Item) => void): this {
    if (this.#isFlexible) this.#varint(items.length + 1);
    else this.int32(items.length);
    for (const item of items) write(item);
    return this;
  }

  /** No tagged fields. */
  tags(): this {
    return this.#isFlexible ? this.int8(0) : this;
  }

  end(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #varint(value: number): void {
    let left = value;
    for (; left >= 0x80; left >>>= 7) this.int8(((left & 0x7f) | 0x80) - 0x100);
    this.int8(left);
  }

  #room(length: number): number {
    const at = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#at, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }
}
