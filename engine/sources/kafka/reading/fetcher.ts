import { backOff } from "../../../flow/back-off.ts";
import type { Feed } from "../../../core/positions.ts";
import { retryWhile } from "../../../flow/retry.ts";
import { sleep } from "../../../flow/sleep.ts";
import { unlessAborted } from "../../../flow/unless-aborted.ts";
import { brokerError, noLeader, outOfRange, placeAt, unknownTopicId, type Brokers } from "../brokers/brokers.ts";
import type { FetchBuffer } from "./fetch-buffer.ts";
import { batchHead, entryAt } from "../protocol/batch-head.ts";
import type { FetchedPartition } from "../protocol/fetch.ts";
import { Unreadable } from "../protocol/unreadable.ts";
import type { KafkaSettings } from "../brokers/settings.ts";

export interface FetcherOptions {
  brokers: Brokers;
  topics: readonly string[];
  /** The feed of a partition of one of the topics. */
  feedOf: (topic: string, partition: number) => Feed;
  /** The id of the topic of a partition, where it is known. */
  topicIdOf: (feed: Feed) => string | undefined;
  settings: KafkaSettings;
  /** How long a fetch may gather more events while events come, in milliseconds. */
  linger: number;
  buffer: FetchBuffer;
  /** Called when a fetch has failed `attempt` times in a row; with `undefined` when fetches work again. */
  onFailure: (error: unknown, attempt: number) => void;
  /** Called when the leaders of all partitions are known, before any is fetched. If it throws, this is tried again. */
  onLeaders: () => Promise<void>;
  /**
   * Called when the next offset of a partition, or its topic, does not exist. The partition is not fetched until it is
   * set again.
   */
  onGone: (feed: Feed) => void;
  /** Called with the end of a partition: the offset after the last that may be read. */
  onEnd: (feed: Feed, end: number) => void;
}

/** The key of the loop that looks up the leaders. */
const unknown = -1;
/** Error codes that say that another broker leads the partition by now, or none. */
const moved = new Set([3, 5, 6, 9, 74, 75, 76]);
const [firstWait, longestWait] = [200, 10_000];
/** How many times `fetchWait` a fetch waits at the most, where nothing has come for long. */
const mostPatience = 8;

/**
 * Fetches partitions from the brokers that lead them, one request per broker at a time, as long as the buffer has room.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  /** The next offset to fetch, of each partition that may be read; those that delivered records last are last. */
  readonly #next = new Map<Feed, number>();
  readonly #stopped = new AbortController();
  /** The node that leads each partition. */
  #leaders: ReadonlyMap<Feed, number> = new Map();
  /** How many fetches in a row brought no event, of each node. */
  readonly #inVain = new Map<number, number>();
  readonly #following = new Map<number, Promise<void>>();
  #wake: () => void = () => undefined;
  #changed = Promise.resolve();

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#change();
  }

  /** Begins to fetch a partition, from this offset on. */
  set(feed: Feed, offset: number): void {
    this.#next.set(feed, offset);
    this.#inVain.clear();
    this.#follow();
  }

  /** Stops fetching a partition; drops what a running request delivers of it. */
  unset(feed: Feed): void {
    this.#next.delete(feed);
  }

  /** Call it when the buffer may have room again. */
  look(): void {
    this.#wake();
  }

  /** Does not wait for the answers of fetches that are under way. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake();
    await Promise.all(this.#following.values());
  }

  /** Each broker that leads a partition has its own loop: a broker that waits for events does not delay the others. */
  #follow(): void {
    if (this.#following.has(unknown) || this.#stopped.signal.aborted) return;
    this.#begin(unknown, () => this.#findLeaders());
  }

  #begin(node: number, work: () => Promise<void>): void {
    if (this.#following.has(node)) return;
    const done = work().finally(() => {
      this.#following.delete(node);
      // Partitions that were set while the loop was ending.
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
      const leaderless = [...this.#next.keys()].find((feed) => !leaders.has(feed));
      if (leaderless !== undefined) throw noLeader(leaderless);
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
      // The leaders are looked up anew after this loop has ended.
      return;
    }
  }

  /** Whether another broker leads a partition by now. The error of a partition is thrown after all others were taken. */
  async #fetchOnce(node: number): Promise<boolean> {
    const { brokers, buffer, feedOf, topicIdOf, settings, onEnd, onGone } = this.#options;
    const offsets = this.#wantedOf(node);
    // During the back-off after a failure the buffer or the partitions may have changed.
    if (offsets.size === 0 || !buffer.hasRoom) return false;
    const { partitionMaxBytes } = settings;
    const places = Array.from(offsets, ([feed, offset]) => placeAt(feed, offset, topicIdOf(feed)));
    const fetching = brokers.fetch(node, { places, partitionMaxBytes, ...this.#patience(node) });
    const partitions = await unlessAborted(fetching, this.#stopped.signal);
    if (partitions === undefined) return false;
    const isInVain = partitions.every(({ records }) => records.length === 0);
    this.#inVain.set(node, isInVain ? (this.#inVain.get(node) ?? 0) + 1 : 0);
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

  /**
   * How long a broker waits, and for how much. Where nothing came, the next event is wanted at once, and fewer and fewer
   * requests are made until then. While events come, a fetch gathers many of them, for as long as their batch can wait.
   */
  #patience(node: number): { wait: number; minBytes: number } {
    const { linger, settings } = this.#options;
    const inVain = this.#inVain.get(node);
    if (inVain === 0) return { wait: Math.min(linger, settings.fetchWait), minBytes: settings.fetchMinBytes };
    const times = Math.min(mostPatience, 2 ** Math.max(0, (inVain ?? 0) - 1));
    return { wait: times * settings.fetchWait, minBytes: 1 };
  }

  #take(feed: Feed, fetched: FetchedPartition, from: number): void {
    if (fetched.records.length === 0) return;
    const next = offsetAfter(fetched.records, from);
    // A broker fills its answer in the order of the request: partitions that waited longest come first.
    this.#next.delete(feed);
    // What is unreadable is found when its turn comes. It holds up no other partition.
    if (next !== undefined) this.#next.set(feed, next);
    this.#options.buffer.push(feed, from, fetched);
  }

  #wantedOf(node: number): Map<Feed, number> {
    return new Map([...this.#next].filter(([feed]) => this.#leaders.get(feed) === node));
  }

  /** Retries with back-off until it works; after each failure the leaders are looked up anew. */
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
    // A broker that is gone cannot say who leads its partitions now.
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

/** The offset after the last whole batch, from its head; `from` where there is none, and undefined where one is unreadable. */
function offsetAfter(records: Buffer, from: number): number | undefined {
  let next = from;
  try {
    for (let at = 0; at < records.length;) {
      const entry = entryAt(records, at);
      if (entry === undefined) break;
      const last = entry.format === 2 ? batchHead(records, entry).lastOffset : entry.offset;
      next = Math.max(next, last + 1);
      at = entry.end;
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return undefined;
  }
  return next;
}
