import { padding } from "./raw-json.ts";
import type { RawRows } from "./raw-rows.ts";

const lineBreak = 0x0a;

/** Bytes above the guess: rows that are made may be longer than their events. */
const slack = 4096;

/** Characters that are gathered before they become bytes, which costs less than one line at a time. */
const piece = 1 << 20;

/** The body of an insert while it grows: lines that are made, and bytes of events that are rows as they are. */
export class RowBody {
  #bytes: Buffer;
  #view: DataView;
  #end = 0;
  #text = "";

  /** `size` is a guess at its bytes. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size + slack);
    this.#view = viewOf(this.#bytes);
  }

  /** A row with its line break. */
  add(line: string): void {
    this.#text += line;
    if (this.#text.length >= piece) this.#writeText();
  }

  /** The bytes of an event, if they are a row as they are. */
  addIfRow(event: Buffer, rows: RawRows): boolean {
    if (this.#text !== "") this.#writeText();
    this.#reserve(event.length + 1 + padding);
    const end = this.#end + event.length;
    this.#bytes.set(event, this.#end);
    this.#bytes[end] = lineBreak;
    if (!rows.isRow(this.#view, this.#end, end)) return false;
    this.#end = end + 1;
    return true;
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
    this.#view = viewOf(grown);
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
