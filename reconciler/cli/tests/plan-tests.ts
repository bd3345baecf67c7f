import { Registry } from "prom-client";
import { EngineError } from "../../../engine/index.ts";
import type { SourceFile } from "../../language/source-text.ts";
import type { ChangeResult } from "../../pipeline-tests/result.ts";
import { readTests } from "../../pipeline-tests/read-tests.ts";
import { type ComparedCase, compareTest, runAll } from "../../pipeline-tests/run-tests.ts";
import { Trials } from "../../pipeline-tests/trials.ts";
import type { Note, Preview, PreviewedChange } from "../../preview/preview.ts";
import type { TestedEvents } from "../../preview/tested-events.ts";
import type { Invocation } from "../invocation/invocation.ts";

/** Milliseconds after which no further test begins, and tests that run at once. */
const [longest, jobs] = [60_000, 2];

/** The tests of a changed pipeline. */
export interface TestsOfChange {
  change: PreviewedChange;
  file: SourceFile;
}

/**
 * A preview with what becomes of the events of these tests. A plan does not fail for them: where they cannot be run, or not
 * all of them in time, a note says so; where the engine is not installed, nothing does.
 */
export async function withOutcomes(
  preview: Preview,
  found: readonly TestsOfChange[],
  { progress }: Pick<Invocation, "progress">,
): Promise<Preview> {
  progress.step("starting ClickHouse for the tests");
  const signal = AbortSignal.timeout(longest);
  try {
    const trials = await Trials.open(new Registry(), jobs);
    try {
      return await compared(preview, found, trials, signal, (step) => progress.step(step));
    } finally {
      await trials.close();
    }
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return error.code === "CLICKHOUSE_MISSING" ? preview : withNotes(preview, [notCompared(found, error.message)]);
  }
}

async function compared(
  preview: Preview,
  found: readonly TestsOfChange[],
  trials: Trials,
  signal: AbortSignal,
  onStep: (step: string) => void,
): Promise<Preview> {
  const outcomes = new Map<PreviewedChange, TestedEvents>();
  const notes: Note[] = [];
  for (const one of found) {
    const cases = casesOf(one);
    const onDone = (done: number): void =>
      onStep(`${done} of ${cases.length} tests of ${one.change.change.pipeline_id}`);
    const results = await runAll(cases, { jobs, signal, onDone }, (given) => compareTest(trials, given));
    const why =
      failureOf(results) ?? (results.length < cases.length ? `they took more than ${longest / 1000} s` : undefined);
    if (why !== undefined) notes.push(notCompared([one], why));
    const tested = testedEvents(results);
    if (tested.tests > 0) outcomes.set(one.change, tested);
  }
  const changes = preview.changes.map((change): PreviewedChange => {
    const tests = outcomes.get(change);
    return tests === undefined ? change : { ...change, tests };
  });
  return withNotes({ ...preview, changes }, notes);
}

/**
 * A file of tests that cannot be read is an error of `sluice validate`, and has none here. A plan of a change that nobody has
 * read yet runs no statement of it: the table is as the mapping makes it.
 */
function casesOf({ change: { sides, change }, file }: TestsOfChange): ComparedCase[] {
  const read = readTests(file);
  if (sides === undefined || "problems" in read) return [];
  const { pipeline_id: own } = change;
  const tests = read.tests.filter(({ pipeline_id = own }) => pipeline_id === own);
  return tests.map(({ create: _create, ...test }) => ({ test, pipeline: sides.after, base: sides.before }));
}

function testedEvents(results: readonly ChangeResult[]): TestedEvents {
  const run = results.filter((one) => one.status === "compared");
  const sum = (count: (one: (typeof run)[number]) => number): number => run.reduce((all, one) => all + count(one), 0);
  return {
    tests: run.length,
    events: sum(({ test }) => test.events.length),
    changed: sum(({ changes }) => changes.length),
    written_before: sum(({ written }) => written.base),
    written_after: sum(({ written }) => written.head),
    filtered_after: sum(({ written }) => written.filtered),
  };
}

/** Why a test could not be run to its end: of the first. */
function failureOf(results: readonly ChangeResult[]): string | undefined {
  const broken = results.find((one) => one.status === "broken");
  return broken && `${broken.test.name}: ${broken.failure}`;
}

function notCompared(found: readonly TestsOfChange[], why: string): Note {
  return {
    code: "TestsNotCompared",
    facts: { pipeline_ids: found.map(({ change }) => change.change.pipeline_id), why },
  };
}

function withNotes(preview: Preview, notes: readonly Note[]): Preview {
  return { ...preview, notes: [...preview.notes, ...notes] };
}
