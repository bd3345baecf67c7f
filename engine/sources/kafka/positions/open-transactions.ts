import type { OpenTransaction } from "../../../core/counters.ts";
import type { Feed } from "../../../core/positions.ts";
import { partitionOf } from "./feed.ts";

/** From this age on a transaction is told, in milliseconds: Kafka ends most of those that are left after a minute itself. */
const longAfter = 60_000;
/** So many of them are told. */
const mostTold = 20;

/** The offsets between the last stable one, from which on nothing may be read, and the high watermark. */
interface HeldBack {
  from: number;
  count: number;
  /** When it was seen first: the time that is shown, and the monotonic clock in milliseconds. */
  since: string;
  at: number;
}

/**
 * The transactions of producers that keep partitions from being read further. While one is open, the last stable offset of
 * its partition stays at its first offset.
 */
export class OpenTransactions {
  /** By partition; undefined where none is open. */
  readonly #held = new Map<Feed, HeldBack | undefined>();

  /** What a fetch said of a partition: its last stable offset, and its high watermark. */
  saw(feed: Feed, stable: number, high: number): void {
    const before = this.#held.get(feed);
    if (high <= stable) this.#held.set(feed, undefined);
    else if (before?.from === stable) before.count = high - stable;
    else {
      const since = new Date().toISOString();
      this.#held.set(feed, { from: stable, count: high - stable, since, at: performance.now() });
    }
  }

  /** The last stable offset of a partition, of an answer that has no high watermark. */
  sawStable(feed: Feed, stable: number): void {
    const before = this.#held.get(feed);
    if (before !== undefined && before.from !== stable) this.#held.delete(feed);
  }

  /** Forgets all partitions but these. */
  keep(feeds: ReadonlySet<Feed>): void {
    for (const feed of this.#held.keys()) if (!feeds.has(feed)) this.#held.delete(feed);
  }

  /** The offsets that are held back in these partitions; undefined where that is not known of one. */
  countIn(feeds: ReadonlySet<Feed>): number | undefined {
    let count = 0;
    for (const feed of feeds) {
      if (!this.#held.has(feed)) return undefined;
      count += this.#held.get(feed)?.count ?? 0;
    }
    return count;
  }

  /** Those that have been open for long, the oldest first. */
  long(): OpenTransaction[] {
    const due = performance.now() - longAfter;
    const long = [...this.#held].flatMap(([feed, held]) =>
      held !== undefined && held.at <= due ? { feed, ...held } : [],
    );
    const told = long.toSorted((a, b) => a.at - b.at).slice(0, mostTold);
    return told.map(({ feed, from, since }) => ({ ...partitionOf(feed), offset: from, since }));
  }
}
