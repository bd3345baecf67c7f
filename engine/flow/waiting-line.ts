/** How long something may wait for its turn. */
export interface Patience<Item> {
  /** The longest wait, in milliseconds; `Infinity` is unlimited. */
  most: number;
  /** Whether nobody waits for an item any more. */
  isGone: (item: Item) => boolean;
}

/** Work missed its turn: it was not begun, and never will be. */
export class TurnMissed extends Error {
  /** `gone`: nobody waits for it any more. `late`: it has waited for as long as it may. */
  readonly because: "gone" | "late";

  constructor(because: TurnMissed["because"]) {
    super(
      because === "gone"
        ? "the sender has gone before its request had its turn: nothing of it is stored"
        : "too much is waiting: this request had no turn in time, and nothing of it is stored; send it again later",
    );
    this.name = "TurnMissed";
    this.because = because;
  }
}

/**
 * What waits for its turn, in its order. With patience, an item leaves without a turn when it has waited for too long, or
 * when nobody waits for it any more by the time of its turn.
 */
export class WaitingLine<Item> {
  readonly #patience: Patience<Item> | undefined;
  readonly #missed: (item: Item, missed: TurnMissed) => void;
  #items: Item[] = [];
  /** When each may wait no longer, by the monotonic clock. */
  #until: number[] = [];
  #isWatched = false;

  /** `missed` is called for each item that leaves without a turn. */
  constructor(patience: Patience<Item> | undefined, missed: (item: Item, missed: TurnMissed) => void) {
    this.#patience = patience;
    this.#missed = missed;
  }

  get length(): number {
    return this.#items.length;
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (this.#patience === undefined) return;
    const { most } = this.#patience;
    this.#until.push(performance.now() + most);
    if (!this.#isWatched && most !== Infinity) this.#watch(most);
  }

  /** The next items have their turn, at most `count`; `sift` comes first where it matters that somebody waits for them. */
  take(count: number): Item[] {
    this.#until.splice(0, count);
    return this.#items.splice(0, count);
  }

  /** The item has its turn for which `rank` is the least, of several the first; undefined where nothing waits. */
  takeBy(rank: (item: Item) => number): Item | undefined {
    let best = 0;
    let least = Infinity;
    for (const [index, item] of this.#items.entries()) {
      const own = rank(item);
      if (own >= least) continue;
      [best, least] = [index, own];
      if (own <= 0) break;
    }
    this.#until.splice(best, 1);
    return this.#items.splice(best, 1)[0];
  }

  /** Those for which nobody waits any more leave. */
  sift(): void {
    if (this.#patience === undefined) return;
    const { isGone } = this.#patience;
    // Most of the time nobody has gone.
    if (!this.#items.some(isGone)) return;
    const [items, until] = [this.#items, this.#until];
    [this.#items, this.#until] = [[], []];
    for (const [index, item] of items.entries()) {
      if (isGone(item)) this.#missed(item, new TurnMissed("gone"));
      else {
        this.#items.push(item);
        this.#until.push(until[index]!);
      }
    }
  }

  /** One timer for all: they leave in the order in which they came. */
  #watch(milliseconds: number): void {
    this.#isWatched = true;
    setTimeout(() => this.#look(), milliseconds).unref();
  }

  #look(): void {
    const now = performance.now();
    const late = this.#until.findIndex((until) => until > now);
    for (const item of this.take(late === -1 ? this.length : late)) this.#missed(item, new TurnMissed("late"));
    const [next] = this.#until;
    if (next === undefined) this.#isWatched = false;
    else this.#watch(Math.ceil(next - now));
  }
}
