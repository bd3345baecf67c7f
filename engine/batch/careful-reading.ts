import type { BatchBuilder, Refusal } from "./builder.ts";
import { mostEventBytes, threadDeath, tooLarge } from "../core/dead-letter.ts";
import { rangesOf, type BatchRecord } from "../core/journal.ts";
import { offsetAt, type Chunk, type Feed, type Offset } from "../core/positions.ts";

/** An event of a feed. */
export interface EventPlace {
  feed: Feed;
  position: Offset;
}

/** An event on which threads have died, with their error. */
export interface DeadlyEvent extends EventPlace {
  error: string;
}

/**
 * How a pipeline reads after one of its threads died: carefully, and without the events that are known to end a thread.
 */
export interface Care {
  deadly: DeadlyEvent[];
}

/** Careful reading covers this many events. No batch holds more, so that it covers the event on which a thread died. */
const carefulEvents = 500_000;
/** Batches are small during careful reading, so that a thread does not die of the number of events. */
const carefulBatch = 1_000;

/**
 * Adds chunks of a source to a batch. For a while after a thread has died it reads carefully: one event at a time, each
 * reported to the process before and after it is processed, so that the process knows on which event another thread
 * dies.
 */
export class CarefulReading {
  readonly #note: (event: EventPlace | undefined) => void;
  readonly #deadly: ReadonlyMap<string, Refusal>;
  #left: number;

  /** `note` is called with the event that is processed next, and with undefined when it is done. */
  constructor(care: Care | undefined, note: (event: EventPlace | undefined) => void) {
    this.#note = note;
    this.#deadly = new Map(
      care?.deadly.map(({ error, ...place }) => [keyOf(place), { reason: threadDeath, error }] as const),
    );
    this.#left = care === undefined ? 0 : carefulEvents;
  }

  /** Events that a batch may hold. */
  get mostEvents(): number {
    return this.#left > 0 ? carefulBatch : Infinity;
  }

  take(builder: BatchBuilder, chunk: Chunk): void {
    const isCareful = this.#left > 0;
    if (isCareful) this.#left -= chunk.events.length;
    if (!isCareful && this.#deadly.size === 0 && chunk.oversized === undefined) {
      builder.take(chunk);
      return;
    }
    takeEach(builder, chunk, this.#deadly, isCareful ? this.#note : () => undefined);
  }
}

/** Adds a chunk that was read again for a record: the events that the record refused before a transform are refused again. */
export function takeAgain(builder: BatchBuilder, chunk: Chunk, record: BatchRecord): void {
  const refused = record.rejections.flatMap(({ reason, position, error }): [string, Refusal][] => {
    const isOfReading = reason === threadDeath || reason === tooLarge;
    const event = isOfReading ? offsetAt(rangesOf(record), position) : undefined;
    return event === undefined ? [] : [[keyOf(event), { reason, error }]];
  });
  if (refused.length === 0) builder.take(chunk);
  else takeEach(builder, chunk, new Map(refused), () => undefined);
}

function takeEach(
  builder: BatchBuilder,
  { feed, events, last, oversized, epoch }: Chunk,
  refused: ReadonlyMap<string, Refusal>,
  note: (event: EventPlace | undefined) => void,
): void {
  for (const event of events) {
    // Its position changes when the batch takes it.
    const place = { feed, position: event.position };
    const one: Chunk = { feed, events: [event], last: event.position };
    const isOversized = oversized?.has(place.position) === true;
    const refusal = isOversized ? oversizedBy(event.size) : refused.get(keyOf(place));
    if (refusal !== undefined) {
      builder.refuse(one, refusal);
      continue;
    }
    note(place);
    builder.take(one);
    note(undefined);
  }
  builder.take({ feed, events: [], last, ...(epoch !== undefined && { epoch }) });
}

function oversizedBy(size: number): Refusal {
  const found = `expected an event of at most ${mostEventBytes} bytes, found ${size}`;
  return { reason: tooLarge, error: `${found}: this letter holds its beginning alone, its topic has all of it` };
}

function keyOf({ feed, position }: EventPlace): string {
  return `${position} ${feed}`;
}
