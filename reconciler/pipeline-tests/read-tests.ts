import { parseDocument } from "yaml";
import { type PipelineTest, type PipelineTests, testErrors } from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import { parse } from "../language/parse.ts";
import { problem, type Problem } from "../language/problem.ts";
import type { SourceFile } from "../language/source-text.ts";
import { schemaProblems } from "../validate/schema-problems.ts";

/** A test of a file, with what the file says for all of its tests. */
export interface NamedTest extends PipelineTest {
  file: string;
  /** Where its name is written, from 1. */
  line: number;
  /** Which one it is in its file, from 0. */
  index: number;
}

const longestAliases = 100;

/** The tests of a file; the problems that keep it from being read, if there are any. */
export function readTests(file: SourceFile): { tests: NamedTest[] } | { problems: Problem[] } {
  const { documents, problem: unread, text = "" } = parse(file);
  if (unread !== undefined) return { problems: [unread] };
  const [document, second] = documents as [Document, Document?];
  if (second !== undefined) return { problems: [oneDocument(second)] };
  const problems = [...document.problems, ...schemaProblems(document, testErrors(document.value))];
  if (problems.length > 0) return { problems };
  const { tests, ...shared } = valuesOf(text);
  const named = tests.map((test, index) => {
    const { line } = document.place(["tests", index, "name"]);
    return { ...shared, ...test, file: file.path, line, index };
  });
  const wrong = named.flatMap((test) => problemsOf(test, named, document));
  return wrong.length > 0 ? { problems: wrong } : { tests: named };
}

/** The values as they are written: events keep empty texts, nulls, and the digits of large whole numbers. */
function valuesOf(text: string): PipelineTests {
  const document = parseDocument(text, { intAsBigInt: true, logLevel: "silent" });
  return document.toJS({ maxAliasCount: longestAliases, reviver: withoutSmall }) as PipelineTests;
}

function withoutSmall(_key: unknown, value: unknown): unknown {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function problemsOf({ name, events, index }: NamedTest, all: readonly NamedTest[], document: Document): Problem[] {
  const path = ["tests", index, "name"];
  const isKnown = all.some((other) => other.index < index && other.name === name);
  const again = isKnown
    ? [problem("VALUE", document.place(path), { path, expected: "a name of its own", found: "one that is taken" })]
    : [];
  const wrong = events.flatMap(({ event, text }, at) => {
    if ((event === undefined) !== (text === undefined)) return [];
    const of = ["tests", index, "events", at];
    const found = event === undefined ? "neither" : "both";
    return [problem("VALUE", document.place(of), { path: of, expected: "event or text", found })];
  });
  return [...again, ...wrong];
}

function oneDocument(second: Document): Problem {
  const expected = "one document with all tests of the pipeline";
  return problem("VALUE", second.place(), { subject: "file", expected, found: "a second one" });
}
