import { setImmediate as nextTurn } from "node:timers/promises";
import { Arrivals } from "../../../engine/flow/arrivals.ts";
import { Event } from "../../../engine/event/event.ts";
import { nextPosition, type Journal } from "../../../engine/core/journal.ts";
import type { Chunk, Feed, PositionRange } from "../../../engine/core/positions.ts";
import { kafkaPartition } from "../../../engine/sources/kafka/positions/feed.ts";
import type { Source } from "../../../engine/core/source.ts";
import { modelEvent, takeShortRead, withoutLast, type ModelEvent, type ModelSourceLog } from "./events.ts";

/** Each partition begins here, and has an offset without an event behind each event. */
const firstOffset = 100;

interface Stored {
  id: number;
  offset: number;
  text: string;
}

/** The topics of a model: its partitions belong to them in turn. */
export const modelTopics = ["topic", "other"] as const;

/** Topics in memory: events in turn to their partitions, whose offsets have gaps. Only compaction removes some. */
export class ModelTopic implements ModelSourceLog {
  readonly events: Event[] = [];
  readonly partitions = new Map<Feed, Stored[]>();
  readonly arrivals = new Arrivals();
  shortReads = 0;
  readonly missed = new Set<number>();
  /** The ids of the events that compaction has removed. */
  readonly #removed = new Set<number>();

  /** `topics`: how many there are. */
  constructor(partitions: number, topics = 1) {
    for (let partition = 0; partition < partitions; partition += 1)
      this.partitions.set(`cluster/${modelTopics[partition % topics]}/${partition}`, []);
  }

  push(list: readonly Omit<ModelEvent, "id">[]): void {
    const feeds = [...this.partitions];
    for (const one of list) {
      const id = this.events.length + 1;
      const [feed, stored] = feeds[id % feeds.length]!;
      const text = JSON.stringify({ id, ...one, source: originOf(feed) });
      stored.push({ id, offset: firstOffset + 2 * stored.length, text });
      this.events.push(new Event(id, 0, Buffer.from(text)));
    }
    this.arrivals.came();
  }

  /** Removes all but the newest event of each key, partition by partition. */
  compact(): void {
    for (const stored of this.partitions.values()) {
      const newest = new Map(stored.map(({ id }) => [modelEvent(this.events[id - 1]!).key, id]));
      const kept = new Set(newest.values());
      for (const { id } of stored) {
        if (kept.has(id)) continue;
        this.#removed.add(id);
        this.missed.add(id);
      }
    }
  }

  get isCompacted(): boolean {
    return this.#removed.size > 0;
  }

  missedIn(ranges: readonly PositionRange[]): number[] {
    const stored = ranges.flatMap(({ feed, first, last }) => this.#storedIn(feed, first, last));
    return stored.map(({ id }) => id).filter((id) => this.missed.has(id));
  }

  /** A pipeline that is terminated goes on where it stood: what is in the topic is read later. */
  drop(): number {
    return 0;
  }

  isRead(journal: Journal, pipeline_id: string): boolean {
    const { positions } = journal.progress(pipeline_id);
    return [...this.partitions].every(([feed, stored]) => {
      const last = stored.at(-1)?.offset;
      return last === undefined || (positions[feed] ?? -1) >= last;
    });
  }

  read(feed: Feed, first: number, last: number, limit: number): Event[] {
    return this.#storedIn(feed, first, last)
      .filter(({ id }) => !this.#removed.has(id))
      .slice(0, limit)
      .map(({ offset, text }) => {
        const bytes = Buffer.from(text);
        return new Event(offset, 0, bytes, 0, bytes.length, originOf(feed));
      });
  }

  #storedIn(feed: Feed, first: number, last: number): Stored[] {
    const stored = this.partitions.get(feed) ?? [];
    return stored.filter(({ offset }) => offset >= first && offset <= last);
  }

  reading(journal: Journal, pipeline_id: string): Source {
    const [progress, pending] = [journal.progress(pipeline_id), journal.pending(pipeline_id)];
    const next = [...this.partitions.keys()].map((feed): [Feed, number] => [
      feed,
      nextPosition(feed, progress, pending) ?? firstOffset,
    ]);
    return new ModelTopicSource(this, new Map(next));
  }
}

function originOf(feed: Feed): string {
  return kafkaPartition(feed)!.topic;
}

/** Reads the partitions in turn, a few events each. What a stop finds begun is given up. */
class ModelTopicSource implements Source {
  readonly keepsReading = false;
  readonly waitsForSettled = false;
  readonly #topic: ModelTopic;
  readonly #next: Map<Feed, number>;
  #turn = 0;
  #isDraining = false;

  constructor(topic: ModelTopic, next: Map<Feed, number>) {
    this.#topic = topic;
    this.#next = next;
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
    if (this.#isDraining) return Promise.resolve([]);
    const feeds = [...this.#next.keys()];
    for (let tried = 0; tried < feeds.length; tried += 1) {
      const feed = feeds[(this.#turn += 1) % feeds.length]!;
      const events = this.#topic.read(feed, this.#next.get(feed)!, Infinity, Math.min(limit, 2));
      if (events.length === 0) continue;
      // The offset behind the last event holds nothing, and counts as read.
      const last = events.at(-1)!.position + 1;
      this.#next.set(feed, last + 1);
      return Promise.resolve([{ feed, events, last }]);
    }
    return Promise.resolve([]);
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    const isShort = takeShortRead(this.#topic);
    for (const { feed, first, last } of ranges) {
      const events = this.#topic.read(feed, first, last, Infinity);
      if (events.length > 0) yield { feed, events: isShort ? withoutLast(events, this.#topic.missed) : events, last };
    }
  }

  mayHaveCompacted(): Promise<boolean> {
    return Promise.resolve(this.#topic.isCompacted);
  }

  async wait(_count: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    // No time passes in a model: a turn of the event loop is as long as any.
    await nextTurn();
    if (until !== undefined) return;
    const hasMore = () => [...this.#next].some(([feed, next]) => this.#topic.read(feed, next, Infinity, 1).length > 0);
    await this.#topic.arrivals.wait(hasMore, undefined, signal);
  }

  acknowledge(): void {}

  drain(): void {
    this.#isDraining = true;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
