import { LARGEST_PATTERN, tooLarge } from "./patterns.ts";

/** The most instructions that the patterns of one file, or of one filter or stateless transform, may have together. */
export const MOST_INSTRUCTIONS = 500_000;

/** The cause of the error with which an expression is refused that needs too much work to compile. */
export class CompileBudgetExceeded extends Error {}

/**
 * What compiling expressions may still cost. Almost all of that is patterns: a text of ten characters can ask for a
 * thousand instructions.
 */
export class CompileBudget {
  #left = MOST_INSTRUCTIONS;

  /** Counts a pattern of this size that is about to be compiled; the text says why it must not be. */
  spend(size: number): string | undefined {
    if (size > LARGEST_PATTERN) return tooLarge(size);
    this.#left -= size;
    return this.#left >= 0
      ? undefined
      : `the patterns are too large together: expected at most ${MOST_INSTRUCTIONS} instructions with their repetitions written out, found more`;
  }
}
