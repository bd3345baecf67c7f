/** The most units of memory, and the most steps, of one evaluation. */
export const UNITS = 1_000_000;

/** Characters of text that count as one step: when read, and when made. */
const READ_PER_STEP = 64;
export const MADE_PER_STEP = 16;

/** Thrown inside an evaluation that exceeds its budget; `compile.ts` adds the place. */
export class BudgetExceeded extends Error {}

/**
 * The limits of one evaluation (docs/reference/expressions.md, Limits). Memory counts the items of arrays and maps that
 * are made, and repeated text. Steps limit the time, and other memory: items that are visited or copied, and text that
 * is read or made.
 */
export class Budget {
  #memory = UNITS;
  #steps = UNITS;

  reset(): void {
    this.#memory = UNITS;
    this.#steps = UNITS;
  }

  /** For items that are about to be made. */
  allocate(units: number): void {
    this.#memory -= units;
    if (!(this.#memory > 0)) throw new BudgetExceeded();
  }

  /** For items that are about to be visited. */
  step(count: number): void {
    this.#steps -= count;
    if (!(this.#steps > 0)) throw new BudgetExceeded();
  }

  /** For a text of this length that is about to be made. */
  make(length: number): void {
    this.step(1 + Math.floor(length / MADE_PER_STEP));
  }

  /** For a text of this length that is about to be searched or compared. */
  read(length: number): void {
    this.step(1 + Math.floor(length / READ_PER_STEP));
  }
}
