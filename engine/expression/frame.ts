import { Budget } from "./budget.ts";
import type { TextMap } from "./values.ts";

/**
 * What one evaluation works on. Every program has one frame and uses it again for each record, so an evaluation
 * allocates nothing of its own; evaluations of one program never overlap.
 */
export class Frame {
  record: TextMap = {};
  /** Milliseconds since the epoch. */
  clock = 0;
  readonly budget = new Budget();
  /** Variables of `let`, and item, index and accumulator of predicates. The compiler gives out the places. */
  readonly slots: unknown[] = [];

  begin(record: TextMap, clock: number): void {
    this.record = record;
    this.clock = clock;
    this.budget.reset();
  }
}

/** A compiled node. nil is null, never undefined. */
export type Code = (frame: Frame) => unknown;
