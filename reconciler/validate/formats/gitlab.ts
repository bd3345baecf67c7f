import type { Severity } from "../../language/codes.ts";
import { withSuggestion } from "../../language/problem.ts";
import { Fingerprints } from "./fingerprint.ts";
import { pathFrom, type Report } from "./report.ts";

const severities: Readonly<Record<Severity, string>> = { error: "critical", warning: "minor", info: "info" };

/** A code quality report of GitLab: a list with one entry for each problem. */
export function gitlabReport({ problems, root }: Report): string {
  const fingerprints = new Fingerprints(root);
  const entries = problems.map((problem) => ({
    description: `${problem.code}: ${withSuggestion(problem)}`,
    check_name: problem.code,
    fingerprint: fingerprints.of(problem),
    severity: severities[problem.severity],
    location: { path: pathFrom(root, problem.file), lines: { begin: problem.line } },
  }));
  return `${JSON.stringify(entries, undefined, 2)}\n`;
}
