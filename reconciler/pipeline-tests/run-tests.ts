import { fault } from "../language/fault.ts";
import { withSuggestion } from "../language/problem.ts";
import type { TestCase } from "./cases.ts";
import { changesBetween } from "./changes.ts";
import { mismatchesOf } from "./compare.ts";
import type { Found } from "./outcome.ts";
import type { ChangeResult, TestResult, WrittenEvents } from "./result.ts";
import type { TestedPipeline } from "./trial.ts";
import type { Trials } from "./trials.ts";

/** A test with its pipeline at the base; without one where there was none. */
export interface ComparedCase extends TestCase {
  base: TestedPipeline | undefined;
}

/** Runs a test and compares what became of its events with what it expects. A fault of Sluice fails this test alone. */
export async function runTest(trials: Trials, { test, pipeline }: TestCase): Promise<TestResult> {
  const began = performance.now();
  const identity = (): Pick<TestResult, "test" | "milliseconds"> => ({ test, milliseconds: performance.now() - began });
  if ("failure" in pipeline)
    return { test, milliseconds: 0, status: "broken", failure: pipeline.failure, outcomes: [] };
  try {
    const found = await trials.run(pipeline, test);
    const { failure, outcomes } = found;
    if (failure !== undefined) return { ...identity(), status: "broken", failure, outcomes };
    const mismatches = mismatchesOf(test, found);
    if (mismatches.length === 0) return { ...identity(), status: "passed", found };
    return { ...identity(), status: "failed", found, mismatches };
  } catch (error) {
    return { ...identity(), status: "broken", failure: faultText(test, error), outcomes: [] };
  }
}

/** Runs the events of a test through the pipeline of the base and through that of the head. */
export async function compareTest(trials: Trials, { test, pipeline, base }: ComparedCase): Promise<ChangeResult> {
  const broken = (failure: string): ChangeResult => ({ test, status: "broken", failure });
  if ("failure" in pipeline) return broken(pipeline.failure);
  if (base === undefined) return { test, status: "new" };
  try {
    const [before, after] = [await trials.run(base, test), await trials.run(pipeline, test)];
    if (before.failure !== undefined) return broken(`at the base: ${before.failure}`);
    if (after.failure !== undefined) return broken(after.failure);
    const changes = changesBetween(before, after, writtenBy(base, pipeline));
    return { test, status: "compared", changes, written: writtenEvents(before, after) };
  } catch (error) {
    return broken(faultText(test, error));
  }
}

function faultText({ file, line }: TestCase["test"], error: unknown): string {
  return withSuggestion(fault(file, error, line));
}

function writtenEvents({ outcomes: before }: Found, { outcomes: after }: Found): WrittenEvents {
  const [base, head] = [before, after].map((outcomes) => outcomes.filter(({ written }) => written > 0).length);
  return { base: base!, head: head!, filtered: after.filter(({ filtered }) => filtered > 0).length };
}

/** The columns that the mappings write: others may hold the time of an insert. */
function writtenBy(...pipelines: readonly TestedPipeline[]): ReadonlySet<string> {
  return new Set(pipelines.flatMap(({ config }) => config.sink.mapping.map(({ column_name }) => column_name)));
}

/** Runs several at once, at most `jobs`; the results are in the order of the cases. Begins none after `signal` aborts. */
export async function runAll<Case, Result>(
  cases: readonly Case[],
  { jobs, signal, onDone }: { jobs: number; signal: AbortSignal; onDone: (done: number) => void },
  run: (one: Case) => Promise<Result>,
): Promise<Result[]> {
  const results = new Map<number, Result>();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < cases.length && !signal.aborted) {
      const index = next++;
      results.set(index, await run(cases[index]!));
      onDone(results.size);
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, cases.length) }, work));
  return [...results.keys()].toSorted((a, b) => a - b).map((index) => results.get(index)!);
}
