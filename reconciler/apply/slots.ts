/**
 * So many pieces of work at a time, in the order in which they came. Work that takes longer than `patience` milliseconds
 * goes on without its slot: a stop may drain for minutes, and must not hold up what is behind it.
 */
export class Slots {
  readonly #patience: number;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number, patience = 1_000) {
    this.#free = count;
    this.#patience = patience;
  }

  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((go) => this.#waiting.push(go));
    let isHeld = true;
    const giveBack = (): void => {
      if (!isHeld) return;
      isHeld = false;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
    const impatience = setTimeout(giveBack, this.#patience);
    try {
      return await work();
    } finally {
      clearTimeout(impatience);
      giveBack();
    }
  }
}
