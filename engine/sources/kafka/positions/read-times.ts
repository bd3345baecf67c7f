import type { Feed } from "../../../core/positions.ts";

/** Records of a partition that were fetched together. Times in ms since the epoch; undefined where nobody says them. */
export interface FetchedSpan {
  /** The first offset, and the one after the last. */
  from: number;
  end: number;
  /** When the newest record of its first and of its last batch was written. */
  first: number | undefined;
  last: number | undefined;
}

/** A clock of a producer that is so far ahead says nothing of an age, in milliseconds. */
const mostAhead = 60_000;

/** When the records were written that were fetched and are not final, span by span. There are fewer spans than such records. */
export class ReadTimes {
  readonly #spans = new Map<Feed, FetchedSpan[]>();
  /** A time from before what is not final was written, of each partition. */
  readonly #before = new Map<Feed, number>();

  /** Spans were fetched, in order. What had been fetched from their first offset on is read again. */
  fetched(feed: Feed, spans: readonly FetchedSpan[]): void {
    const [first] = spans;
    if (first === undefined) return;
    const known = this.#spans.get(feed) ?? [];
    while ((known.at(-1)?.from ?? -1) >= first.from) known.pop();
    const last = known.at(-1);
    if (last !== undefined) last.end = Math.min(last.end, first.from);
    known.push(...spans);
    this.#spans.set(feed, known);
  }

  /** All that there was of a partition at a time, in ms since the epoch, is final. */
  caughtUp(feed: Feed, at: number): void {
    this.#raise(feed, at);
  }

  /** Forgets all partitions but these. */
  keep(feeds: ReadonlySet<Feed>): void {
    for (const times of [this.#spans, this.#before]) {
      for (const feed of times.keys()) if (!feeds.has(feed)) times.delete(feed);
    }
  }

  /**
   * Milliseconds since the record at an offset was written, if it was fetched, else since the one before it. All before the
   * offset is final, and forgotten. Undefined where neither is known.
   */
  ageAt(feed: Feed, offset: number): number | undefined {
    const spans = this.#spans.get(feed) ?? [];
    const done = spans.findIndex(({ end }) => end > offset);
    const settled = spans.splice(0, done < 0 ? spans.length : done);
    for (const { last } of settled) if (last !== undefined) this.#raise(feed, last);
    const [next] = spans;
    const time = (next !== undefined && next.from <= offset ? next.first : undefined) ?? this.#before.get(feed);
    const age = Date.now() - (time ?? Infinity);
    return age < -mostAhead ? undefined : Math.max(0, age);
  }

  #raise(feed: Feed, time: number): void {
    if (time <= Date.now()) this.#before.set(feed, Math.max(time, this.#before.get(feed) ?? 0));
  }
}
