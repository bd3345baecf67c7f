import { isObject, parseDuration, type Path, type PipelineTests, testErrors } from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import { parse } from "../language/parse.ts";
import { problem, type Problem } from "../language/problem.ts";
import type { SourceFile } from "../language/source-text.ts";
import { schemaProblems } from "../validate/schema-problems.ts";
import { patternError, patternKey } from "./match.ts";

const hour = 3_600_000;
/** The longest time that may pass before an event, in milliseconds: clocks have an end. */
const longestWait = 10 * 365 * 24 * hour;

/** A file of tests that can be read, or the problems that keep it from being read. */
export type CheckedTests = { document: Document; text: string } | { problems: Problem[] };

export function checkedTests(file: SourceFile): CheckedTests {
  const { documents, problem: unread, text = "" } = parse(file);
  if (unread !== undefined) return { problems: [unread] };
  const [document, second] = documents as [Document, Document?];
  if (second !== undefined) return { problems: [oneDocument(second)] };
  const problems = [...document.problems, ...schemaProblems(document, testErrors(document.value))];
  const all = problems.length > 0 ? problems : between(document);
  return all.length > 0 ? { problems: all } : { document, text };
}

/** What the schema does not say of tests: names, what an event is given by, times and patterns. */
function between(document: Document): Problem[] {
  const { tests, now } = document.value as PipelineTests;
  const names = new Set<string>();
  const ofTests = tests.flatMap(({ name, events, now: own, expect }, index): Problem[] => {
    const path = ["tests", index, "name"];
    const again = names.has(name)
      ? [problem("VALUE", document.place(path), { path, expected: "a name of its own", found: "one that is taken" })]
      : [];
    names.add(name);
    const wrong = events.flatMap(({ event, text, after = "0" }, at) => {
      const of = ["tests", index, "events", at];
      if (isTooLong(after)) {
        const expected = `at most ${longestWait / hour}h`;
        return [problem("VALUE", document.place([...of, "after"]), { path: [...of, "after"], expected, found: after })];
      }
      if ((event === undefined) !== (text === undefined)) return [];
      const found = event === undefined ? "neither" : "both";
      return [problem("VALUE", document.place(of), { path: of, expected: "event or text", found })];
    });
    const places = ["tests", index] as const;
    const others = [
      ...noTime(document, [...places, "now"], own),
      ...noPatterns(document, [...places, "expect"], expect),
    ];
    return [...again, ...wrong, ...others];
  });
  return [...noTime(document, ["now"], now), ...ofTests];
}

/** A duration of the right form may be more than there are nanoseconds for. */
function isTooLong(duration: string): boolean {
  const nanoseconds = parseDuration(duration);
  return nanoseconds === undefined || Number(nanoseconds) / 1e6 > longestWait;
}

/** A time of the right form may be none, such as the 31st of February. */
function noTime(document: Document, path: Path, now: string | undefined): Problem[] {
  if (now === undefined) return [];
  const at = new Date(now);
  if (!Number.isNaN(at.getTime()) && at.toISOString().slice(0, 19) === now.slice(0, 19)) return [];
  return [
    problem("VALUE", document.place(path), { path, expected: "a time that there is", found: JSON.stringify(now) }),
  ];
}

/** Patterns that are no regular expressions, at any depth of what is expected. */
function noPatterns(document: Document, path: Path, value: unknown): Problem[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => noPatterns(document, [...path, index], item));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, of]) => {
    const at = [...path, key];
    if (key !== patternKey || typeof of !== "string") return noPatterns(document, at, of);
    const error = patternError(of);
    if (error === undefined) return [];
    return [problem("VALUE", document.place(at), { path: at, expected: "a regular expression of RE2", found: error })];
  });
}

function oneDocument(second: Document): Problem {
  const expected = "one document with all tests of the pipeline";
  return problem("VALUE", second.place(), { subject: "file", expected, found: "a second one" });
}
