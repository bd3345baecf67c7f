const lineBreak = 0x0a;

/** Bytes above the guess: rows that are made may be longer than their events. */
const slack = 4096;

/** Characters that are gathered before they become bytes, which costs less than one line at a time. */
const piece = 1 << 20;

/** The body of an insert while it grows: lines that are made, and bytes of events that are rows as they are. */
export class RowBody {
  #bytes: Buffer;
  #end = 0;
  #text = "";

  /** `size` is a guess at its bytes. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size + slack);
  }

  /** A row with its line break. */
  add(line: string): void {
    this.#text += line;
    if (this.#text.length >= piece) this.#writeText();
  }

  /** A row that lies in `bytes`, without a line break. */
  addBytes(bytes: Buffer, start: number, end: number): void {
    if (this.#text !== "") this.#writeText();
    this.#reserve(end - start + 1);
    bytes.copy(this.#bytes, this.#end, start, end);
    this.#end += end - start;
    this.#bytes[this.#end] = lineBreak;
    this.#end += 1;
  }

  toBytes(): Buffer {
    this.#writeText();
    return this.#bytes.subarray(0, this.#end);
  }

  #writeText(): void {
    this.#reserve(Buffer.byteLength(this.#text));
    this.#end += this.#bytes.write(this.#text, this.#end);
    this.#text = "";
  }

  #reserve(size: number): void {
    const needed = this.#end + size;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }
}
