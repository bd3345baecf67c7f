import { offsetAt, prefixBytes } from "./batch-head.ts";
import type { RecordRun, RunSource } from "./record-run.ts";
import { Unreadable } from "./unreadable.ts";

/** A message of format 0 or 1, from brokers or topics of the time before Kafka 0.11. */
export interface Message {
  offset: number;
  format: number;
  /** A number of `codecNames`: not 0 if the value holds several messages, compressed together. */
  codec: number;
  start: number;
  /** -1 if the value is null. */
  valueEnd: number;
  end: number;
}

/** The message at a place, which must be whole. Its checksum is not checked, for the same reasons as that of a batch. */
export function messageAt(bytes: Buffer, at: number, limit: number): Message {
  const size = at + prefixBytes <= limit ? bytes.readInt32BE(at + 8) : 0;
  const end = at + prefixBytes + size;
  if (size < 14 || end > limit) {
    throw new Unreadable(`expected a message of at least 14 bytes within ${limit - at}, found a size of ${size}`);
  }
  const format = bytes.readInt8(at + 16);
  if (format !== 0 && format !== 1) throw new Unreadable(`expected a message of format 0 or 1, found ${format}`);
  const keyAt = at + 18 + (format === 1 ? 8 : 0);
  const valueAt = pastBytes(bytes, keyAt, end);
  const valueEnd = pastBytes(bytes, valueAt, end);
  if (valueEnd !== end)
    throw new Unreadable(`expected a message to end after its value, found ${end - valueEnd} more bytes`);
  return {
    offset: offsetAt(bytes, at),
    format,
    codec: bytes.readInt8(at + 17) & 0x07,
    start: valueAt + 4,
    valueEnd: bytes.readInt32BE(valueAt) === -1 ? -1 : valueEnd,
    end,
  };
}

/** Where bytes that begin with their length end. */
function pastBytes(bytes: Buffer, at: number, end: number): number {
  const length = at + 4 <= end ? bytes.readInt32BE(at) : -2;
  const past = at + 4 + Math.max(0, length);
  if (length >= -1 && past <= end) return past;
  throw new Unreadable(`expected a key and a value within their message, found a length of ${length}`);
}

/** Messages of format 0 or 1: one alone, or those that were compressed together. */
export class Messages implements RunSource {
  readonly bytes: Buffer;
  readonly nextOffset: number;
  readonly #end: number;
  /** Added to the written offsets: format 1 counts compressed messages from 0. */
  readonly #shift: number;
  readonly #format: number;
  #at: number;
  /** Offset of the message read last. */
  #before: number;

  /** `start` to `end` holds whole messages; the first one comes after the offset `before`. */
  constructor(span: { bytes: Buffer; start: number; end: number; lastOffset: number; format: number; before: number }) {
    this.bytes = span.bytes;
    this.nextOffset = span.lastOffset + 1;
    this.#at = span.start;
    this.#end = span.end;
    this.#format = span.format;
    this.#before = span.before;
    this.#shift = span.format === 0 ? 0 : span.lastOffset - lastOf(span.bytes, span.start, span.end);
  }

  get isRead(): boolean {
    return this.#at === this.#end;
  }

  fill(run: RecordRun, from: number): void {
    while (!this.isRead && run.count < run.capacity) {
      const message = messageAt(this.bytes, this.#at, this.#end);
      const offset = message.offset + this.#shift;
      this.#check(message, offset);
      if (offset >= from) {
        run.offsets[run.count] = offset;
        run.starts[run.count] = message.start;
        run.ends[run.count] = message.valueEnd;
        run.valueBytes += Math.max(0, message.valueEnd - message.start);
        run.count += 1;
      }
      this.#at = message.end;
      this.#before = offset;
    }
  }

  #check({ format, codec }: Message, offset: number): void {
    if (codec !== 0) throw new Unreadable("expected messages to be compressed once, found them compressed twice");
    if (format !== this.#format) {
      throw new Unreadable(`expected messages of format ${this.#format} together, found one of format ${format}`);
    }
    if (offset > this.#before && offset < this.nextOffset) return;
    const span = `${this.#before + 1} to ${this.nextOffset - 1}`;
    throw new Unreadable(`expected a message with an offset of ${span}, found ${offset}`);
  }
}

/** The offset of the last of some messages, as it is written. */
function lastOf(bytes: Buffer, start: number, end: number): number {
  let last = 0;
  for (let at = start; at < end;) {
    const message = messageAt(bytes, at, end);
    last = message.offset;
    at = message.end;
  }
  return last;
}
