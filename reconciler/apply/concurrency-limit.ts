/**
 * Runs at most `count` pieces of work at a time, in the order in which they came. Work that takes longer than
 * `longest` milliseconds no longer counts: a stop may drain for minutes, and must not delay the work after it.
 */
export class ConcurrencyLimit {
  readonly #longest: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number, longest = 1_000) {
    this.#free = count;
    this.#longest = longest;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((go) => this.#waiting.push(go));
    let isCounted = true;
    const release = (): void => {
      if (!isCounted) return;
      isCounted = false;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
    const timer = setTimeout(release, this.#longest);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      release();
    }
  }
}
