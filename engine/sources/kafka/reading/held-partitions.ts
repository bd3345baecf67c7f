import { LeftForLater } from "../../../core/errors.ts";
import type { SourcePause } from "../../../core/pause.ts";
import type { Chunk, Feed } from "../../../core/positions.ts";
import { retryWhile } from "../../../flow/retry.ts";
import { sleep } from "../../../flow/sleep.ts";
import type { SourceSignals } from "../../../core/source.ts";
import type { KafkaClient } from "../brokers/client.ts";
import type { SourceFailures } from "../brokers/failures.ts";
import type { KafkaSettings } from "../brokers/settings.ts";
import type { Opening } from "../group/opening.ts";
import { partitionText } from "../positions/feed.ts";
import type { FetchedBytes } from "../positions/lag.ts";
import type { KafkaPositions } from "../positions/positions.ts";
import type { FetchedSpan } from "../positions/read-times.ts";
import { UnreadableRecords } from "../protocol/unreadable.ts";
import type { FetchBuffer } from "./fetch-buffer.ts";
import { Fetcher } from "./fetcher.ts";

/** Wait before a partition is fetched again after its next offset was missing, in milliseconds. */
const leastWait = 200;
/** Wait between two attempts to find where a partition goes on, in milliseconds. */
const retryWait = 1_000;
/** Wait between two attempts to read unreadable records, in milliseconds. */
const unreadableWait = 30_000;

export interface HeldPartitionsOptions {
  client: KafkaClient;
  topics: readonly string[];
  settings: KafkaSettings;
  linger: number;
  buffer: FetchBuffer;
  positions: KafkaPositions;
  opening: Opening;
  failures: SourceFailures;
  /** The pause while it is undecided where a partition goes on. */
  pause: SourcePause;
  signals: SourceSignals;
  /** Leaves the group and joins it again, because a topic was created again. */
  rejoin: () => Promise<void>;
  /** Called when a partition whose next offset was missing has one again. */
  onFound: () => void;
  /**
   * Called with the ends of a partition: the offset after the last that may be read, and the high watermark, the one after the
   * last of all. -1 where the broker does not know them.
   */
  onEnd: (feed: Feed, end: number, high?: number) => void;
  /** Called with the records that were fetched, before they are in the buffer. */
  onFetched: (feed: Feed, spans: readonly FetchedSpan[]) => void;
  /** Called with the bytes that a fetch has brought. */
  onBytes: (bytes: FetchedBytes) => void;
}

/**
 * The partitions that the group has assigned to this pipeline. Each is fetched from its next offset on. If that offset
 * is not in the topic, the partition is fetched again once it is decided where it goes on.
 */
export class HeldPartitions {
  readonly #options: HeldPartitionsOptions;
  readonly #fetcher: Fetcher;
  #held: ReadonlySet<Feed> = new Set();
  /** Those of them that are fetched. */
  readonly #reading = new Set<Feed>();
  /** Those whose next offset is missing. They are placed anew once everything fetched of them is read. */
  readonly #lost = new Set<Feed>();
  /** Those that are placed anew, until it is decided where they go on; also while the group takes them away and gives them back. */
  readonly #placing = new Set<Feed>();
  #isClosed = false;

