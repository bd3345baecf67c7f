import { createHash } from "node:crypto";
import type { Severity } from "../../language/codes.ts";
import { withSuggestion, type Problem } from "../../language/problem.ts";
import { countsInWords, ofSeverity, pathFrom, type Report } from "./report.ts";
import { textReport } from "./text.ts";

/** Annotations of one kind that GitHub shows of a step; it drops further ones without a word. */
const mostOfKind = 10;

const commands: readonly (readonly [Severity, string])[] = [
  ["error", "error"],
  ["warning", "warning"],
  ["info", "notice"],
];

/**
 * Workflow commands of GitHub Actions for the first problems of each kind, and the whole report as text for the log. Where
 * there are more problems than GitHub shows, a notice counts them.
 */
export function githubReport(report: Report): string {
  const shown = new Set(commands.flatMap(([severity]) => ofSeverity(report.problems, severity).slice(0, mostOfKind)));
  const isCut = shown.size < report.problems.length;
  // The notice that counts the problems is one of the notices.
  if (isCut) for (const one of ofSeverity(report.problems, "info").slice(mostOfKind - 1)) shown.delete(one);
  const annotations = report.problems.filter((one) => shown.has(one)).map((one) => annotation(report, one));
  return [...annotations, ...(isCut ? [countOf(report, shown.size)] : []), ...log(textReport(report))].join("\n");
}

function annotation({ root }: Report, problem: Problem): string {
  const { file, line, column, severity, code } = problem;
  const name = commands.find(([of]) => of === severity)?.[1] ?? "notice";
  const place = { file: pathFrom(root, file), line: `${line}`, col: `${column}`, title: code };
  return command(name, place, withSuggestion(problem));
}

function countOf({ problems }: Report, shown: number): string {
  const files = new Set(problems.map(({ file }) => file)).size;
  const text =
    `${countsInWords(problems)} in ${files} ${files === 1 ? "file" : "files"}, of which ${shown} are annotations: ` +
    `GitHub shows at most ${mostOfKind} of a kind. The log of this step has all of them.`;
  return command("notice", { title: "sluice validate" }, text);
}

function command(name: string, properties: Readonly<Record<string, string>>, text: string): string {
  const given = Object.entries(properties).map(([key, value]) => `${key}=${escapedProperty(value)}`);
  return `::${name} ${given.join(",")}::${escaped(text)}`;
}

function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapedProperty(text: string): string {
  return escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/**
 * Text for the log, in which nothing is a command: names and values from files may look like one. GitHub takes commands
 * again after the token, which the text cannot hold, as it is made from the text.
 */
function log(text: string): string[] {
  const token = createHash("sha256").update(text).digest("hex");
  return [`::stop-commands::${token}`, text.trimEnd(), `::${token}::`, ""];
}
