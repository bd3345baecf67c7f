import { backOff } from "../../../flow/back-off.ts";
import type { Feed } from "../../../core/positions.ts";
import { retryWhile } from "../../../flow/retry.ts";
import { sleep } from "../../../flow/sleep.ts";
import { brokerError, noLeader, outOfRange, placeAt, unknownTopicId, type Brokers } from "../brokers/brokers.ts";
import type { FetchBuffer } from "./fetch-buffer.ts";
import { batchHead, entryAt } from "../protocol/batch-head.ts";
import type { FetchedPartition } from "../protocol/fetch.ts";
import type { KafkaSettings } from "../brokers/settings.ts";

export interface FetcherOptions {
  brokers: Brokers;
  topics: readonly string[];
  /** What a partition of one of the topics is called. */
  feedOf: (topic: string, partition: number) => Feed;
  /** The id of the topic of a partition, where one is known. */
  topicIdOf: (feed: Feed) => string | undefined;
  settings: KafkaSettings;
  buffer: FetchBuffer;
  /** A fetch failed so many times in a row; `undefined`: fetches work again. */
  onFailure: (error: unknown, attempt: number) => void;
  /** It was found out who leads what, before any partition is fetched. What it throws is tried again. */
  onLeaders: () => Promise<void>;
  /** The next offset of a partition, or its topic, is not there. It is fetched no more until it is set again. */
  onGone: (feed: Feed) => void;
  /** How far a partition goes: the offset after the last that may be read. */
  onEnd: (feed: Feed, end: number) => void;
}

/** Stands for the loop that finds out who leads what. */
const unknown = -1;
/** Another broker leads the partition by now, or none. */
const moved = new Set([3, 5, 6, 9, 74, 75, 76]);
const [firstWait, longestWait] = [200, 10_000];

