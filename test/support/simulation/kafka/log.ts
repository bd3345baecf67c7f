import type { AbortedTransaction } from "../../../../engine/sources/kafka/protocol/aborted-transactions.ts";
import { markBatch, plainBatchBytes } from "../../kafka/wire-bytes.ts";

/** Why a record is no longer in its log. */
export type Loss = "retention" | "compaction" | "truncation" | "recreation";

export interface LogRecord {
  offset: number;
  value: string;
  /** When it was written, in milliseconds since the epoch. */
  time: number;
  producerId: number;
  isAborted: boolean;
  /** Whether a consumer that reads only what is committed could read it at some time. */
  isVisible: boolean;
}

interface Batch {
  base: number;
  last: number;
  /** The election of the leader that wrote it. */
  epoch: number;
  producerId: number;
  time: number;
  records: LogRecord[];
  /** What it says of a transaction, if it is no batch of records. */
  mark?: "commit" | "abort";
  /** Made when it is fetched first. */
  bytes?: Buffer;
}

/** A transaction in one log: from the offset of its first record to that of its mark. */
interface Ended {
  producerId: number;
  first: number;
  last: number;
  isAborted: boolean;
}

/** What a fetch of a log brings. */
export interface Slice {
  records: Buffer;
  aborted: AbortedTransaction[];
}

export interface SliceOptions {
  from: number;
  maxBytes: number;
  isReadCommitted: boolean;
  /** Nothing from this offset on: a replica has no more. */
  upTo?: number;
}

/** What happens to the records of a log. */
export interface LogEvents {
  /** They can be read by consumers that read only what is committed. */
  visible(records: readonly LogRecord[]): void;
  /** They are in the log no more, though they were visible. */
  lost(records: readonly LogRecord[], by: Loss): void;
}

/**
 * The log of one partition: batches of format 2, uncompressed. Its offsets may have gaps, its start may move (retention)
 * and its end may be cut off (an election of a leader that lacks the newest). Transactions of any number of producers.
 */
export class PartitionLog {
  readonly #events: LogEvents;
  #batches: Batch[] = [];
  /** Offset of the first record of each open transaction, by its producer. */
  readonly #open = new Map<number, number>();
  #ended: Ended[] = [];
  #visibleTo = 0;
  /** Where the records of each election begin, as far as there are any. */
  #epochs: { epoch: number; from: number }[] = [];
  /** The election of the leader that writes now. */
  epoch = 0;
  /** The first offset that is there. */
  start = 0;
  /** Behind the last. */
  end = 0;

  constructor(events: LogEvents) {
    this.#events = events;
  }

