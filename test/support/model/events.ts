import { setImmediate as nextTurn } from "node:timers/promises";
import { Arrivals } from "../../../engine/flow/arrivals.ts";
import { Event } from "../../../engine/event/event.ts";
import { nextPosition, type Journal } from "../../../engine/core/journal.ts";
import { streamFeed, type Chunk, type PositionRange } from "../../../engine/core/positions.ts";
import type { Source } from "../../../engine/core/source.ts";

/** What becomes of a model's event: a row, or dead at one of the places where events die; `even` ones are filtered out by even revisions. */
export type Fate = "row" | "transform" | "encoder" | "server" | "even";

export interface ModelEvent {
  /** Its position, from 1. */
  id: number;
  key: string;
  fate: Fate;
  /** The topic that it was pushed to; absent in a stream. Each has keys of its own. */
  source?: string;
  /** The partition of the table that its row belongs to. */
  partition: number;
}

export function modelEvent(event: Event): ModelEvent {
  return event.value as unknown as ModelEvent;
}

/** What a model's events lie in, and how a pipeline reads it. */
export interface ModelSourceLog {
  /** By their ids, from 1. */
  readonly events: readonly (Event | undefined)[];
  push(list: readonly Omit<ModelEvent, "id">[]): void;
  /** So many reads of events that were read before miss the last one, which is there again later. */
  shortReads: number;
  /** The ids of the events that such reads have missed, or that compaction has removed. */
  readonly missed: Set<number>;
  /** Those of them in these ranges. */
  missedIn(ranges: readonly PositionRange[]): number[];
  /** Removes events that newer ones replace; a stream is never compacted. */
  compact(): void;
  readonly isCompacted: boolean;
  /** A termination drops what is behind a position; returns the last id that it may have dropped. */
  drop(position: number): number;
  /** Whether the pipeline has settled everything. */
  isRead(journal: Journal, pipeline_id: string): boolean;
  /** The log as a pipeline reads it from where its journal says that it stands. */
  reading(journal: Journal, pipeline_id: string): Source;
}

/** The log of a source in memory: its events stay, but for those that a termination dropped. */
export class ModelLog implements ModelSourceLog {
  readonly events: (Event | undefined)[] = [];
  readonly arrivals = new Arrivals();
  shortReads = 0;
  readonly missed = new Set<number>();
  readonly isCompacted = false;

  get end(): number {
    return this.events.length;
  }

  push(list: readonly Omit<ModelEvent, "id">[]): void {
    for (const one of list) {
      const id = this.events.length + 1;
      this.events.push(new Event(id, 0, Buffer.from(JSON.stringify({ id, ...one }))));
    }
    this.arrivals.came();
  }

  missedIn(ranges: readonly PositionRange[]): number[] {
    return [...this.missed].filter((id) => ranges.some(({ first, last }) => first <= id && id <= last));
  }

  compact(): void {}

  drop(position: number): number {
    this.events.fill(undefined, position);
    return this.end;
  }

  isRead(journal: Journal, pipeline_id: string): boolean {
    const position = journal.progress(pipeline_id).positions[streamFeed] ?? 0;
    return this.events.slice(position).every((event) => event === undefined);
  }

  /** At most `limit` events of the positions `first`..`last`. */
  read(first: number, last: number, limit: number): Event[] {
    const found = this.events.slice(first - 1, last).filter((event) => event !== undefined);
    // A batch gives the events that it takes other positions.
    return found.slice(0, limit).map(({ position, receivedAt, within, start, end, origin }) => {
      return new Event(position, receivedAt, within!, start, end, origin);
    });
  }

  reading(journal: Journal, pipeline_id: string): Source {
    const position = nextPosition(streamFeed, journal.progress(pipeline_id), journal.pending(pipeline_id));
    return new ModelSource(this, position ?? 1);
  }
}

/** Whether this read of events that were read before misses some. */
export function takeShortRead(log: Pick<ModelSourceLog, "shortReads">): boolean {
  if (log.shortReads === 0) return false;
  log.shortReads -= 1;
  return true;
}

/** These events without the last one, whose id is added to `missed`. */
export function withoutLast(events: readonly Event[], missed: Set<number>): Event[] {
  const last = events.at(-1);
  if (last !== undefined) missed.add(modelEvent(last).id);
  return events.slice(0, -1);
}

class ModelSource implements Source {
  readonly keepsReading = true;
  readonly waitsForSettled = false;
  readonly #log: ModelLog;
  #position: number;
  #lastToRead = Infinity;

  constructor(log: ModelLog, position: number) {
    this.#log = log;
    this.#position = position;
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
    const events = this.#log.read(this.#position, this.#lastToRead, limit);
    const last = events.at(-1)?.position;
    if (last === undefined) return Promise.resolve([]);
    this.#position = last + 1;
    return Promise.resolve([{ feed: streamFeed, events, last }]);
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    const isShort = takeShortRead(this.#log);
    for (const { feed, first, last } of ranges) {
      const events = this.#log.read(first, last, Infinity);
      yield { feed, events: isShort ? withoutLast(events, this.#log.missed) : events, last };
    }
  }

  mayHaveCompacted(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async wait(count: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    // No time passes in a model: a turn of the event loop is as long as any.
    await nextTurn();
    if (until !== undefined) return;
    await this.#log.arrivals.wait(() => this.#position + count - 1 <= this.#log.end, undefined, signal);
  }

  acknowledge(): void {}

  drain(): void {
    this.#lastToRead = this.#log.end;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