/** Fetches partitions from the brokers that lead them, one request a broker at a time, as long as there is room. */
export class Fetcher {
  readonly #options: FetcherOptions;
  /** The next offset to fetch, of each partition that may be read; those that brought something last are last. */
  readonly #next = new Map<Feed, number>();
  readonly #stopped = new AbortController();
  /** The node that leads each partition. */
  #leaders: ReadonlyMap<Feed, number> = new Map();
  readonly #following = new Map<number, Promise<void>>();
  #wake: () => void = () => undefined;
  #changed = Promise.resolve();

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#change();
  }

  /** From now on the partition is fetched, from this offset on. */
  set(feed: Feed, offset: number): void {
    this.#next.set(feed, offset);
    this.#follow();
  }

  /** It is fetched no more; what a request under way brings of it is dropped. */
  unset(feed: Feed): void {
    this.#next.delete(feed);
  }

  /** There may be room again. */
  look(): void {
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake();
    await Promise.all(this.#following.values());
  }

  /** Each broker that leads a partition has a loop of its own: a broker that waits for events delays no other. */
  #follow(): void {
    if (this.#following.has(unknown) || this.#stopped.signal.aborted) return;
    this.#begin(unknown, () => this.#findLeaders());
  }

  #begin(node: number, work: () => Promise<void>): void {
    if (this.#following.has(node)) return;
    const done = work().finally(() => {
      this.#following.delete(node);
      // What was set while the loop was ending.
      if (node !== unknown && this.#wantedOf(node).size > 0 && !this.#stopped.signal.aborted) this.#follow();
    });
    this.#following.set(node, done);
  }

  async #findLeaders(): Promise<void> {
    const { brokers, topics, feedOf } = this.#options;
    await this.#untilDone(async () => {
      const leaders = new Map<Feed, number>();
      for (const topic of topics) {
        for (const [partition, node] of await brokers.leaders(topic)) leaders.set(feedOf(topic, partition), node);
      }
      this.#leaders = leaders;
      const orphan = [...this.#next.keys()].find((feed) => !leaders.has(feed));
      if (orphan !== undefined) throw noLeader(orphan);
      await this.#options.onLeaders();
    });
    for (const node of new Set(this.#leaders.values())) this.#begin(node, () => this.#fetchFrom(node));
  }

  async #fetchFrom(node: number): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      if (this.#wantedOf(node).size === 0) return;
      if (!this.#options.buffer.hasRoom) {
        await this.#changed;
        continue;
      }
      let isMoved = false;
      await this.#untilDone(async () => {
        isMoved = await this.#fetchOnce(node);
      });
      if (!isMoved) continue;
      await this.#untilDone(() => this.#options.brokers.refresh());
      // Who leads what is looked up anew when this loop is gone.
      return;
    }
  }

  /** Whether some partition is led by another broker. Throws what is wrong with one when all others are taken. */
  async #fetchOnce(node: number): Promise<boolean> {
    const { brokers, buffer, feedOf, topicIdOf, settings, onEnd, onGone } = this.#options;
    const offsets = this.#wantedOf(node);
    // After a failure of one, others have gone on.
    if (offsets.size === 0 || !buffer.hasRoom) return false;
    const { partitionMaxBytes, fetchWait: wait, fetchMinBytes: minBytes } = settings;
    const places = Array.from(offsets, ([feed, offset]) => placeAt(feed, offset, topicIdOf(feed)));
    const partitions = await brokers.fetch(node, { places, partitionMaxBytes, wait, minBytes });
    let isMoved = false;
    let failure: Error | undefined;
    for (const fetched of partitions) {
      const { topic, partition, errorCode } = fetched;
      const feed = feedOf(topic, partition);
      const from = offsets.get(feed);
      if (from === undefined || this.#next.get(feed) !== from) continue;
      if (errorCode === outOfRange || errorCode === unknownTopicId) {
        this.unset(feed);
        onGone(feed);
      } else if (moved.has(errorCode)) isMoved = true;
      else if (errorCode !== 0) failure ??= brokerError(errorCode);
      else {
        onEnd(feed, fetched.lastStableOffset);
        this.#take(feed, fetched, from);
      }
    }
    if (failure !== undefined) throw failure;
    return isMoved;
  }

  #take(feed: Feed, fetched: FetchedPartition, from: number): void {
    if (fetched.records.length === 0) return;
    // A broker fills its answer in the order that it is asked in: what has waited comes first.
    this.#next.delete(feed);
    this.#next.set(feed, offsetBehind(fetched.records, from));
    this.#options.buffer.push(feed, from, fetched);
  }

  #wantedOf(node: number): Map<Feed, number> {
    return new Map([...this.#next].filter(([feed]) => this.#leaders.get(feed) === node));
  }

  /** Tries until it works, with back-off; each failure makes the leaders be asked for anew. */
  async #untilDone(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopped;
    const workOnce = async (): Promise<void> => {
      await work();
      this.#options.onFailure(undefined, 0);
    };
    await retryWhile(
      () => !signal.aborted,
      workOnce,
      (error, attempt) => this.#afterFailure(error, attempt),
    );
  }

  async #afterFailure(failure: unknown, attempt: number): Promise<void> {
    const { signal } = this.#stopped;
    if (signal.aborted) return;
    this.#options.onFailure(failure, attempt);
    await sleep(backOff(attempt, firstWait, longestWait), signal);
    await this.#options.brokers.refresh().catch(() => undefined);
    // A broker that is gone says of none of its partitions who leads it now.
    this.#follow();
  }

  #change(): void {
    this.#changed = new Promise((resolve) => {
      this.#wake = () => {
        resolve();
        this.#change();
      };
    });
  }
}

/** The offset after the last whole batch, which its head tells; `from` where there is none. */
function offsetBehind(records: Buffer, from: number): number {
  let next = from;
  for (let at = 0; at < records.length;) {
    const entry = entryAt(records, at);
    if (entry === undefined) break;
    const last = entry.format === 2 ? batchHead(records, entry).lastOffset : entry.offset;
    next = Math.max(next, last + 1);
    at = entry.end;
  }
  return next;
}
