import type { Problem } from "./problem.ts";

/** Stops the parsing of a file at its first problem. Never leaves the parser that throws it. */
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
