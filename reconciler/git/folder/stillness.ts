import type { Settling } from "../revision.ts";

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
  /** When the folder moved last, as far as is known. */
  #since = 0;
  #changed: string | undefined;

  /** `settle`: milliseconds that the folder has to stand still; 0 where it never waits. `now`: a monotonic clock, in milliseconds. */
  constructor(settle: number, now: () => number) {
    this.#settle = settle;
    this.#now = now;
  }

  /** Notes a change that was reported, which two readings may not show: a file that is removed and comes back. */
  moved(path: string): void {
    this.#since = this.#now();
    this.#changed = path;
  }

  /** Forgets what was seen: the folder cannot be read. */
  lost(): void {
    this.#seen = undefined;
    this.#changed = undefined;
  }

  /** Takes a reading that has just ended. Undefined where the folder has settled. */
  seen(reading: Reading): Settling | undefined {
    const before = this.#seen;
    this.#seen = reading;
    if (before === undefined || !isSame(before, reading)) {
      this.#since = this.#now();
      this.#changed = before && firstDifference(before.looks, reading.looks);
    }
    const at = this.#since + this.#settle;
    if (this.#settle === 0 || reading.began >= at) return undefined;
    return { after: this.#settle, at, ...(this.#changed !== undefined && { changed: this.#changed }) };
  }
}

function isSame(before: Reading, now: Reading): boolean {
  return before.digest === now.digest && firstDifference(before.looks, now.looks) === undefined;
}

function firstDifference(before: Reading["looks"], now: Reading["looks"]): string | undefined {
  for (const [path, text] of now) if (before.get(path) !== text) return path;
  for (const path of before.keys()) if (!now.has(path)) return path;
  return undefined;
}
