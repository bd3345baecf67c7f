/** Units of memory, and steps, that one evaluation may use. */
export const UNITS = 1_000_000;

/** Characters of text that are read for one step, and that are made for one. */
const READ_PER_STEP = 64;
export const MADE_PER_STEP = 16;

/** Thrown inside an evaluation that used up its budget; `compile.ts` gives it a place. */
export class BudgetExceeded extends Error {}

/**
 * What bounds one evaluation (docs/reference/expressions.md, Limits). Memory counts the items of arrays and maps
 * that are made, and repeated text. Steps bound the time, and what else takes memory: items that are visited or copied,
 * and text that is read or made.
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
