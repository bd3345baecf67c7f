import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import manifest from "../../../package.json" with { type: "json" };
import { codes, consequences, type Code, type Severity } from "../../language/codes.ts";
import { withSuggestion, type Problem } from "../../language/problem.ts";
import { Fingerprints } from "./fingerprint.ts";
import { pathFrom, worstFirst, type Report } from "./report.ts";

/** Results of a run at most, as GitHub takes them. The errors are the first. */
const mostResults = 25_000;

const levels: Readonly<Record<Severity, string>> = { error: "error", warning: "warning", info: "note" };

/** SARIF 2.1.0: one run with every code as a rule. */
export function sarifReport({ problems, root }: Report): string {
  const fingerprints = new Fingerprints(root);
  const run = {
    tool: { driver: { name: "Sluice", version: manifest.version, semanticVersion: manifest.version, rules } },
    columnKind: "utf16CodeUnits",
    results: worstFirst(problems)
      .slice(0, mostResults)
      .map((problem) => result(problem, root, fingerprints)),
  };
  const $schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
  return `${JSON.stringify({ $schema, version: "2.1.0", runs: [run] }, undefined, 2)}\n`;
}

const names = Object.keys(codes) as Code[];

const rules = names.map((id) => {
  const { meaning, severity } = codes[id];
  return {
    id,
    shortDescription: { text: meaning },
    fullDescription: { text: meaning },
    help: { text: `${meaning} ${consequences[severity]}` },
    defaultConfiguration: { level: levels[severity] },
  };
});

function result(problem: Problem, root: string | undefined, fingerprints: Fingerprints): object {
  const { code, severity, file, line, column } = problem;
  return {
    ruleId: code,
    ruleIndex: names.indexOf(code),
    level: levels[severity],
    message: { text: messageText(problem) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(pathFrom(root, file)) },
          region: { startLine: line, startColumn: column },
        },
      },
    ],
    partialFingerprints: { "sluiceProblem/v1": fingerprints.of(problem) },
  };
}

function uriOf(path: string): string {
  // Half of a pair of UTF-16 has no encoding.
  const whole = path.replaceAll(/\p{Surrogate}/gu, "\uFFFD");
  return isAbsolute(whole) ? pathToFileURL(whole).href : whole.split("/").map(encodeURIComponent).join("/");
}

/** The text of a message, without what SARIF takes for a link: values from files may look like one. */
function messageText(problem: Problem): string {
  return withSuggestion(problem).replaceAll("](", "] (");
}
