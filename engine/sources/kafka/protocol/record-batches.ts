import { AbortedTransactions } from "./aborted-transactions.ts";
import { type BatchHead, batchHead, type Entry, entryAt } from "./batch-head.ts";
import { BatchRecords } from "./batch-records.ts";
import type { Codecs } from "./codecs.ts";
import type { FetchedPartition } from "./fetch.ts";
import { withHeadChecksum } from "./lz4.ts";
import { messageAt, Messages } from "./messages.ts";
import type { RecordRun, RunSource } from "./record-run.ts";
import { Unreadable, UnreadableRecords } from "./unreadable.ts";

const lz4 = 3;

/**
 * The events of a fetch for one partition, run by run: in the order of the topic, from the requested offset on,
 * decompressed, of committed transactions only. A batch is decompressed when its turn comes.
 *
 *     const batches = new RecordBatches(fetched, position, codecs, run);
 *     while (batches.next()) take(run);
 *     position = batches.nextOffset;
 */
export class RecordBatches {
  readonly #fetched: FetchedPartition;
  readonly #from: number;
  readonly #codecs: Codecs;
  readonly #run: RecordRun;
  readonly #aborted: AbortedTransactions;
  readonly #batchRecords = new BatchRecords();
  #at = 0;
  /** The offset after the last entry that was opened: no later entry begins before it. */
  #floor = 0;
  #source: RunSource | undefined;
  /** The leadership in which the records of the source were written, and the one of the record before `nextOffset`. */
  #sourceEpoch: number | undefined;
  #epoch: number | undefined;
  #failure: UnreadableRecords | undefined;
  #nextOffset: number;

  /** `from`: the requested offset. Batches may begin before it. */
  constructor(fetched: FetchedPartition, from: number, codecs: Codecs, run: RecordRun) {
    this.#fetched = fetched;
    this.#from = from;
    this.#codecs = codecs;
    this.#run = run;
    this.#aborted = new AbortedTransactions(fetched.abortedTransactions);
    this.#nextOffset = from;
  }

  /**
   * The next offset to read. After the last run it is the offset after the last whole batch: transaction marks, and
   * aborted or compacted events, count too.
   */
  get nextOffset(): number {
    return this.#nextOffset;
  }

  /** The leadership in which the record before `nextOffset` was written; undefined where it is not known. */
  get epoch(): number | undefined {
    return this.#epoch;
  }

  /**
   * Fills the run with the next records; false if there are no more. Throws `UnreadableRecords` once all records before
   * the broken place were handed out.
   */
  next(): boolean {
    this.#run.clear();
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#fill();
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.#pass(this.#afterRun(), this.#run.epoch);
      this.#failure = new UnreadableRecords(this.#fetched.topic, this.#fetched.partition, this.#nextOffset, error);
      if (this.#run.count === 0) throw this.#failure;
    }
    return this.#run.count > 0;
  }

  #fill(): void {
    const run = this.#run;
    while (run.count < run.capacity) {
      this.#source ??= this.#open();
      if (this.#source === undefined) return;
      if (run.count === 0) {
        run.bytes = this.#source.bytes;
        run.epoch = this.#sourceEpoch;
      } else if (run.bytes !== this.#source.bytes || run.epoch !== this.#sourceEpoch) return;
      this.#source.fill(run, this.#from);
      this.#pass(this.#source.isRead ? this.#source.nextOffset : this.#afterRun(), this.#sourceEpoch);
      if (this.#source.isRead) this.#source = undefined;
    }
  }

  #afterRun(): number {
    return this.#run.count === 0 ? 0 : this.#run.offsets[this.#run.count - 1]! + 1;
  }

  #pass(offset: number, epoch: number | undefined): void {
    if (offset <= this.#nextOffset) return;
    this.#nextOffset = offset;
    this.#epoch = epoch;
  }

  /** The next entry with events to hand out; undefined at the end, where an entry that the broker cut is ignored. */
  #open(): RunSource | undefined {
    const { records } = this.#fetched;
    while (this.#at < records.length) {
      const entry = entryAt(records, this.#at);
      if (entry === undefined) return this.#refuseOnlyCut();
      const source = entry.format === 2 ? this.#openBatch(entry) : this.#openMessage(entry);
      this.#at = entry.end;
      if (source !== undefined) return source;
    }
    return undefined;
  }

  /**
   * Brokers send the first batch whole, however large. A first batch that is cut would be fetched again for ever, so it
   * is an error.
   */
  #refuseOnlyCut(): undefined {
    if (this.#at > 0) return undefined;
    throw new Unreadable(`expected at least one whole batch, found ${this.#fetched.records.length} bytes of one`);
  }

  #openBatch(entry: Entry): RunSource | undefined {
    const batch = batchHead(this.#fetched.records, entry);
    this.#raiseFloor(batch.baseOffset, batch.lastOffset);
    const isAborted = this.#aborted.includes(batch, (control) => this.#recordsOf(control));
    this.#sourceEpoch = batch.epoch;
    if (batch.isControl || isAborted || batch.lastOffset < this.#from) return this.#skip(batch.lastOffset);
    if (batch.codec === 0) return this.#batchRecords.open(batch, this.#fetched.records, batch.start, batch.end);
    const bytes = this.#recordsOf(batch);
    return this.#batchRecords.open(batch, bytes, 0, bytes.length);
  }

  #recordsOf({ codec, start, end }: BatchHead): Buffer {
    return this.#codecs.decompress(codec, this.#fetched.records.subarray(start, end));
  }

  #openMessage({ start, end }: Entry): RunSource | undefined {
    const { records } = this.#fetched;
    const message = messageAt(records, start, end);
    const { offset, format, codec } = message;
    const before = this.#floor - 1;
    this.#sourceEpoch = undefined;
    this.#raiseFloor(offset, offset);
    if (offset < this.#from) return this.#skip(offset);
    if (codec === 0) return new Messages({ bytes: records, start, end, lastOffset: offset, format, before });
    const packed = records.subarray(message.start, Math.max(message.start, message.valueEnd));
    const bytes = this.#codecs.decompress(codec, format === 0 && codec === lz4 ? withHeadChecksum(packed) : packed);
    if (bytes.length === 0) throw new Unreadable("expected messages under compression, found none");
    return new Messages({ bytes, start: 0, end: bytes.length, lastOffset: offset, format, before });
  }

  #skip(lastOffset: number): undefined {
    this.#pass(lastOffset + 1, this.#sourceEpoch);
  }

  /** Offsets only rise: records of an entry with a lower offset would be handed out twice, or left out. */
  #raiseFloor(firstOffset: number, lastOffset: number): void {
    if (firstOffset < this.#floor) {
      throw new Unreadable(`expected a batch at offset ${this.#floor} or above, found one at ${firstOffset}`);
    }
    this.#floor = lastOffset + 1;
  }
}
