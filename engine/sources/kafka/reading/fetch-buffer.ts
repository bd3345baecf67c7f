import type { Chunk, Feed } from "../../../core/positions.ts";
import type { Codecs } from "../protocol/codecs.ts";
import type { FetchedPartition } from "../protocol/fetch.ts";
import { RecordBatches } from "../protocol/record-batches.ts";
import { eventsOf, RecordRun } from "../protocol/record-run.ts";

/** A fetch of one partition, from an offset on. */
interface Fetched {
  feed: Feed;
  from: number;
  fetched: FetchedPartition;
}

/** The fetch that is being handed out. */
interface Reading {
  feed: Feed;
  topic: string;
  batches: RecordBatches;
  /** The next of the run. */
  at: number;
  /** What was handed out, so far. */
  last: number;
  bytes: number;
}

/**
 * What was fetched and not read yet, partition by partition as it came, still as the broker sent it: records are looked
 * for when they are handed out.
 */
export class FetchBuffer {
  readonly #codecs: Codecs;
  readonly #run = new RecordRun();
  readonly #most: number;
  #queue: Fetched[] = [];
  #reading: Reading | undefined;
  #bytes = 0;
  #failure: unknown;
  /** Called when there is more, or more room. */
  onChange: () => void = () => undefined;

  /** `most`: bytes that are held before no more is fetched. */
  constructor(codecs: Codecs, most: number) {
    this.#codecs = codecs;
    this.#most = most;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#reading === undefined && this.#failure === undefined;
  }

  /** Whether anything of a partition is held. */
  holds(feed: Feed): boolean {
    return this.#reading?.feed === feed || this.#queue.some((one) => one.feed === feed);
  }

  get hasRoom(): boolean {
    // However little may be held: what is fetched alone is read before anything else is.
    return this.#bytes < this.#most || this.#bytes === 0;
  }

  push(feed: Feed, from: number, fetched: FetchedPartition): void {
    this.#queue.push({ feed, from, fetched });
    this.#bytes += fetched.records.length;
    this.onChange();
  }

  /** Forgets what was fetched of a partition. */
  drop(feed: Feed): void {
    if (this.#reading?.feed === feed) this.#end(this.#reading);
    for (const one of this.#queue) if (one.feed === feed) this.#bytes -= one.fetched.records.length;
    this.#queue = this.#queue.filter((one) => one.feed !== feed);
    this.onChange();
  }

  /** Hands out the next events, at most `limit` of about `maxBytes`. Throws UnreadableRecords, when its turn comes. */
  take(limit: number, maxBytes: number): Chunk[] {
    const chunks: Chunk[] = [];
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    let [left, bytes] = [limit, 0];
    while (left > 0 && bytes < maxBytes) {
      const reading = (this.#reading ??= this.#open());
      if (reading === undefined) break;
      const chunk = this.#someOr(reading, left, chunks.length > 0);
      if (chunk === "failed") break;
      if (chunk === undefined) continue;
      chunks.push(chunk);
      left -= chunk.events.length;
      for (const { size } of chunk.events) bytes += size;
    }
    return chunks;
  }

  /** What cannot be read is said when its turn comes: what was handed out before it in the same go is not lost. */
  #someOr(reading: Reading, limit: number, isLater: boolean): Chunk | "failed" | undefined {
    try {
      return this.#some(reading, limit);
    } catch (error) {
      if (!isLater) throw error;
      this.#failure = error;
      return "failed";
    }
  }

  #open(): Reading | undefined {
    const next = this.#queue.shift();
    if (next === undefined) return undefined;
    const { feed, from, fetched } = next;
    this.#run.clear();
    const batches = new RecordBatches(fetched, from, this.#codecs, this.#run);
    const { topic, records } = fetched;
    return { feed, topic, batches, at: 0, last: from - 1, bytes: records.length };
  }

  /** The next events of the run, or word that there are no more up to an offset; undefined where there is nothing to say. */
  #some(reading: Reading, limit: number): Chunk | undefined {
    const run = this.#run;
    if (reading.at >= run.count) {
      reading.at = 0;
      if (!this.#next(reading)) {
        const last = reading.batches.nextOffset - 1;
        return last > reading.last ? { feed: reading.feed, events: [], last } : undefined;
      }
    }
    const end = Math.min(run.count, reading.at + limit);
    const events = eventsOf(run, reading.at, end, reading.topic);
    reading.at = end;
    reading.last = end === run.count ? reading.batches.nextOffset - 1 : run.offsets[end - 1]!;
    return { feed: reading.feed, events, last: reading.last };
  }

  #next(reading: Reading): boolean {
    try {
      if (reading.batches.next()) return true;
    } catch (error) {
      this.#end(reading);
      throw error;
    }
    this.#end(reading);
    return false;
  }

  #end(reading: Reading): void {
    this.#reading = undefined;
    this.#bytes -= reading.bytes;
    this.onChange();
  }
}
