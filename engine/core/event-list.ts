import { Event } from "./batch.ts";

/** What two numbers of each event are noted in: where it starts and ends in its bytes; its position and its time. */
const pair = 2;
const fewest = 256;

/**
 * Events that are kept as nothing but places in the bytes that they lie in. A batch may hold half a million of them, of
 * which few are ever asked for again; as objects they would cost more than all else that is done with them.
 */
export class EventList implements Iterable<Event> {
  /** What events lie in and where they came from, each for a run of them, and where the runs begin. */
  readonly #within: Buffer[] = [];
  readonly #origins: (string | undefined)[] = [];
  readonly #runs: number[] = [];
  #places = new Int32Array(pair * fewest);
  #times = new Float64Array(pair * fewest);
  #length = 0;

  static of(events: Iterable<Event>): EventList {
    const list = new EventList();
    for (const event of events) list.push(event);
    return list;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds an event as it was received; one that a transform made has no place to be kept by. */
  push({ within, start, end, position, receivedAt, origin }: Event): void {
    if (within === undefined) throw new Error("expected an event with the bytes that were received");
    if (within !== this.#within.at(-1) || origin !== this.#origins.at(-1)) {
      this.#within.push(within);
      this.#origins.push(origin);
      this.#runs.push(this.#length);
    }
    const at = pair * this.#length;
    if (at === this.#places.length) this.#grow();
    this.#places[at] = start;
    this.#places[at + 1] = end;
    this.#times[at] = position;
    this.#times[at + 1] = receivedAt;
    this.#length += 1;
  }

  /** The event at an index below the length. */
  at(index: number): Event {
    return this.#in(this.#runOf(index), index);
  }

  positionAt(index: number): number {
    return this.#times[pair * index]!;
  }

  /** The events from one index until before another. */
  slice(first: number, last: number): Event[] {
    const events: Event[] = [];
    let run = first < last ? this.#runOf(first) : 0;
    for (let index = first; index < Math.min(last, this.#length); index += 1) {
      if (this.#runs[run + 1] === index) run += 1;
      events.push(this.#in(run, index));
    }
    return events;
  }

  /** Those that are not at these positions. */
  without(positions: ReadonlySet<number>): EventList {
    if (positions.size === 0) return this;
    const left = new EventList();
    for (const event of this) if (!positions.has(event.position)) left.push(event);
    return left;
  }

  *[Symbol.iterator](): Generator<Event> {
    for (let run = 0; run < this.#runs.length; run += 1) {
      const next = this.#runs[run + 1] ?? this.#length;
      for (let index = this.#runs[run]!; index < next; index += 1) yield this.#in(run, index);
    }
  }

  #in(run: number, index: number): Event {
    const at = pair * index;
    const [position, receivedAt] = [this.#times[at]!, this.#times[at + 1]!];
    const [start, end] = [this.#places[at], this.#places[at + 1]];
    return new Event(position, receivedAt, this.#within[run]!, start, end, this.#origins[run]);
  }

  /** The last run that begins at an index or before it. */
  #runOf(index: number): number {
    let [low, high] = [0, this.#runs.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#runs[middle]! <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #grow(): void {
    const [places, times] = [this.#places, this.#times];
    this.#places = new Int32Array(2 * places.length);
    this.#times = new Float64Array(2 * times.length);
    this.#places.set(places);
    this.#times.set(times);
  }
}
