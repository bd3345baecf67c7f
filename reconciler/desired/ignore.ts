import ignore from "ignore";
import { problem } from "../language/problem.ts";
import type { SourceFile } from "../language/source-text.ts";
import type { RefusedDocument } from "./desired-state.ts";

/** The name of a file with patterns, in the syntax of `.gitignore`, of files in its folder that are no pipelines. */
export const ignoreFile = ".sluiceignore";

/** Bounds on patterns, as each is tried on each path. Longer ones are not applied. */
const [mostBytes, longestLine, mostStars] = [64 * 1024, 200, 8];
/** Patterns of one file, each with each path below its folder, at most. */
const mostTries = 10_000_000;

/** What the `.sluiceignore` files of a folder leave out. */
export interface Ignored {
  paths: readonly string[];
  /** Files whose patterns take too long: all that is below their folders is left out. */
  costly: readonly string[];
}

export const nothingIgnored: Ignored = { paths: [], costly: [] };

/** The `.sluiceignore` files among files. */
export function rulesAmong<File extends SourceFile>(files: readonly File[]): File[] {
  return files.filter(({ path }) => path.slice(path.lastIndexOf("/") + 1) === ignoreFile);
}

/** The paths that a `.sluiceignore` names; `costly` where there are too many patterns for so many paths. */
export function pathsIgnoredBy({ path, bytes }: SourceFile, paths: readonly string[]): string[] | "costly" {
  const folder = path.slice(0, -ignoreFile.length);
  const lines = Buffer.from(bytes.subarray(0, mostBytes)).toString("utf8").split(/\r?\n/).filter(isBounded);
  const below = paths.filter((one) => one !== path && one.startsWith(folder));
  if (lines.length * below.length > mostTries) return "costly";
  const patterns = ignore().add(lines);
  return below.filter((one) => patterns.ignores(one.slice(folder.length)));
}

function isBounded(line: string): boolean {
  return line.length <= longestLine && line.split("*").length - 1 <= mostStars;
}

/** What all rules together leave out, where `found` is what each of them says. */
export function together(
  rules: readonly SourceFile[],
  paths: readonly string[],
  found: readonly (readonly string[] | "costly")[],
): Ignored {
  const costly = rules.filter((_, index) => found[index] === "costly").map(({ path }) => path);
  const folders = costly.map((path) => path.slice(0, -ignoreFile.length));
  const named = new Set(found.flatMap((one) => (one === "costly" ? [] : one)));
  return {
    paths: paths.filter((path) => named.has(path) || folders.some((folder) => path.startsWith(folder))),
    costly,
  };
}

/** What `.sluiceignore` files leave out, found in this thread. */
export function ignoredHere(rules: readonly SourceFile[], paths: readonly string[]): Ignored {
  return together(
    rules,
    paths,
    rules.map((rule) => pathsIgnoredBy(rule, paths)),
  );
}

/** Files, without those that a `.sluiceignore` in a folder above them names. */
export function withoutIgnored<File extends SourceFile>(files: readonly File[]): File[] {
  const paths = files.map(({ path }) => path);
  const ignored = new Set(ignoredHere(rulesAmong(files), paths).paths);
  return files.filter(({ path }) => !ignored.has(path));
}

/** Why nothing below the folder of a `.sluiceignore` is read. */
export function costlyRules(file: string): RefusedDocument {
  const found = problem(
    "IGNORE_COST",
    { file, line: 1, column: 1 },
    {
      subject: "file",
      expected: "patterns that can be tried on every path below this folder in a few seconds",
      found: "more work: no file below the folder is read, and its pipelines stay as they are",
      suggestion: "write fewer patterns, with fewer stars",
    },
  );
  return { file, line: 1, freezesFile: true, pipeline_ids: [], problems: [found] };
}
