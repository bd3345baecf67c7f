import type { Caller } from "../core/push.ts";
import { TurnMissed, WaitingLine } from "./waiting-line.ts";

/** Of whom callers come: a connection. */
export interface Origin {
  /** Bytes that it has sent so far. */
  readonly sent: number;
}

/** A place that is taken until it is given back. */
export interface Place {
  /** Is called, perhaps again and again, while it is needed for another caller, as nothing comes for it. */
  onNeeded: () => void;
  giveBack(): void;
}

interface Taken {
  place: Place;
  origin: Origin;
  /** When it was taken, by the monotonic clock, and what its origin had sent by then. */
  since: number;
  sent: number;
}

interface Waiting {
  caller: Caller;
  origin: Origin;
  begin: (place: Place) => void;
  miss: (missed: TurnMissed) => void;
}

/** Milliseconds for which something has to come for a place before another caller may need it. */
const least = 1_000;

/** Bytes a second, for each place of an origin, below which nothing comes. */
const leastRate = 16 * 1024;

/** Milliseconds between two looks for places that are needed, while callers wait. */
const lookAgain = 250;

/**
 * A number of places for what arrives. A caller that finds none free waits in line: the next free one goes to the origin
 * that has the fewest. A place for which nothing comes is needed then, so that senders who send nothing lock out nobody.
 */
export class Places {
  readonly #line: WaitingLine<Waiting>;
  readonly #taken = new Set<Taken>();
  readonly #count: number;
  #isWatched = false;

  /** `most` is the longest wait, in milliseconds. */
  constructor(count: number, most: number) {
    this.#count = count;
    this.#line = new WaitingLine<Waiting>({ most, isGone: ({ caller }) => caller.isGone }, ({ miss }, missed) =>
      miss(missed),
    );
  }

  /** Resolves when the caller has a place. Rejects with TurnMissed. */
  take(caller: Caller, origin: Origin): Promise<Place> {
    if (this.#taken.size < this.#count) return Promise.resolve(this.#give(origin));
    this.#watch();
    return new Promise((begin, miss) => this.#line.add({ caller, origin, begin, miss }));
  }

  #give(origin: Origin): Place {
    const place: Place = { onNeeded: () => undefined, giveBack: () => this.#giveBack(taken) };
    const taken = { place, origin, since: performance.now(), sent: origin.sent };
    this.#taken.add(taken);
    return place;
  }

  #giveBack(taken: Taken): void {
    if (!this.#taken.delete(taken)) return;
    this.#line.sift();
    const counts = this.#counts();
    const next = this.#line.takeBy(({ origin }) => counts.get(origin) ?? 0);
    if (next !== undefined) next.begin(this.#give(next.origin));
  }

  /** How many places each origin has that has any: counted once, as any number of callers may wait. */
  #counts(): ReadonlyMap<Origin, number> {
    const counts = new Map<Origin, number>();
    for (const { origin } of this.#taken) counts.set(origin, (counts.get(origin) ?? 0) + 1);
    return counts;
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    setTimeout(() => {
      this.#isWatched = false;
      this.#line.sift();
      if (this.#line.length === 0) return;
      const counts = this.#counts();
      const idle = [...this.#taken].filter((taken) => isIdle(taken, counts.get(taken.origin)!));
      for (const { place } of idle.slice(0, this.#line.length)) place.onNeeded();
      this.#watch();
    }, lookAgain).unref();
  }
}

/** Whether nothing comes for it; `count`: the places of its origin, which share what that sends. */
function isIdle({ origin, since, sent }: Taken, count: number): boolean {
  const age = performance.now() - since;
  return age >= least && (origin.sent - sent) / (age / 1_000) < leastRate * count;
}
