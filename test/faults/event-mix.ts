import type { Random } from "../support/random.ts";
import type { Fate } from "./ledger.ts";

/** An event as it is posted. Its fields are those of `pipelineFile`: id (string) and n (int, for a column of Int32). */
export interface PostedEvent {
  id: string;
  fate: Fate;
  body: string;
  /** The same event without its fault, which is posted as soon as this one is accepted. */
  mended?: PostedEvent;
}

export interface Mix {
  /** Every tenth event is bad: it breaks the schema, or does not fit its column. */
  withBad: boolean;
  /**
   * Percent of events with an id that was posted before. Some of the bad events are then mended too: the same id once
   * more, and good.
   */
  repeats: number;
}

/** Ids of so many events can come again. Half of the repeats are of the newest few, which meet them in one batch. */
const remembered = 5000;
const newest = 20;
const tooLarge = 3_000_000_000;

/** Events without end, by a seed. */
export class EventMix {
  /** Bytes by which good events are made longer, in a field that goes nowhere. */
  padding = 0;
  readonly #random: Random;
  readonly #mix: Mix;
  readonly #good: number[] = [];
  #next = 0;

  constructor(random: Random, mix: Mix) {
    this.#random = random;
    this.#mix = mix;
  }

  next(): PostedEvent {
    if (this.#good.length > 0 && this.#random.below(100) < this.#mix.repeats) return this.#eventOf(this.#earlier());
    const n = this.#next++;
    if (this.#mix.withBad && n % 10 === 0) return this.#bad(n);
    this.#good[n % remembered] = n;
    return this.#eventOf(n);
  }

  #bad(n: number): PostedEvent {
    if (n % 20 === 0) return { id: idOf(n), fate: "letter", body: JSON.stringify({ id: idOf(n), n: "ten" }) };
    const unfit: PostedEvent = { id: idOf(n), fate: "letter", body: JSON.stringify({ id: idOf(n), n: tooLarge }) };
    return this.#mix.repeats > 0 && n % 40 === 10 ? { ...unfit, mended: this.#eventOf(n) } : unfit;
  }

  #eventOf(n: number): PostedEvent {
    const padded = this.padding === 0 ? {} : { padding: "x".repeat(this.padding) };
    return { id: idOf(n), fate: "row", body: JSON.stringify({ id: idOf(n), n, ...padded }) };
  }

  #earlier(): number {
    const span = Math.min(this.#next, this.#random.pick(newest, remembered));
    for (;;) {
      const n = this.#next - 1 - this.#random.below(span);
      if (this.#good[n % remembered] === n) return n;
    }
  }
}

function idOf(n: number): string {
  return `event-${n}`;
}
