import type { Event } from "../event/event.ts";

/**
 * Where positions of a source belong: one ordered log of it. A pipeline that is pushed to has one, its stream; one that
 * reads from Kafka has one for each partition of its topic (see `kafkaFeed`).
 */
export type Feed = string;

/** The feed of a pipeline's own stream. */
export const streamFeed: Feed = "";

/**
 * Positions `first`..`last` of a feed, both included, that hold `count` events. Ranges are ranges, not counts: there may
 * be gaps, and behind the last event positions that hold none.
 */
export interface PositionRange {
  feed: Feed;
  /** What `position` 0 of this range's events stands for (see `Places`). */
  base: number;
  first: number;
  last: number;
  count: number;
}

/** What a source hands out at once: events of one feed, in order. It has nothing else up to `last`, which is included. */
export interface Chunk {
  feed: Feed;
  /** Their `position` is that of their feed. */
  events: Event[];
  last: number;
}

/** A range as a person reads it. */
export function rangeText({ feed, first, last }: PositionRange): string {
  return `${first} to ${last}${feed === streamFeed ? "" : ` of ${feed}`}`;
}

/** Each range has room for so many positions: 2^40. */
const room = 2 ** 40;

/**
 * The places of a batch's events. A batch may hold events of several feeds, so the position of an event within its batch
 * is one number that names both: the range's place in the record, times 2^40, plus how far the event is behind the
 * range's `base`. The stream's base is 0, so there it is the sequence itself.
 */
export class Places {
  readonly ranges: PositionRange[] = [];

  /** With the ranges of a record, events of a replay get the positions that they had. */
  constructor(recorded: readonly PositionRange[] = []) {
    for (const { feed, base } of recorded) this.ranges.push({ feed, base, first: base, last: base - 1, count: 0 });
  }

  /** Gives the events of a chunk their positions within the batch. */
  take({ feed, events, last }: Chunk): void {
    const index = this.#indexOf(feed, events[0]?.position ?? last);
    const range = this.ranges[index]!;
    if (range.count === 0 && events.length > 0) range.first = events[0]!.position;
    range.last = last;
    range.count += events.length;
    const shift = index * room - range.base;
    if (shift === 0) return;
    for (const event of events) event.position += shift;
  }

  #indexOf(feed: Feed, first: number): number {
    const found = this.ranges.findIndex((range) => range.feed === feed);
    if (found !== -1) return found;
    const base = feed === streamFeed ? 0 : first;
    this.ranges.push({ feed, base, first, last: first - 1, count: 0 });
    return this.ranges.length - 1;
  }
}

/** The position of an event in its feed, by its place in a batch; undefined where the batch has no such range. */
export function placeOf(
  ranges: readonly PositionRange[],
  position: number,
): { feed: Feed; position: number } | undefined {
  const range = ranges[Math.floor(position / room)];
  return range && { feed: range.feed, position: range.base + (position % room) };
}

/** The parts of ranges that positions within their batch lie in. Ranges without any stay, as their place counts, with nothing in them. */
export function narrowed(ranges: readonly PositionRange[], positions: readonly number[]): PositionRange[] {
  const narrow = ranges.map(({ feed, base }) => ({ feed, base, first: base, last: base - 1, count: 0 }));
  for (const position of positions) {
    const place = placeOf(narrow, position);
    if (place === undefined) continue;
    const range = narrow[Math.floor(position / room)]!;
    const own = place.position;
    if (range.count === 0 || own < range.first) range.first = own;
    if (own > range.last) range.last = own;
    range.count += 1;
  }
  return narrow;
}
