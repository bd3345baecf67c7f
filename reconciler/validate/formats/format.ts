import { yamlDocument } from "../../language/yaml-document.ts";
import { counts, type Report } from "./report.ts";
import { githubReport } from "./github.ts";
import { gitlabReport } from "./gitlab.ts";
import { junitReport } from "./junit.ts";
import { markdownReport } from "./markdown.ts";
import { sarifReport } from "./sarif.ts";
import { textReport } from "./text.ts";

const reports = {
  text: textReport,
  json: jsonReport,
  yaml: (report) => yamlDocument(dataOf(report)),
  github: githubReport,
  sarif: sarifReport,
  junit: junitReport,
  gitlab: gitlabReport,
  markdown: markdownReport,
} as const satisfies Record<string, (report: Report) => string>;

/** For people, programs and CI systems. The setting `validate_format` lists the same. */
export type Format = keyof typeof reports;
export const formats = Object.keys(reports) as readonly Format[];

/** A report in one of the formats, with a line end. */
export function format(report: Report, as: Format): string {
  return reports[as](report);
}

function jsonReport(report: Report): string {
  return `${JSON.stringify(dataOf(report), undefined, 2)}\n`;
}

function dataOf({ problems, files }: Report): object {
  return { files: files.length, ...counts(problems), problems };
}
