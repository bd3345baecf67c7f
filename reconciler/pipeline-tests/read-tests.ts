import { parseDocument } from "yaml";
import type { PipelineTest, PipelineTests } from "../../schemas/index.ts";
import { problem, type Problem } from "../language/problem.ts";
import { fault } from "../language/fault.ts";
import { type SourceFile, withLineFeeds } from "../language/source-text.ts";
import { checkedTests } from "./test-problems.ts";

/** A test of a file, with what the file says for all of its tests. */
export interface NamedTest extends PipelineTest {
  file: string;
  /** Where its name is written, from 1. */
  line: number;
  /** Which one it is in its file, from 0. */
  index: number;
}

const longestAliases = 100;

type ReadTests = { tests: NamedTest[] } | { problems: Problem[] };

/** The tests of a file; the problems that keep it from being read, if there are any. Never throws. */
export function readTests(file: SourceFile): ReadTests {
  try {
    return testsIn(file);
  } catch (error) {
    return { problems: [fault(file.path, error)] };
  }
}

function testsIn(file: SourceFile): ReadTests {
  const checked = checkedTests(file);
  if ("problems" in checked) return checked;
  const { document, text } = checked;
  const values = valuesOf(text);
  if (values === undefined) {
    const expected = `aliases that stand for at most ${longestAliases} values together`;
    return { problems: [problem("VALUE", document.place(), { subject: "file", expected, found: "more" })] };
  }
  const { tests, ...shared } = values;
  const named = tests.map((test, index) => {
    const { line } = document.place(["tests", index, "name"]);
    return { ...shared, ...test, file: file.path, line, index };
  });
  return { tests: named };
}

/**
 * The values as they are written: events keep empty texts, nulls, and the digits of large whole numbers. Undefined where
 * aliases would make too many of them.
 */
function valuesOf(text: string): PipelineTests | undefined {
  const document = parseDocument(withLineFeeds(text), { intAsBigInt: true, logLevel: "silent" });
  try {
    return document.toJS({ maxAliasCount: longestAliases, reviver: withoutSmall }) as PipelineTests;
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return undefined;
  }
}

function withoutSmall(_key: unknown, value: unknown): unknown {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
