import { mostEventBytes } from "../../../core/dead-letter.ts";
import type { Chunk, Feed } from "../../../core/positions.ts";
import type { Event } from "../../../event/event.ts";
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
  /** The index of the next record of the run. */
  at: number;
  /** The offset up to which events were handed out. */
  last: number;
  bytes: number;
}

/**
 * Fetched records that were not read yet, in the order of their arrival, as the broker sent them: they are decoded when
 * they are handed out.
 */
export class FetchBuffer {
  readonly #codecs: Codecs;
  readonly #run = new RecordRun();
  readonly #most: number;
  #queue: Fetched[] = [];
  #reading: Reading | undefined;
  #bytes = 0;
  #failure: unknown;
  /** Called when there are more events, or more room. */
  onChange: () => void = () => undefined;

  /** `most`: bytes in the buffer from which on nothing more is fetched. */
  constructor(codecs: Codecs, most: number) {
    this.#codecs = codecs;
    this.#most = most;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0 && this.#reading === undefined && this.#failure === undefined;
  }

  /** Whether the buffer holds anything of a partition. */
  holds(feed: Feed): boolean {
    return this.#reading?.feed === feed || this.#queue.some((one) => one.feed === feed);
  }

  get hasRoom(): boolean {
    // An empty buffer always has room, however small the limit: a single fetch may exceed it.
    return this.#bytes < this.#most || this.#bytes === 0;
  }

  push(feed: Feed, from: number, fetched: FetchedPartition): void {
    this.#queue.push({ feed, from, fetched });
    this.#bytes += fetched.records.length;
    this.onChange();
  }

  /** Drops what was fetched of a partition. */
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
      const chunk = this.#someOr(reading, { limit: left, room: maxBytes - bytes }, chunks.length > 0);
      if (chunk === "failed") break;
      if (chunk === undefined) continue;
      chunks.push(chunk);
      left -= chunk.events.length;
      for (const { size } of chunk.events) bytes += size;
    }
    return chunks;
  }

  /** Keeps an error for the next call if this call already has events to hand out, so that these are not lost. */
  #someOr(reading: Reading, share: Share, isLater: boolean): Chunk | "failed" | undefined {
    try {
      return this.#some(reading, share);
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

  /** The next events of the run, or an empty chunk up to an offset without events; undefined where there is neither. */
  #some(reading: Reading, share: Share): Chunk | undefined {
    const run = this.#run;
    if (reading.at >= run.count) {
      reading.at = 0;
      if (!this.#next(reading)) {
        const { epoch, nextOffset } = reading.batches;
        return nextOffset - 1 > reading.last ? chunkOf(reading, [], nextOffset - 1, epoch) : undefined;
      }
    }
    const end = endOf(run, reading.at, share);
    const events = eventsOf(run, reading.at, end, reading.topic);
    const oversized = oversizedOf(run, reading.at, end);
    reading.at = end;
    const isWhole = end === run.count;
    reading.last = isWhole ? reading.batches.nextOffset - 1 : run.offsets[end - 1]!;
    const chunk = chunkOf(reading, events, reading.last, isWhole ? reading.batches.epoch : run.epoch);
    return oversized === undefined ? chunk : { ...chunk, oversized };
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

/** How much is handed out: at most so many events, of about so many bytes. */
interface Share {
  limit: number;
  room: number;
}

/** Where the share of a run ends that begins at `at`. Values are measured one by one only where a run has more than the room. */
function endOf({ count, valueBytes, starts, ends }: RecordRun, at: number, { limit, room }: Share): number {
  const end = Math.min(count, at + limit);
  if (valueBytes <= room) return end;
  let to = at;
  for (let bytes = 0; to < end && bytes < room; to += 1) bytes += Math.max(0, ends[to]! - starts[to]!);
  return to;
}

/** The offsets of values that are too large; undefined where there are none, as in each run of fewer bytes. */
function oversizedOf(
  { valueBytes, offsets, starts, ends }: RecordRun,
  from: number,
  to: number,
): Set<number> | undefined {
  if (valueBytes <= mostEventBytes) return undefined;
  const found = new Set<number>();
  for (let index = from; index < to; index += 1) {
    if (ends[index]! - starts[index]! > mostEventBytes) found.add(offsets[index]!);
  }
  return found.size === 0 ? undefined : found;
}

function chunkOf({ feed }: Reading, events: Event[], last: number, epoch: number | undefined): Chunk {
  return { feed, events, last, ...(epoch !== undefined && { epoch }) };
}
