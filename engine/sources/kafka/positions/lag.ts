import type { PartitionLag, SourceLag, ThrottlingBroker } from "../../../core/counters.ts";
import type { Feed } from "../../../core/positions.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { partitionOf } from "./feed.ts";
import { OpenTransactions } from "./open-transactions.ts";
import type { KafkaPositions } from "./positions.ts";
import { type FetchedSpan, ReadTimes } from "./read-times.ts";

const every = 10_000;
/** What brokers said of an end counts for so long, in milliseconds: longer than the source is without asking for it. */
const trusted = 40_000;
/** Of so many partitions the lag is told one by one. */
const mostTold = 1_000;

/** What brokers said of the end of a partition. */
interface End {
  offset: number;
  /** When they said it: in ms since the epoch, and by the monotonic clock. */
  time: number;
  heard: number;
}

function rankOf({ lag = Number.MAX_VALUE }: PartitionLag): number {
  return lag;
}

/** Those that lag most, first those of which nobody knows it. */
export function mostLagging(partitions: readonly PartitionLag[]): PartitionLag[] {
  return partitions.toSorted((a, b) => rankOf(b) - rankOf(a)).slice(0, mostTold);
}

/** The age of the oldest event of some partitions, in seconds; undefined where that of one is not known. */
export function oldestOf(partitions: readonly Pick<PartitionLag, "lag_seconds">[]): number | undefined {
  let oldest = 0;
  for (const { lag_seconds } of partitions) {
    if (lag_seconds === undefined) return undefined;
    oldest = Math.max(oldest, lag_seconds);
  }
  return oldest;
}

/** What a client knows of the quotas that keep it waiting. */
interface Throttling {
  /** The seconds of all brokers that were not asked for yet. */
  taken: () => number;
  /** Those that have kept it waiting for a considerable part of the last minute. */
  readonly brokers: ThrottlingBroker[];
}

/** The bytes that a fetch has brought, of partitions that the broker leads and of others. */
export interface FetchedBytes {
  leader: number;
  follower: number;
}

export interface LagOptions {
  pipeline_id: string;
  telemetry: Telemetry;
  positions: KafkaPositions;
  throttling: Throttling;
  /** Called every ten seconds. Resolves when brokers have been asked for the ends, where they are. */
  onTurn: () => Promise<void> | undefined;
}

/**
 * The lag of the pipeline: the offsets between its positions and the ends of its partitions. Reported every ten
 * seconds, and as soon as it is known.
 */
