/** Choices that a seed decides, so that a failing run can be run again (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 up to and without `below`. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  pick<Value>(...values: readonly Value[]): Value {
    return this.oneOf(values);
  }

  /** One of a list that may have more values than a call takes arguments. */
  oneOf<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const copy = [...items];
    for (let at = copy.length - 1; at > 0; at -= 1) {
      const other = this.below(at + 1);
      [copy[at], copy[other]] = [copy[other] as Item, copy[at] as Item];
    }
    return copy;
  }
}
