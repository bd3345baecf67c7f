import { grouped } from "../../language/grouped.ts";
import { withSuggestion, type Problem } from "../../language/problem.ts";
import { ofSeverity, pathFrom, type Report } from "./report.ts";
import { excerptLines, textLine } from "./text.ts";
import { xml } from "./xml.ts";

/** JUnit's XML: a test for each file, failed where the file has an error. Warnings are the output of its test. */
export function junitReport(report: Report): string {
  const byFile = problemsByFile(report);
  const failures = [...byFile.values()].filter((problems) => ofSeverity(problems, "error").length > 0).length;
  const counts = `tests="${byFile.size}" failures="${failures}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="sluice validate" ${counts}>`,
    `  <testsuite name="sluice validate" ${counts} skipped="0">`,
    ...[...byFile].map(([file, problems]) => testCase(report, file, problems)),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

/** Also the files without a problem; and one that has problems but was not read. */
function problemsByFile({ files, problems }: Report): Map<string, Problem[]> {
  const found = grouped(problems, ({ file }) => file);
  return new Map([...files.map((file): [string, Problem[]] => [file, []]), ...found]);
}

function testCase(report: Report, file: string, problems: readonly Problem[]): string {
  const start = `    <testcase name="${xml(pathFrom(report.root, file))}" classname="sluice.validate"`;
  if (problems.length === 0) return `${start}/>`;
  const errors = ofSeverity(problems, "error");
  const others = problems.filter(({ severity }) => severity !== "error");
  return [
    `${start}>`,
    ...failure(report, errors),
    ...(others.length === 0 ? [] : [`      <system-out>${linesOf(report, others)}</system-out>`]),
    "    </testcase>",
  ].join("\n");
}

/** One for all errors of a file: GitLab, for one, shows only the first failure of a test. */
function failure(report: Report, errors: readonly Problem[]): string[] {
  const [first] = errors;
  if (first === undefined) return [];
  const more = errors.length === 1 ? "" : ` (and ${errors.length - 1} more)`;
  const message = xml(`${first.code}: ${withSuggestion(first)}${more}`);
  return [`      <failure type="${first.code}" message="${message}">${linesOf(report, errors)}</failure>`];
}

function linesOf({ excerpts }: Report, problems: readonly Problem[]): string {
  return xml(problems.flatMap((one) => [textLine(one), ...excerptLines(excerpts?.get(one))]).join("\n"));
}
