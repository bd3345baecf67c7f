import type { Event } from "../event/event.ts";

/**
 * One ordered log of a source, in which its positions count. A pipeline with pushed events has one, its stream; one
 * that reads from Kafka has one for each partition of its topic (see `kafkaFeed`).
 *
 * A feed does not say of which kind it is, so no kind may take the feed of another for its own (see
 * `SourceOrigin.ofFeed`). Begin the feeds of a new kind with its name and a colon.
 */
export type Feed = string;

/** The feed of a pipeline's own stream. */
export const streamFeed: Feed = "";

/** The feed of the rows that the join of a pipeline makes. */
export const joinFeed: Feed = "join:";

declare const of: unique symbol;

/**
 * A position in a feed: an offset of a partition, a sequence of a stream. A plain number may become an offset or a
 * place, but an offset never becomes a place, nor a place an offset.
 */
export type Offset = number & { readonly [of]?: "feed" };

/** Which event of its batch, from the batch's record alone (see `Places`); of a dead letter that is sent again, its number. */
export type Place = number & { readonly [of]?: "batch" };

/**
 * The events at the offsets `first`..`last` of a feed, both included. Offsets may have gaps, and after the last event
 * there may be offsets without one, so `count` says how many events there are.
 */
export interface PositionRange {
  feed: Feed;
  /** The offset that the first place of this range stands for (see `Places`). */
  base: Offset;
  first: Offset;
  last: Offset;
  count: number;
  /** See `Chunk`: that of `last`. */
  epoch?: number;
}

/**
 * What a source returns at once: events of one feed, in order. The feed has no others up to `last`, which is included.
 */
export interface Chunk {
  feed: Feed;
  /** Their `position` is the offset in their feed, until a batch takes them: then it is their place. */
  events: Event[];
  last: Offset;
  /**
   * Who had written the feed up to `last`, where several may: a number that rises with each (the elections of a partition).
   * What has the same offset and another epoch is another event.
   */
  epoch?: number;
  /** Those of the events that are too large to be processed; absent where none is. */
  oversized?: ReadonlySet<Offset>;
}

/** A range as logs and errors print it; `nameOf` names its feed. */
export function rangeText({ feed, first, last }: PositionRange, nameOf = (one: Feed): string => one): string {
  const name = feed === joinFeed ? "the rows of the join" : nameOf(feed);
  return `${first} to ${last}${feed === streamFeed ? "" : ` of ${name}`}`;
}

/** The number of places in each range: 2^40. */
const room = 2 ** 40;

/**
 * The places of a batch's events. A batch may hold events of several feeds, so one number names both the feed and the
 * offset: the index of the range in the record, times 2^40, plus the distance of the event from the range's `base`.
 */
export class Places {
  readonly ranges: PositionRange[] = [];

  /** With the ranges of a record, events of a replay get the places that they had. */
  constructor(recorded: readonly PositionRange[] = []) {
    for (const { feed, base } of recorded) this.ranges.push(emptyRange(feed, base));
  }

  /** Gives the events of a chunk their places: from then on these are their positions. */
  take({ feed, events, last, epoch }: Chunk): void {
    const index = this.#indexOf(feed, events[0]?.position ?? last);
    const range = this.ranges[index]!;
    if (range.count === 0 && events.length > 0) range.first = events[0]!.position;
    range.last = last;
    if (epoch !== undefined) range.epoch = epoch;
    else if (range.epoch !== undefined) delete range.epoch;
    range.count += events.length;
    const shift = index * room - range.base;
    if (shift === 0) return;
    for (const event of events) event.position += shift;
  }

  #indexOf(feed: Feed, first: Offset): number {
    const found = this.ranges.findIndex((range) => range.feed === feed);
    if (found !== -1) return found;
    this.ranges.push(emptyRange(feed, first));
    return this.ranges.length - 1;
  }
}

/** The feed and the offset of an event, by its place in a batch; undefined where the batch has no such range. */
export function offsetAt(ranges: readonly PositionRange[], place: Place): { feed: Feed; position: Offset } | undefined {
  const range = ranges[Math.floor(place / room)];
  return range && { feed: range.feed, position: range.base + (place % room) };
}

/**
 * The parts of ranges that places lie in. A range without any of them stays, with no events in it: the places depend on
 * the index of each range.
 */
export function narrowed(ranges: readonly PositionRange[], places: readonly Place[]): PositionRange[] {
  const narrow = ranges.map(({ feed, base }) => emptyRange(feed, base));
  for (const place of places) {
    const offset = offsetAt(narrow, place)?.position;
    if (offset === undefined) continue;
    const range = narrow[Math.floor(place / room)]!;
    if (range.count === 0 || offset < range.first) range.first = offset;
    if (offset > range.last) range.last = offset;
    range.count += 1;
  }
  return narrow;
}

function emptyRange(feed: Feed, base: Offset): PositionRange {
  return { feed, base, first: base, last: base - 1, count: 0 };
}

/** A partition that is read again. */
export interface RewoundPartition {
  feed: Feed;
  topic: string;
  partition: number;
  /** The next offset now, and the one to go on at. */
  from: Offset;
  to: Offset;
  /** The first offset that the brokers have. */
  first: Offset;
  /** With dedup: of those that are read again, how many have a timestamp within its window. */
  recent?: number;
}

/** What a rewind does. */
export interface RewindPlan {
  pipeline_id: string;
  partitions: RewoundPartition[];
  /** Offsets that are read again. Some may hold no event. */
  events: number;
  /** Keys that dedup remembers: events that have one are dropped. Absent without dedup. */
  keys?: number;
  /** With dedup: offsets within its window, of which it drops what it has seen, by the times of the messages. */
  recent?: number;
}
