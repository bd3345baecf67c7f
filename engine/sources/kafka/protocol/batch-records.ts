import type { BatchHead } from "./batch-head.ts";
import type { RecordRun, RunSource } from "./record-run.ts";
import { Unreadable } from "./unreadable.ts";
import { Varints } from "./varints.ts";

/** Attributes, time, offset, length of the key, length of the value and number of headers, a byte each. */
const leastRecord = 6;

/**
 * Reads the records of batches of format 2. One object serves all batches: an object per batch would cost as much as
 * reading its records.
 */
export class BatchRecords implements RunSource {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #left = 0;
  #baseOffset = 0;
  #lastDelta = 0;
  /** Offset of the record read last, counted from the base. */
  #delta = -1;

  /** Opens the decompressed records of a batch, which are `start` to `end` of some bytes. */
  open(batch: BatchHead, bytes: Buffer, start: number, end: number): this {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#left = batch.count;
    this.#baseOffset = batch.baseOffset;
    this.#lastDelta = batch.lastOffset - batch.baseOffset;
    this.#delta = -1;
    if (batch.count === 0) this.#checkEnd();
    return this;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  get nextOffset(): number {
    return this.#baseOffset + this.#lastDelta + 1;
  }

  get isRead(): boolean {
    return this.#left === 0;
  }

  // Every event of every pipeline passes here: locals and plain arrays, no call that is not inlined, no object.
  fill(run: RecordRun, from: number): void {
    const bytes = this.#bytes;
    const { offsets, starts, ends, capacity } = run;
    const base = this.#baseOffset;
    const reader = new Varints(bytes, this.#at);
    let { count, valueBytes } = run;
    try {
      while (this.#left > 0 && count < capacity) {
        const length = reader.next();
        const end = reader.at + length;
        if (length < leastRecord || end > this.#end) throw this.#unfit(length, reader.at);
        reader.at += 1;
        reader.skip();
        const delta = reader.next();
        if (delta <= this.#delta || delta > this.#lastDelta) throw this.#outOfOrder(delta);
        const key = reader.next();
        if (key > 0) reader.at += key;
        const value = reader.next();
        const start = reader.at;
        if (key < -1 || value < -1 || start >= end || start + value >= end) throw misfit(key, value, length);
        if (base + delta >= from) {
          offsets[count] = base + delta;
          starts[count] = start;
          ends[count] = value < 0 ? -1 : start + value;
          valueBytes += value < 0 ? 0 : value;
          count += 1;
        }
        reader.at = end;
        this.#delta = delta;
        this.#left -= 1;
      }
    } finally {
      run.count = count;
      run.valueBytes = valueBytes;
      this.#at = reader.at;
    }
    if (this.#left === 0) this.#checkEnd();
  }

  #checkEnd(): void {
    if (this.#at === this.#end) return;
    throw new Unreadable(`expected the batch to end after its last record, found ${this.#end - this.#at} more bytes`);
  }

  #unfit(length: number, at: number): Unreadable {
    const left = Math.max(0, this.#end - at);
    return new Unreadable(`expected a record of at least ${leastRecord} bytes in ${left}, found a length of ${length}`);
  }

  #outOfOrder(delta: number): Unreadable {
    const span = `${this.#delta + 1} to ${this.#lastDelta}`;
    return new Unreadable(`expected a record ${span} offsets after the first of its batch, found ${delta}`);
  }
}

function misfit(key: number, value: number, length: number): Unreadable {
  return new Unreadable(
    `expected a key and a value within the ${length} bytes of their record, found lengths of ${key} and ${value}`,
  );
}