export class Lag {
  readonly #options: LagOptions;
  readonly #ends = new Map<Feed, End>();
  readonly #transactions = new OpenTransactions();
  readonly #times = new ReadTimes();
  /** What fetches brought since the last report: a message for each would wake the process more often than batches do. */
  #bytes: FetchedBytes = { leader: 0, follower: 0 };
  #held: ReadonlySet<Feed> = new Set();
  /** The partitions that are counted: those that are assigned, and before the first assignment all. */
  #counted: ReadonlySet<Feed> = new Set();
  /** Those of them whose end no broker has said yet. */
  #unheard = new Set<Feed>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LagOptions) {
    this.#options = options;
  }

  /** The source waits before it may read these partitions: their lag is reported in time, if it is not opened sooner. */
  waits(feeds: readonly Feed[]): void {
    if (this.#timer !== undefined || feeds.length === 0) return;
    this.#look(feeds);
    this.#begin();
  }

  /** The next offsets of these partitions are known. None is read yet. */
  opened(feeds: Iterable<Feed>): void {
    this.#count(feeds);
  }

  /** These partitions are read. Others, which another consumer may hold, count as well. */
  held(feeds: ReadonlySet<Feed>): void {
    const { positions } = this.#options;
    this.#held = new Set(feeds);
    this.#transactions.keep(this.#held);
    this.#times.keep(this.#held);
    this.#count(feeds.size === 0 ? [] : [...feeds, ...positions.feeds.filter((feed) => positions.isRead(feed))]);
  }

  #count(feeds: Iterable<Feed>): void {
    this.#look(feeds);
    this.#begin();
    this.#report();
  }

  #look(feeds: Iterable<Feed>): void {
    this.#counted = new Set(feeds);
    this.#unheard = new Set([...this.#counted].filter((feed) => !this.#ends.has(feed)));
  }

  #begin(): void {
    this.#timer ??= setInterval(() => {
      void this.#options.onTurn()?.then(() => {
        if (this.#timer !== undefined) this.#report();
      });
      this.#report();
    }, every).unref();
  }

  /** The offset after the last event of a partition that may be read, and the one after the last of all, if that is known. */
  end(feed: Feed, end: number, high?: number): void {
    // A broker that does not know them yet says -1.
    if (end < 0) return;
    if (high === undefined) this.#transactions.sawStable(feed, end);
    else if (high >= 0) this.#transactions.saw(feed, end, high);
    const isLast = this.#unheard.delete(feed) && this.#unheard.size === 0;
    this.#ends.set(feed, { offset: end, time: Date.now(), heard: performance.now() });
    if (isLast && this.#areEndsKnown) this.#report();
  }

  /** Records of a partition were fetched. */
  fetched(feed: Feed, spans: readonly FetchedSpan[]): void {
    this.#times.fetched(feed, spans);
  }

  /** A fetch has brought bytes. */
  brought({ leader, follower }: FetchedBytes): void {
    this.#bytes.leader += leader;
    this.#bytes.follower += follower;
  }

  /** Whether brokers have not said for so many milliseconds where a partition ends. */
  isOutdated(milliseconds: number): boolean {
    return [...this.#counted].some((feed) => this.#endOf(feed, milliseconds) === undefined);
  }

  /** What was said of an end within so many milliseconds. */
  #endOf(feed: Feed, milliseconds = trusted): End | undefined {
    const end = this.#ends.get(feed);
    return end !== undefined && performance.now() - end.heard <= milliseconds ? end : undefined;
  }

  /** The end that a lag is counted to. One before what is final is that of a log which was cut, or of another topic. */
  #countedEnd(feed: Feed): End | undefined {
    const end = this.#endOf(feed);
    return end !== undefined && end.offset >= this.#finalOf(feed) ? end : undefined;
  }

  #finalOf(feed: Feed): number {
    return this.#options.positions.final(feed) ?? 0;
  }

  /** Reports once more, without a lag: nobody looks for the ends any more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#held = new Set();
    this.#look([]);
    this.#transactions.keep(new Set());
    this.#times.keep(new Set());
    const hasBegun = this.#timer !== undefined;
    this.#timer = undefined;
    if (hasBegun) this.#report();
  }

  get #areEndsKnown(): boolean {
    return [...this.#counted].every((feed) => this.#countedEnd(feed) !== undefined);
  }

  #report(): void {
    const { pipeline_id, telemetry, throttling, positions } = this.#options;
    const partitions = Array.from(this.#counted, (feed) => this.#lagOf(feed));
    const lag = partitions.reduce((sum, { lag: own = 0 }) => sum + own, 0);
    const lag_seconds = oldestOf(partitions);
    // An unknown lag is left out: it is not 0. So is that of no partitions: others are read by nobody, or elsewhere.
    const isKnown = this.#counted.size > 0 && this.#areEndsKnown;
    const uncommitted = [...positions.uncommitted().values()].reduce((sum, count) => sum + count, 0);
    this.#reportBytes();
    const throttled = throttling.taken();
    if (throttled > 0) telemetry.throttled({ pipeline_id, seconds: throttled });
    const throttled_by = this.#timer === undefined ? [] : throttling.brokers;
    telemetry.lag({
      pipeline_id,
      partitions: this.#held.size,
      uncommitted,
      ...(isKnown && { lag, ...(lag_seconds !== undefined && { lag_seconds }) }),
      ...(partitions.length > 0 && { by_partition: mostLagging(partitions) }),
      ...this.#heldBack(),
      ...(throttled_by.length > 0 && { throttled_by }),
    });
  }

  #reportBytes(): void {
    const { pipeline_id, telemetry } = this.#options;
    const bytes = this.#bytes;
    if (bytes.leader + bytes.follower === 0) return;
    this.#bytes = { leader: 0, follower: 0 };
    telemetry.fetched({ pipeline_id, ...bytes });
  }

  #lagOf(feed: Feed): PartitionLag {
    const place = partitionOf(feed);
    const end = this.#countedEnd(feed);
    if (end === undefined) return place;
    const final = this.#finalOf(feed);
    const lag = end.offset - final;
    if (lag === 0) this.#times.caughtUp(feed, end.time);
    const age = this.#times.ageAt(feed, final);
    if (lag === 0) return { ...place, lag, lag_seconds: 0 };
    return { ...place, lag, ...(age !== undefined && { lag_seconds: age / 1000 }) };
  }

  #heldBack(): Pick<SourceLag, "held_back" | "open_transactions"> {
    const held_back = this.#counted.size === 0 ? undefined : this.#transactions.countIn(this.#counted);
    const open_transactions = this.#transactions.long();
    return {
      ...(held_back !== undefined && { held_back }),
      ...(open_transactions.length > 0 && { open_transactions }),
    };
  }
}
