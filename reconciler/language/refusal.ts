import type { Problem } from "./problem.ts";

/** Ends the reading of a file: what follows cannot be trusted. Never leaves the parser that throws it. */
export class Refusal extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }

  /** What `read` gives, or the problem with which it refused. */
  static caught<Result>(read: () => Result): Result | Problem {
    try {
      return read();
    } catch (error) {
      if (error instanceof Refusal) return error.problem;
      throw error;
    }
  }
}
