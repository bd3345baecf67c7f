import { type Patience, WaitingLine } from "./waiting-line.ts";

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * The items of one write, in the order in which they were added. Each call of `add` waits until its group is answered.
 */
export class Group<Item, Result = void> {
  readonly items: readonly Item[];
  readonly #waiting: readonly Waiting<Item, Result>[];

  constructor(waiting: readonly Waiting<Item, Result>[]) {
    this.#waiting = waiting;
    this.items = waiting.map(({ item }) => item);
  }

  /** Answers each item, in their order, with what `resultOf` gives for it, or with the error that it throws. */
  resolve(resultOf: (item: Item) => Result): void {
    for (const { item, resolve, reject } of this.#waiting) {
      try {
        resolve(resultOf(item));
      } catch (error) {
        reject(error);
      }
    }
  }

  /** Answers all items with an error. */
  reject(error: unknown): void {
    for (const { reject } of this.#waiting) reject(error);
  }
}

export interface GroupCommitOptions<Item, Result> {
  /**
   * Writes a group, and answers it before it resolves, or later where the result is not known yet. The next group
   * begins when it has resolved. An error that it throws answers the whole group.
   */
  write: (group: Group<Item, Result>) => Promise<void>;
  /** Runs the write of a group in its turn among other work on the same file. At once by default. */
  inTurn?: (write: () => Promise<void>) => Promise<void>;
  /** A group takes items up to the one that brings it to `limit`, measured by `sizeOf`. All that wait by default. */
  size?: { sizeOf: (item: Item) => number; limit: number };
  /**
   * Whether an item depends on those before it: when a write throws, the waiting items fail too, up to the first one
   * that does not depend on it. None does by default.
   */
  follows?: (item: Item) => boolean;
  /**
   * How long an item may wait for its group. One that leaves without a turn rejects with TurnMissed, after `missed` was
   * called with it. By default all wait for as long as it takes.
   */
  patience?: Patience<Item> & { missed: (item: Item) => void };
  /** Called when nothing waits any more, before anything else is written. Must not reject. */
  idle?: () => Promise<void>;
}

/**
 * One durable write for many items: those that are added during a write share the next one. Without a write under way
 * an item is written at once. Items are written in the order in which they were added.
 */
export class GroupCommit<Item, Result = void> {
  readonly #options: GroupCommitOptions<Item, Result>;
  readonly #waiting: WaitingLine<Waiting<Item, Result>>;
  #isWriting = false;

  constructor(options: GroupCommitOptions<Item, Result>) {
    const { patience } = options;
    this.#options = options;
    this.#waiting = new WaitingLine(
      patience && { most: patience.most, isGone: ({ item }) => patience.isGone(item) },
      ({ item, reject }, missed) => {
        patience?.missed(item);
        reject(missed);
      },
    );
  }

  /** Whether nothing waits, and no write is under way. */
  get isIdle(): boolean {
    return !this.#isWriting && this.#waiting.length === 0;
  }

  /** Resolves or rejects when the group of this item is answered. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ item, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  /** Writes all that waits, without `inTurn`, for work that has its turn already. Resolves when nothing waits. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeGroup();
  }

  async #writeAll(): Promise<void> {
    const { inTurn, idle } = this.#options;
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      if (inTurn === undefined) await this.#writeGroup();
      else await inTurn(() => this.#writeGroup());
    }
    if (idle !== undefined) await idle();
    this.#isWriting = false;
    if (this.#waiting.length > 0) void this.#writeAll();
  }

  async #writeGroup(): Promise<void> {
    this.#waiting.sift();
    const group = this.#take(this.#nextCount());
    // A flush may have taken all before the turn came, and all may have left.
    if (group.items.length === 0) return;
    try {
      await this.#options.write(group);
    } catch (error) {
      group.reject(error);
      this.#take(this.#followingCount()).reject(error);
    }
  }

  #take(count: number): Group<Item, Result> {
    return new Group(this.#waiting.take(count));
  }

  /** How many of those that wait go into the next group: at least one where any waits. */
  #nextCount(): number {
    const { size } = this.#options;
    if (size === undefined) return this.#waiting.length;
    let count = 0;
    for (let sum = 0; count < this.#waiting.length && (count === 0 || sum < size.limit); count += 1) {
      sum += size.sizeOf(this.#waiting.items[count]!.item);
    }
    return count;
  }

  #followingCount(): number {
    const { follows } = this.#options;
    if (follows === undefined) return 0;
    const first = this.#waiting.items.findIndex(({ item }) => !follows(item));
    return first === -1 ? this.#waiting.length : first;
  }
}
