import type { ChangeResult, TestResult } from "./result.ts";

/** The results as one document for programs (docs/pipeline-tests.md). */
export function documentOf(results: readonly TestResult[]): object {
  const wrong = results.filter(({ status }) => status !== "passed").length;
  return { passed: results.length - wrong, failed: wrong, tests: results.map(ofTest) };
}

function ofTest(result: TestResult): object {
  const shared = { ...identityOf(result), milliseconds: Math.round(result.milliseconds), status: result.status };
  if (result.status === "broken") return { ...shared, failure: result.failure, outcomes: plain(result.outcomes) };
  const mismatches = result.status === "failed" ? { mismatches: plain(result.mismatches) } : {};
  return { ...shared, ...mismatches, outcomes: plain(result.found.outcomes) };
}

/** The same of a comparison with a base. */
export function documentOfChanges(results: readonly ChangeResult[], base: string): object {
  return { base, tests: results.map((one) => ({ ...identityOf(one), ...changesOf(one) })) };
}

function changesOf(result: ChangeResult): object {
  if (result.status === "broken") return { status: result.status, failure: result.failure };
  if (result.status === "new") return { status: result.status };
  const changes = result.changes.map(({ event, base, head }) => ({
    event: event + 1,
    base: plain(base),
    head: plain(head),
  }));
  return { status: result.status, changes };
}

function identityOf({ test }: Pick<TestResult, "test">): object {
  return { file: test.file, line: test.line, name: test.name };
}

/** A value without bigints, which JSON cannot tell from other numbers: their digits as a text. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, plain(of)]));
}
