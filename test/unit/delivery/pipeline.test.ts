import { afterAll, beforeAll, expect, test } from "vitest";
import { quietAttempts } from "../../../engine/core/pause.ts";
import type { Answer, Sink } from "../../../engine/core/sink.ts";
import { Pipeline, type PipelineOptions } from "../../../engine/delivery/pipeline.ts";
import type { DeadLetters } from "../../../engine/state/dead-letters.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { RememberedKeys } from "../../../engine/transforms/dedup/remembered-keys.ts";
import { openJournal } from "../../support/journal.ts";
import { breaches } from "../../support/model/breaches.ts";
import { ModelLog, type Fate } from "../../support/model/events.ts";
import { modelLine } from "../../support/model/line.ts";
import { ModelTarget, repeated } from "../../support/model/target.ts";
import { World, type WorldOptions } from "../../support/model/world.ts";

let close: () => Promise<void>;
let letters: DeadLetters;
let journal: StoreJournal;

beforeAll(async () => void ({ journal, letters, close } = await openJournal()));

afterAll(() => close());

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const event = (key: string, fate: Fate = "row") => ({ key, fate, partition: 1 });

const shape: WorldOptions = {
  hasDedup: false,
  replicas: 1,
  window: 10_000,
  on_uncertain: "insert",
  on_view_error: "pause",
};

test("a batch with as many dead letters as rows is durable before it is sent", async () => {
  const world = new World("half-dead", journal, letters, shape);
  await world.let({ kind: "tricks", tricks: ["unknown, all in", ...repeated("unknown, nothing in")] });
  await world.let({ kind: "push", events: [event("a"), event("b", "transform")] });
  await world.let({ kind: "work", turns: 40 });
  await world.let({ kind: "crash" });
  await world.settle();
  expect(breaches(world, false)).toEqual([]);
});

test("dead letters that are sent again become rows, also over a crash at any moment", async () => {
  for (let turns = 0; turns < 20; turns += 1) {
    const world = new World(`again-${turns}`, journal, letters, shape);
    await world.let({ kind: "push", events: [event("a", "server"), event("b")] });
    await world.let({ kind: "work", turns: 60 });
    expect(world.letters).toHaveLength(1);
    await world.let({ kind: "mend" });
    await world.let({ kind: "reprocess" });
    await world.let({ kind: "work", turns });
    await world.let({ kind: "crash" });
    await world.let({ kind: "work", turns: 60 });
    if (world.letters.length > 0) await world.let({ kind: "reprocess" });
    await world.let({ kind: "work", turns: 60 });
    await world.settle();
    expect(world.target.rows.map(({ key }) => key).toSorted()).toEqual(["a", "b"]);
    expect(world.letters).toEqual([]);
  }
});

/** A pipeline of a revision that reads a log into a table; what it told is counted. */
function pipelineOf(
  pipeline_id: string,
  { log, table, revision = 1, ...changes }: Scene,
): { pipeline: Pipeline; told: string[] } {
  const told: string[] = [];
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  const lineOf = (made: number) => modelLine(made, false, keys, table, new Map([[undefined, 1e9]]));
  const pipeline = new Pipeline({
    pipeline_id,
    source: log.reading(journal, pipeline_id),
    telemetry: new Proxy({} as Telemetry, { get: (_target, what: string) => () => void told.push(what) }),
    limits: { max_batch_size: 3, max_delay_time: "0s" },
    maxAge: Infinity,
    clock: { now: () => 1_000, earlier: () => 1_000 },
    replicas: 1,
    journal,
    options: { on_uncertain: "insert", on_lost: "pause", on_view_error: "pause" },
    keys,
    letters: [],
    compiled: lineOf(revision),
    compiledOf: lineOf,
    pace: nextTurn,
    ...changes,
  });
  return { pipeline, told };
}

interface Scene extends Partial<PipelineOptions> {
  log: ModelLog;
  table: ModelTarget;
  revision?: number;
}

function scene(...events: ReturnType<typeof event>[]): { log: ModelLog; table: ModelTarget } {
  const log = new ModelLog();
  log.push(events);
  return { log, table: new ModelTarget(10_000) };
}

