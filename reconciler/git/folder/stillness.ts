import { type RecentChange, type Settling, settlingAfter } from "../revision.ts";

/** One reading of a folder. */
export interface Reading {
  /** What each file looked like from outside, by path: a text that changes whenever the file does. */
  looks: ReadonlyMap<string, string>;
  /** Of what was read. */
  digest: string;
  /** When it began, by the monotonic clock, in milliseconds. */
  began: number;
}

/**
 * For how long a folder has stood still, and whether its files were read twice the same. Until then it may be half of a
 * copy.
 */
export class Stillness {
  readonly #settle: number;
  readonly #now: () => number;
  #seen: Reading | undefined;
  /** When the folder was first read, or moved in a way that no file tells. */
  #since = 0;
  /** When each file moved last, the newest at the end. */
  readonly #changed = new Map<string, number>();

  /** `settle`: milliseconds that the folder has to stand still; 0 where it never waits. `now`: a monotonic clock, in milliseconds. */
  constructor(settle: number, now: () => number) {
    this.#settle = settle;
    this.#now = now;
  }

  /** Notes a change that was reported, which two readings may not show: a file that is removed and comes back. */
  moved(path: string): void {
    this.#changed.delete(path);
    this.#changed.set(path, this.#now());
  }

  /** Forgets what was seen: the folder cannot be read. */
  lost(): void {
    this.#seen = undefined;
    this.#changed.clear();
  }

  /** Takes a reading that has just ended. Undefined where the folder has settled. */
  seen(reading: Reading): Settling | undefined {
    const before = this.#seen;
    this.#seen = reading;
    const changed = before === undefined ? [] : differences(before.looks, reading.looks);
    for (const path of changed) this.moved(path);
    if (changed.length === 0 && before?.digest !== reading.digest) this.#since = this.#now();
    for (const [path, since] of this.#changed) if (reading.began >= since + this.#settle) this.#changed.delete(path);
    const recent = [...this.#changed].map(([path, since]): RecentChange => ({ path, at: since + this.#settle }));
    const start = this.#since + this.#settle;
    return settlingAfter(this.#settle, recent, reading.began < start ? start : undefined);
  }
}

/** The paths whose looks differ, the first of them last: it is told. */
function differences(before: Reading["looks"], now: Reading["looks"]): string[] {
  const other = [...now].flatMap(([path, text]) => (before.get(path) === text ? [] : [path]));
  const gone = [...before.keys()].filter((path) => !now.has(path));
  return [...other, ...gone].toReversed();
}
