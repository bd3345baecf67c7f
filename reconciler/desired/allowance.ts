import { problem, type Problem } from "../language/problem.ts";
import { type CheckedDocument, mostOfDocument } from "../validate/check.ts";
import type { RefusedDocument } from "./desired-state.ts";

/** Problems of a file at most; of each document after that, only its first error counts. */
const mostOfFile = 200;
/** Documents of all files at most, and their problems. */
export const mostDocuments = 20_000;
const mostProblems = 20_000;

/** Counts the problems of one file after the other, so that a repository of broken files stays small in memory and logs. */
export class ProblemAllowance {
  readonly #most: number;
  readonly #subject: string;
  #count = 0;
  #isNoted = false;

  private constructor(most: number, subject: string) {
    this.#most = most;
    this.#subject = subject;
  }

  static ofFile(): ProblemAllowance {
    return new ProblemAllowance(mostOfFile, "file");
  }

  static ofRevision(): ProblemAllowance {
    return new ProblemAllowance(mostProblems, "all files");
  }

  /** The document itself while there is room; with its first error alone after that, so that it is refused all the same. */
  admit(checked: CheckedDocument): CheckedDocument {
    // Of one document no more are shown.
    const count = Math.min(mostOfDocument, checked.reading.length + checked.content.length);
    if (this.#count + count <= this.#most) {
      this.#count += count;
      return checked;
    }
    this.#count = this.#most;
    const first = [...checked.reading, ...checked.content].find(({ severity }) => severity === "error");
    const note = this.#isNoted ? [] : [this.#tooMany(checked.file)];
    this.#isNoted = true;
    return { file: checked.file, reading: [], content: first === undefined ? note : [...note, first] };
  }

  #tooMany(file: string): Problem {
    return problem(
      "TOO_MANY_PROBLEMS",
      { file, line: 1, column: 1 },
      {
        subject: this.#subject,
        expected: `at most ${this.#most} problems`,
        found: "more: from this document on, only the first error of each is shown",
      },
    );
  }
}

/** A file beyond the documents of all files that are read. Its pipelines stay as they are. */
export function beyondDocuments(file: string): RefusedDocument {
  const obstacle = problem(
    "TOO_MANY_VALUES",
    { file, line: 1, column: 1 },
    {
      subject: "file",
      expected: `at most ${mostDocuments} documents in all files`,
      found: "more",
      suggestion: "remove documents that are no pipelines, or follow a folder of the repository with --path",
    },
  );
  return { file, line: 1, freezesFile: true, pipeline_ids: [], problems: [obstacle] };
}
