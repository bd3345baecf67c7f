import type { Document } from "../language/document.ts";
import type { Severity } from "../language/codes.ts";
import { didYouMean, found, kindOf, problem, type Problem } from "../language/problem.ts";
import { rules } from "./rules/index.ts";
import { schemaProblems } from "./schema-problems.ts";
import { View } from "../language/view.ts";

/** Problems of a document at most; the last one then reports that there are more. */
export const mostOfDocument = 100;
/** Problems of one rule at most; a file from outside may have any number. */
const mostOfRule = 200;
const severities: readonly Severity[] = ["error", "warning", "info"];

/** The problems of a single document: of its text, and of its content by schema and rules. */
export interface CheckedDocument {
  file: string;
  /** Of the text, found while it was parsed. */
  reading: readonly Problem[];
  content: readonly Problem[];
}

/** Every problem of a single document, in the order of the file. */
export function check(document: Document): readonly Problem[] {
  return problemsOf(checkDocument(document));
}

/** Checks a single document. A v2 document already has the problems that prevent its conversion to v3. */
export function checkDocument(document: Document): CheckedDocument {
  const { file, problems } = document;
  // The text of a variable without a value is no value of its field.
  const unknown = new Set(problems.filter(({ code }) => code === "VARIABLE").map(({ path }) => path));
  const content = contentProblems(document).filter(({ path }) => !unknown.has(path));
  return { file, reading: problems, content };
}

/** The problems of a checked document and those that it has together with other documents, in the order of the file. */
export function problemsOf(
  { file, reading, content }: CheckedDocument,
  together: readonly Problem[] = nothing,
): readonly Problem[] {
  if (reading.length + content.length + together.length === 0) return nothing;
  return capped(file, [...reading, ...together, ...content]).toSorted(byPlace);
}

const nothing: readonly Problem[] = [];

function contentProblems(document: Document): Problem[] {
  if (View.of(document).get("version").text === "v2") return [];
  const version = versionProblem(document);
  return version === undefined ? v3Problems(document) : [version];
}

/** Errors first, so that the limit never hides the only error of a document. */
function capped(file: string, all: readonly Problem[]): readonly Problem[] {
  if (all.length <= mostOfDocument) return all;
  const worst = all.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
  return [tooMany(file, all.length), ...worst.slice(0, mostOfDocument - 1)];
}

function v3Problems(document: Document): Problem[] {
  const schema = schemaProblems(document);
  const named = new Set(schema.map(({ path }) => path));
  const root = View.of(document);
  const semantic = rules
    .flatMap((rule) => [...first(mostOfRule, rule(root))])
    .filter(({ path, severity }) => severity !== "error" || !named.has(path));
  return [...schema, ...semantic];
}

function* first<Item>(limit: number, items: Iterable<Item>): Iterable<Item> {
  let count = 0;
  for (const item of items) {
    yield item;
    count += 1;
    if (count === limit) return;
  }
}

/** Keys that only pipelines have, whatever else they lack: files of other tools have a version, a name or metadata too. */
const ownKeys = ["pipeline_id", "sources", "source", "sink", "transforms"];

/** The problem of a document that is not a v3 pipeline; it is then not checked further. */
function versionProblem(document: Document): Problem | undefined {
  const root = View.of(document);
  const pipeline = "a pipeline: a mapping with version, pipeline_id, sources and sink";
  const elsewhere = "keep files that are not pipelines out of the watched folder";
  if (kindOf(document.value) !== "a mapping") {
    return root.problem("NOT_A_PIPELINE", {
      expected: pipeline,
      found: found(document.value, []),
      suggestion: elsewhere,
    });
  }
  const version = root.get("version");
  if (!/^v\d+$/i.test(version.text ?? "") && !ownKeys.some((key) => root.get(key).exists)) {
    return root.problem("NOT_A_PIPELINE", {
      expected: pipeline,
      found: "a mapping without them",
      suggestion: elsewhere,
    });
  }
  if (!version.exists || version.text === "v3") return undefined;
  return version.problem("VERSION", {
    expected: '"v3"',
    found: found(version.value, version.path),
    suggestion: didYouMean(version.value, ["v3"]),
  });
}

function tooMany(file: string, count: number): Problem {
  const place = { file, line: 1, column: 1 };
  return problem("TOO_MANY_PROBLEMS", place, {
    subject: "document",
    expected: `at most ${mostOfDocument} problems`,
    found: `at least ${count}, of which the first are shown`,
  });
}

export function byPlace(a: Problem, b: Problem): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column || a.code.localeCompare(b.code);
}
