import { load } from "../desired/load.ts";
import type { SourceFile } from "../desired/source-text.ts";
import type { Problem } from "./problem.ts";

/** Everything there is to say about the files of a folder, by file, line and column. */
export function validate(files: readonly SourceFile[]): Problem[] {
  return load(files).problems;
}
