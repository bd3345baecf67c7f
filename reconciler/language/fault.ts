import { printable, problem, type Problem } from "./problem.ts";

const longestMessage = 300;

/** That Sluice itself failed on a file, with what was thrown: the other files are read all the same. */
export function fault(file: string, error: unknown, line = 1): Problem {
  const thrown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return problem(
    "FAULT",
    { file, line, column: 1 },
    {
      subject: "file",
      expected: "a file on which Sluice does not fail",
      found: `an error of Sluice itself: ${printable(thrown, longestMessage)}`,
      suggestion: "please report it with the file; until it is mended, write otherwise what changed last",
    },
  );
}

/** The problems that are found of a file; that Sluice itself failed on it, where looking for them throws. */
export function problemsOrFault(file: string, find: () => Problem[]): Problem[] {
  try {
    return find();
  } catch (error) {
    return [fault(file, error)];
  }
}