  /** Behind the last that consumers may read that read only what is committed. */
  get stable(): number {
    return Math.min(this.end, ...this.#open.values());
  }

  /** Appends a batch; `producerId` is that of a transaction, or -1. Offsets begin at the end, after a gap of so many. */
  append(values: readonly string[], producerId = -1, gap = 0): LogRecord[] {
    const [base, time] = [this.end + gap, Date.now()];
    if (values.length === 0) return [];
    const records = values.map((value, delta) => {
      return { offset: base + delta, value, time, producerId, isAborted: false, isVisible: false };
    });
    if (producerId >= 0 && !this.#open.has(producerId)) this.#open.set(producerId, base);
    this.#push({ base, last: base + values.length - 1, epoch: this.epoch, producerId, time, records });
    return records;
  }

  /** Appends a batch that is written already, of so many records: its first offset and its election are set to those here. */
  appendBytes(bytes: Buffer, count: number): void {
    const base = this.end;
    const written = Buffer.from(bytes);
    written.writeBigInt64BE(BigInt(base), 0);
    written.writeInt32BE(this.epoch, 12);
    const of = { base, last: base + count - 1, epoch: this.epoch, producerId: -1, time: Date.now() };
    this.#push({ ...of, records: [], bytes: written });
  }

  /** Ends the transaction of a producer by a mark; nothing where it has none in this log. */
  mark(producerId: number, kind: "commit" | "abort"): void {
    const first = this.#open.get(producerId);
    if (first === undefined) return;
    this.#open.delete(producerId);
    const isAborted = kind === "abort";
    for (const batch of this.#batches) {
      if (batch.producerId !== producerId || batch.base < first) continue;
      for (const record of batch.records) record.isAborted = isAborted;
    }
    this.#ended.push({ producerId, first, last: this.end, isAborted });
    const base = this.end;
    this.#push({ base, last: base, epoch: this.epoch, producerId, time: Date.now(), records: [], mark: kind });
  }

  /** Retention: what comes before an offset goes, at most up to the last stable one. Returns where the log starts now. */
  retain(from: number): number {
    this.start = Math.max(this.start, Math.min(from, this.stable));
    const gone = this.#records().filter(({ offset }) => offset < this.start);
    this.#batches = this.#batches.filter(({ last }) => last >= this.start);
    for (const batch of this.#batches) this.#without(batch, ({ offset }) => offset < this.start, false);
    this.#ended = this.#ended.filter(({ last }) => last >= this.start);
    const present = this.#epochs.findLastIndex(({ from: begins }) => begins <= this.start);
    this.#epochs = this.#epochs.slice(Math.max(0, present));
    if (present >= 0 && this.#epochs[0] !== undefined) this.#epochs[0].from = this.start;
    this.#lose(gone, "retention");
    return this.start;
  }

  /** Compaction: some records go, and their offsets with them. The last offset of a log stays taken. */
  compact(offsets: ReadonlySet<number>): void {
    const isGone = ({ offset }: LogRecord): boolean => offsets.has(offset) && offset < this.stable;
    const gone = this.#records().filter(isGone);
    for (const batch of this.#batches) this.#without(batch, isGone, true);
    this.#batches = this.#batches.filter(
      (batch) => batch.records.length > 0 || batch.mark !== undefined || batch.last === this.end - 1,
    );
    this.#lose(gone, "compaction");
  }

  /**
   * The end is cut off at an offset, or before it, where a batch or a transaction would be cut in two: that goes whole.
   * Returns the new end.
   */
  truncate(to: number): number {
    let end = Math.max(this.start, Math.min(to, this.end));
    for (let before = -1; before !== end;) {
      before = end;
      const cut = [...this.#batches.map(({ base, last }) => ({ first: base, last })), ...this.#ended];
      for (const { first, last } of cut) if (first < end && last >= end) end = Math.max(this.start, first);
    }
    const gone = this.#records().filter(({ offset }) => offset >= end);
    this.#batches = this.#batches.filter(({ last }) => last < end);
    this.#ended = this.#ended.filter(({ last }) => last < end);
    this.#epochs = this.#epochs.filter(({ from }) => from < end);
    for (const [producerId, first] of this.#open) if (first >= end) this.#open.delete(producerId);
    this.end = end;
    this.#visibleTo = Math.min(this.#visibleTo, end);
    this.#lose(gone, "truncation");
    this.#reveal();
    return end;
  }

  /** How far the records of an election go, or of the last one before it; undefined where there are none from it on. */
  endOf(epoch: number): { epoch: number; end: number } | undefined {
    if (this.#epochs.at(-1)?.epoch === epoch) return { epoch, end: this.end };
    const after = this.#epochs.findIndex((one) => one.epoch > epoch);
    if (after === -1) return undefined;
    return { epoch: this.#epochs[after - 1]?.epoch ?? epoch, end: this.#epochs[after]!.from };
  }

  /** The topic is deleted. */
  vanish(): void {
    this.#lose(this.#records(), "recreation");
  }

  /** The batches from an offset on: whole ones, at least one, then as many as `maxBytes` hold. */
  slice({ from, maxBytes, isReadCommitted, upTo: most = Infinity }: SliceOptions): Slice {
    const limit = Math.min(most, isReadCommitted ? this.stable : this.end);
    const found: Buffer[] = [];
    let [bytes, upTo] = [0, from];
    for (const batch of this.#batches) {
      if (batch.last < from || batch.last >= limit) continue;
      batch.bytes ??= bytesOf(batch);
      if (found.length > 0 && bytes + batch.bytes.length > maxBytes) break;
      found.push(batch.bytes);
      bytes += batch.bytes.length;
      upTo = batch.last + 1;
    }
    return { records: Buffer.concat(found), aborted: isReadCommitted ? this.#abortedWithin(from, upTo) : [] };
  }

  /** The first record that was written at a time (ms since the epoch) or later, and may be read. */
  since(time: number): LogRecord | undefined {
    return this.#records().find((record) => record.time >= time && record.offset < this.stable);
  }

  #abortedWithin(from: number, upTo: number): AbortedTransaction[] {
    return this.#ended
      .filter(({ isAborted, first, last }) => isAborted && first < upTo && last >= from)
      .map(({ producerId, first }) => ({ producerId: BigInt(producerId), firstOffset: first }));
  }

  #push(batch: Batch): void {
    this.#batches.push(batch);
    if (this.#epochs.at(-1)?.epoch !== batch.epoch) this.#epochs.push({ epoch: batch.epoch, from: batch.base });
    this.end = batch.last + 1;
    this.#reveal();
  }

  /** Records become visible in their order, up to the first transaction that is open. */
  #reveal(): void {
    const to = this.stable;
    if (to <= this.#visibleTo) return;
    const records = this.#records().filter(
      ({ offset, isAborted }) => offset >= this.#visibleTo && offset < to && !isAborted,
    );
    this.#visibleTo = to;
    for (const record of records) record.isVisible = true;
    if (records.length > 0) this.#events.visible(records);
  }

  #lose(records: readonly LogRecord[], by: Loss): void {
    const visible = records.filter(({ isVisible }) => isVisible);
    if (visible.length > 0) this.#events.lost(visible, by);
  }

  /** `isRewritten`: what is gone is no longer in the bytes of its batch, as retention leaves it. */
  #without(batch: Batch, isGone: (record: LogRecord) => boolean, isRewritten: boolean): void {
    const left = batch.records.filter((record) => !isGone(record));
    if (left.length === batch.records.length) return;
    if (isRewritten) delete batch.bytes;
    else batch.bytes ??= bytesOf(batch);
    batch.records = left;
  }

  #records(): LogRecord[] {
    return this.#batches.flatMap(({ records }) => records);
  }
}

function bytesOf({ base, last, epoch, producerId, time, records, mark }: Batch): Buffer {
  if (mark !== undefined) return plainBatchBytes({ ...markBatch(base, producerId, mark), epoch });
  return plainBatchBytes({
    baseOffset: base,
    lastDelta: last - base,
    records: records.map(({ offset, value }) => ({ delta: offset - base, value: Buffer.from(value), time: 0 })),
    isTransactional: producerId >= 0,
    producerId,
    epoch,
    time,
  });
}
