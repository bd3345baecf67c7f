import { type PipelineTests, testErrors } from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import { parse } from "../language/parse.ts";
import { problem, type Problem } from "../language/problem.ts";
import type { SourceFile } from "../language/source-text.ts";
import { schemaProblems } from "../validate/schema-problems.ts";

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

/** What the schema does not say of tests: names, and what an event is given by. */
function between(document: Document): Problem[] {
  const { tests } = document.value as PipelineTests;
  const names = new Set<string>();
  return tests.flatMap(({ name, events }, index): Problem[] => {
    const path = ["tests", index, "name"];
    const again = names.has(name)
      ? [problem("VALUE", document.place(path), { path, expected: "a name of its own", found: "one that is taken" })]
      : [];
    names.add(name);
    const wrong = events.flatMap(({ event, text }, at) => {
      if ((event === undefined) !== (text === undefined)) return [];
      const of = ["tests", index, "events", at];
      const found = event === undefined ? "neither" : "both";
      return [problem("VALUE", document.place(of), { path: of, expected: "event or text", found })];
    });
    return [...again, ...wrong];
  });
}

function oneDocument(second: Document): Problem {
  const expected = "one document with all tests of the pipeline";
  return problem("VALUE", second.place(), { subject: "file", expected, found: "a second one" });
}
