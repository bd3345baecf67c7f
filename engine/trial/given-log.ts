import { Event } from "../event/event.ts";
import { Arrivals } from "../flow/arrivals.ts";
import type { Chunk, PositionRange } from "../core/positions.ts";
import type { Source } from "../core/source.ts";
import { kafkaFeed } from "../sources/kafka/positions/feed.ts";

/**
 * A log in memory, read in place of the topics of a pipeline: each topic has one partition, whose offsets begin at 0.
 * Events of all topics are read in the order in which they were given.
 */
export class GivenLog implements Source {
  readonly keepsReading = true;
  readonly waitsForSettled = false;
  readonly #arrivals = new Arrivals();
  readonly #feeds = new Map<string, Event[]>();
  /** Those that were not read yet, in the order of all topics. */
  readonly #unread: { feed: string; event: Event }[] = [];
  #given = 0;
  #settled = 0;
  #isDraining = false;

  /** Whether every event that was given is final. */
  get isSettled(): boolean {
    return this.#settled === this.#given;
  }

  /** Adds one message to a topic. */
  give(topic: string, bytes: Buffer): void {
    const feed = kafkaFeed({ cluster: "given", topic, partition: 0 });
    const before = this.#feeds.get(feed) ?? [];
    this.#feeds.set(feed, before);
    // A log does not say when an event was received.
    const event = (): Event => new Event(before.length, 0, bytes, 0, bytes.length, topic);
    this.#unread.push({ feed, event: event() });
    before.push(event());
    this.#given += 1;
    this.#arrivals.came();
  }

  open(): Promise<number[]> {
    return Promise.resolve([]);
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  mayWrite(): Promise<void> {
    return Promise.resolve();
  }

  next(limit: number): Promise<Chunk[]> {
    const read = this.#isDraining ? [] : this.#unread.splice(0, limit);
    return Promise.resolve(read.map(({ feed, event }) => ({ feed, events: [event], last: event.position })));
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    for (const { feed, first, last } of ranges) {
      const events = (this.#feeds.get(feed) ?? []).slice(first, last + 1);
      if (events.length > 0) yield { feed, events: events.map((event) => copyOf(event)), last };
    }
  }

  mayHaveCompacted(): Promise<boolean> {
    return Promise.resolve(false);
  }

  wait(count: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    return this.#arrivals.wait(() => this.#unread.length >= count, until, signal);
  }

  acknowledge(ranges: readonly PositionRange[]): void {
    for (const { count } of ranges) this.#settled += count;
  }

  drain(): void {
    this.#isDraining = true;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A batch changes the position of an event that it takes. */
function copyOf({ within, start, end, position, receivedAt, origin }: Event): Event {
  return new Event(position, receivedAt, within!, start, end, origin);
}