test("an error that no retry mends ends the pipeline, though its source has nothing more to read", async () => {
  const { log, table } = scene(event("a"));
  const source = log.reading(journal, "damaged");
  source.acknowledge = () => {
    throw new Error("the stream is damaged");
  };
  await expect(pipelineOf("damaged", { log, table, source }).pipeline.run()).rejects.toThrow("the stream is damaged");
});

test("the records of a pipeline that writes into a join say so, those of another do not", async () => {
  for (const [pipeline_id, into] of Object.entries({ "to-join": "join", "to-table": undefined } as const)) {
    const { log, table } = scene(event("a"));
    table.next = repeated("refuse");
    const { pipeline } = pipelineOf(pipeline_id, { log, table, ...(into && { into }) });
    const ended = pipeline.run();
    while (journal.pendingCount(pipeline_id) === 0) await nextTurn();
    pipeline.abort();
    await ended;
    expect(journal.pending(pipeline_id).map((record) => record.into)).toEqual([into]);
  }
});

const failed = (of: "transient" | "disk" | "setup"): Answer => {
  return { kind: "refused", failure: { class: of, name: "UNKNOWN", text: "it cannot be opened" } };
};

/** A batch of revision 1 that may be in the table, met by revision 2. To revision 1 the table answers so when it opens it. */
async function metByRevision2(pipeline_id: string, answers: Answer[]): Promise<{ rows: number; told: string[] }> {
  const { log, table } = scene(event("a"), event("b", "even"));
  table.next = repeated("unknown, nothing in");
  const first = pipelineOf(pipeline_id, { log, table });
  const ended = first.pipeline.run();
  while (!first.told.includes("insertFailed")) await nextTurn();
  first.pipeline.abort();
  await ended;
  table.next = [];
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  const earlier = modelLine(1, false, keys, table, new Map([[undefined, 1e9]]));
  const sink: Sink = Object.assign(earlier.sink, { open: async () => answers.shift() ?? ({ kind: "ok" } as const) });
  const compiledOf = () => ({ ...earlier, sink });
  const second = pipelineOf(pipeline_id, { log, table, revision: 2, compiledOf });
  const left = second.pipeline.run();
  while (journal.pendingCount(pipeline_id) > 0) await nextTurn();
  second.pipeline.abort();
  await left;
  expect(answers).toEqual([]);
  return { rows: table.rows.length, told: second.told };
}

test("a batch that may be in the table is sent as the revision made it that sent it", async () => {
  const { rows, told } = await metByRevision2("as-made", []);
  expect(rows).toBe(2);
  expect(told).not.toContain("batchReprepared");
});

test("so it is where its table cannot be reached for a while, which is shown as a pause", async () => {
  const attempts = Array.from({ length: quietAttempts }, () => failed("transient"));
  const { rows, told } = await metByRevision2("as-made-later", [failed("disk"), ...attempts]);
  expect(rows).toBe(2);
  expect(told).not.toContain("batchReprepared");
  expect(told.filter((what) => what === "paused")).toHaveLength(2);
});

test("where that revision cannot open its table any more, the present one makes the same events again", async () => {
  const { rows, told } = await metByRevision2("as-made-anew", [failed("setup")]);
  expect(rows).toBe(2);
  expect(told.filter((what) => what === "batchReprepared")).toHaveLength(1);
});

test("the reading that a batch is prepared with may be some inserts old: its insert costs no other request", async () => {
  const { log, table } = scene(event("a"));
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  const line = modelLine(1, false, keys, table, new Map([[undefined, 1e9]]));
  const read = line.sink.read.bind(line.sink);
  const asked: boolean[] = [];
  line.sink.read = async (isFresh, signal) => {
    asked.push(isFresh);
    const answer = await read(isFresh, signal);
    return answer.kind === "read" ? { ...answer, reading: { ...answer.reading, taken: Date.now() } } : answer;
  };
  const { pipeline } = pipelineOf("unread", { log, table, compiled: line });
  const ended = pipeline.run();
  while (table.rows.length === 0) await nextTurn();
  pipeline.abort();
  await ended;
  expect(asked).toEqual([false]);
});