  constructor(options: HeldPartitionsOptions) {
    this.#options = options;
    const { client, topics, settings, linger, buffer, positions, failures, onEnd, onFetched, onBytes } = options;
    this.#fetcher = new Fetcher({
      client,
      topics,
      feedOf: (topic, partition) => positions.feed(topic, partition),
      settings,
      linger,
      buffer,
      onFailure: (who, error, attempt) => {
        if (error === undefined) failures.clear(who);
        else failures.note(who, error, attempt);
      },
      topicIdOf: (feed) => positions.topicIdOf(feed),
      onLeaders: () => this.checkTopics(),
      onGone: (feed) => {
        this.#lost.add(feed);
        this.#placeLost();
      },
      onCut: (feed, end) => positions.noteCut(feed, end),
      onEnd,
      onFetched,
      onBytes,
    });
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  /** Reads these partitions, and no others. */
  hold(feeds: ReadonlySet<Feed>): void {
    this.#held = feeds;
    for (const feed of this.#reading) if (!feeds.has(feed)) this.#stopReading(feed);
    for (const feed of feeds) this.#read(feed);
  }

  /** What was fetched, in order: at most `limit` events and about `maxBytes` bytes. */
  take(limit: number, maxBytes: number): Chunk[] {
    const { buffer, positions } = this.#options;
    try {
      const chunks = buffer.take(limit, maxBytes);
      for (const { feed, last, epoch } of chunks) positions.handedOut(feed, last, epoch);
      return chunks;
    } catch (error) {
      if (!(error instanceof UnreadableRecords)) throw error;
      this.#unreadable(error);
      return [];
    }
  }

  /** The buffer has changed: there may be room again, or a lost partition may be read up to its end. */
  look(): void {
    this.#fetcher.look();
    this.#placeLost();
  }

  /** Learns the ends of partitions that are not read from their leaders. Throws what the client throws. */
  askEnds(): Promise<void> {
    return this.#fetcher.askEnds();
  }

  /** Checks whether a topic was created again: a fetch by name would read the new topic at the old offset. */
  async checkTopics(): Promise<void> {
    const { opening, rejoin } = this.#options;
    if (this.isEmpty || !(await opening.isRecreated())) return;
    void rejoin();
  }

  /** From now on no further partition is read. */
  end(): void {
    this.#isClosed = true;
  }

  stop(): Promise<void> {
    return this.#fetcher.stop();
  }

  #read(feed: Feed): void {
    if (!this.#held.has(feed) || this.#reading.has(feed) || this.#placing.has(feed) || this.#isClosed) return;
    // The log may have grown past the next offset since it was cut: then a fetch would skip what was lost, and the new events.
    if (this.#options.positions.cut(feed) !== undefined) return void this.#placeAnew(feed);
    const { positions } = this.#options;
    this.#reading.add(feed);
    this.#fetcher.set(feed, positions.next(feed)!, positions.epoch(feed));
  }

  #stopReading(feed: Feed): void {
    this.#lost.delete(feed);
    this.#fetcher.unset(feed);
    this.#options.buffer.drop(feed);
    this.#reading.delete(feed);
  }

  #placeLost(): void {
    for (const feed of this.#lost) {
      if (this.#options.buffer.holds(feed) || !this.#lost.delete(feed)) continue;
      this.#reading.delete(feed);
      void this.#placeAnew(feed);
    }
  }

  /** The next offset is not in the topic, or the topic was created again: the options say where it goes on. */
  async #placeAnew(feed: Feed): Promise<void> {
    if (this.#placing.has(feed)) return;
    this.#placing.add(feed);
    const { failures, signals } = this.#options;
    const { drain } = signals;
    const afterFailure = async (error: unknown, attempt: number): Promise<void> => {
      if (error instanceof LeftForLater) throw error;
      failures.note("offsets", error, attempt);
      await sleep(retryWait, drain);
    };
    try {
      const isWanted = (): boolean => !drain.aborted && this.#held.has(feed);
      await retryWhile(isWanted, () => this.#placeOnce(feed), afterFailure);
    } catch (error) {
      if (!(error instanceof LeftForLater)) throw error;
    } finally {
      this.#placing.delete(feed);
    }
    if (!drain.aborted) this.#read(feed);
  }

  async #placeOnce(feed: Feed): Promise<void> {
    const { opening, failures, pause, signals, rejoin, onFound } = this.#options;
    if (await opening.isRecreated()) return rejoin();
    const onAnswered = (): void => failures.clear("offsets");
    await opening.checkRange(signals, { only: feed, isRunning: true, onAnswered });
    if (!opening.waitsForLost) pause.leave();
    onFound();
    // Without this wait a broker that does not know the topic yet would be asked in a tight loop.
    await sleep(leastWait, signals.drain);
  }

  /** Unreadable records stay so until a person mends the topic: the partition is tried again every 30 seconds. */
  #unreadable(error: UnreadableRecords): void {
    const { positions, failures } = this.#options;
    const feed = positions.feed(error.topic, error.partition);
    const who = partitionText(feed);
    positions.handedOut(feed, error.offset - 1);
    this.#stopReading(feed);
    failures.note(who, error, Infinity);
    setTimeout(() => {
      failures.clear(who);
      this.#read(feed);
    }, unreadableWait).unref();
  }
}
