import { printable, withSuggestion, type Problem } from "../language/problem.ts";

export const formats = ["text", "json"] as const;
export type Format = (typeof formats)[number];

/** Problems as a person or a program reads them, with a line end. `checked` is the number of files that were read. */
export function format(problems: readonly Problem[], checked: number, as: Format): string {
  return as === "json"
    ? jsonText(problems, checked)
    : `${[...problems.map(textLine), summary(problems, checked)].join("\n")}\n`;
}

/** `orders.yaml:12:18: error PIPELINE_ID: pipeline_id: expected …, got "…" (did you mean "…"?)`. */
export function textLine(problem: Problem): string {
  const { file, line, column, severity, code } = problem;
  // A name of several lines could hold a line that a CI system takes as a command.
  return `${printable(file, Infinity)}:${line}:${column}: ${severity} ${code}: ${withSuggestion(problem)}`;
}

function summary(problems: readonly Problem[], checked: number): string {
  const { errors, warnings, infos } = counts(problems);
  const notes = infos === 0 ? "" : `, ${number(infos, "note")}`;
  return `${number(checked, "file")} checked: ${number(errors, "error")}, ${number(warnings, "warning")}${notes}`;
}

function counts(problems: readonly Problem[]): { errors: number; warnings: number; infos: number } {
  const of = (severity: Problem["severity"]) => problems.filter((problem) => problem.severity === severity).length;
  return { errors: of("error"), warnings: of("warning"), infos: of("info") };
}

function number(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function jsonText(problems: readonly Problem[], checked: number): string {
  return `${JSON.stringify({ files: checked, ...counts(problems), problems }, undefined, 2)}\n`;
}
