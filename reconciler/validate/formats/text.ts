import type { Excerpt } from "../../language/excerpt.ts";
import { printable, withSuggestion, type Problem } from "../../language/problem.ts";
import { summary, type Report } from "./report.ts";

/** Each problem on a line, with the line of the file that it points at below, and the counts at the end. */
export function textReport(report: Report): string {
  const lines = report.problems.flatMap((problem) => [
    textLine(problem),
    ...excerptLines(report.excerpts?.get(problem)),
  ]);
  return `${[...lines, summary(report)].join("\n")}\n`;
}

/** `orders.yaml:12:18: error PIPELINE_ID: pipeline_id: expected …, got "…" (did you mean "…"?)`. */
export function textLine(problem: Problem): string {
  const { file, line, column, severity, code } = problem;
  // A name of several lines could hold a line that a CI system takes as a command.
  return `${printable(file, Infinity)}:${line}:${column}: ${severity} ${code}: ${withSuggestion(problem)}`;
}

/** The line with its number, and a caret below the place; none where there is no excerpt. */
export function excerptLines(excerpt: Excerpt | undefined): string[] {
  if (excerpt === undefined) return [];
  const number = String(excerpt.line);
  return [`  ${number} | ${excerpt.text}`, `  ${" ".repeat(number.length)} | ${" ".repeat(excerpt.before)}^`];
}
