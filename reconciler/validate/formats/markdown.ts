import type { Severity } from "../../language/codes.ts";
import { fenceOf, longestComment } from "../../language/markdown.ts";
import { printable, withSuggestion, type Problem } from "../../language/problem.ts";
import { countsInWords, ofSeverity, pathFrom, summary, type Report } from "./report.ts";
import { excerptLines } from "./text.ts";

/** Characters kept for the line that counts what was left out. */
const reserve = 200;

/** By this line a tool finds the comment that it wrote before. */
const marker = "<!-- sluice validate -->";

const sections: readonly (readonly [Severity, string])[] = [
  ["error", "Errors"],
  ["warning", "Warnings"],
  ["info", "Notes"],
];

/** A comment on a pull request: the errors first, cut between two problems where it would be too long. */
export function markdownReport(report: Report): string {
  const lines = [marker, `**sluice validate**: ${summary(report)}`];
  let length = lines.join("\n").length + reserve;
  const left: Problem[] = [];
  for (const [severity, title] of sections) {
    const problems = ofSeverity(report.problems, severity);
    for (const [index, problem] of problems.entries()) {
      const text = `${index === 0 ? `\n### ${title}\n\n` : ""}${item(report, problem)}`;
      // After the first that is left out so are the others: a comment shows all problems up to a place.
      if (left.length > 0 || length + text.length + 1 > longestComment) left.push(problem);
      else {
        lines.push(text);
        length += text.length + 1;
      }
    }
  }
  if (left.length > 0) lines.push(`\nNot shown, as a comment has its limit: ${countsInWords(left)}.`);
  return `${lines.join("\n")}\n`;
}

function item({ root, excerpts }: Report, problem: Problem): string {
  const { file, line, column, code } = problem;
  const place = inCode(`${printable(pathFrom(root, file), Infinity)}:${line}:${column}`);
  const excerpt = excerptLines(excerpts?.get(problem));
  return [`- ${place} **${code}**\\`, `  ${inCode(withSuggestion(problem))}`, ...fenced(excerpt)].join("\n");
}

/** Text from files in a code span, where it is neither a link, nor a mention, nor HTML. */
function inCode(text: string): string {
  const fence = fenceOf(text, 1);
  return `${fence} ${text} ${fence}`;
}

function fenced(lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const fence = fenceOf(lines.join("\n"), 3);
  return ["", `  ${fence}`, ...lines.map((line) => `  ${line}`), `  ${fence}`, ""];
}
