import { isAbsolute, relative } from "node:path";
import type { Excerpt } from "../../language/excerpt.ts";
import type { Severity } from "../../language/codes.ts";
import type { Problem } from "../../language/problem.ts";

/** What the files were found to be, before it is written in a format. */
export interface Report {
  /** By file, line and column. */
  problems: readonly Problem[];
  /** The paths of all files that were read. */
  files: readonly string[];
  /** The folder to which CI systems expect paths to be relative: an absolute path below it is shortened to that. */
  root?: string;
  /** Warnings and notes that are left out, since the base has them as well. */
  known?: { count: number; base: string };
  /** The lines that problems point at, as far as they can be shown. */
  excerpts?: ReadonlyMap<Problem, Excerpt>;
}

const severities: readonly Severity[] = ["error", "warning", "info"];

/** The problems with the errors first, then the warnings, each in the order of the files. */
export function worstFirst(problems: readonly Problem[]): Problem[] {
  return severities.flatMap((one) => ofSeverity(problems, one));
}

export function ofSeverity(problems: readonly Problem[], severity: Severity): Problem[] {
  return problems.filter((problem) => problem.severity === severity);
}

export function counts(problems: readonly Problem[]): { errors: number; warnings: number; infos: number } {
  const of = (severity: Severity) => ofSeverity(problems, severity).length;
  return { errors: of("error"), warnings: of("warning"), infos: of("info") };
}

/** `3 files checked: 1 error, 0 warnings`. */
export function summary({ problems, files, known }: Report): string {
  const left =
    known === undefined
      ? ""
      : `; ${known.count} that ${known.base} has as well ${known.count === 1 ? "is" : "are"} left out`;
  return `${number(files.length, "file")} checked: ${countsInWords(problems)}${left}`;
}

/** `1 error, 0 warnings, 2 notes`; notes only where there are some. */
export function countsInWords(problems: readonly Problem[]): string {
  const { errors, warnings, infos } = counts(problems);
  const notes = infos === 0 ? [] : [number(infos, "note")];
  return [number(errors, "error"), number(warnings, "warning"), ...notes].join(", ");
}

function number(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** The path of a file as CI systems want it: relative to the root where the file is below it. */
export function pathFrom(root: string | undefined, file: string): string {
  if (root === undefined || !isAbsolute(file)) return file;
  const below = relative(root, file);
  return below.startsWith("..") || isAbsolute(below) ? file : below;
}
