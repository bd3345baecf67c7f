/** Over how many whole seconds the rate is taken. */
const span = 10;

/** How many rows were written per second, over the last ten whole seconds of the monotonic clock. */
export class RowRate {
  /** The rows of each of the last seconds, and of the present one, by the second modulo their number. */
  readonly #rows = new Float64Array(span + 1);
  #second = secondNow();

  add(rows: number): void {
    this.#advance();
    this.#rows[this.#second % this.#rows.length]! += rows;
  }

  get perSecond(): number {
    this.#advance();
    const present = this.#rows[this.#second % this.#rows.length]!;
    return (this.#rows.reduce((sum, rows) => sum + rows, 0) - present) / span;
  }

  #advance(): void {
    const now = secondNow();
    const passed = Math.min(now - this.#second, this.#rows.length);
    for (let back = 0; back < passed; back += 1) this.#rows[(now - back) % this.#rows.length] = 0;
    this.#second = now;
  }
}

function secondNow(): number {
  return Math.floor(performance.now() / 1000);
}
