import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;
let workers: Worker[];
const noteWorker = (worker: Worker): void => void workers.push(worker);

beforeEach(async () => {
  workers = [];
  process.on("worker", noteWorker);
  running = await TestEngine.open();
});

afterEach(async () => {
  process.off("worker", noteWorker);
  await running.close();
});

const columns =
  "(id Int64, level String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100";

async function create(pipeline_id: string, over: Record<string, unknown> = {}): Promise<string> {
  return (await running.engine.create(webhookPipeline(pipeline_id, over), defaultOptions)).access_token!;
}

async function post(pipeline_id: string, token: string, ...events: { id: number; level: string }[]): Promise<void> {
  const answers = await Promise.all(events.map((event) => running.post(pipeline_id, token, event)));
  expect(answers.map(({ status }) => status)).toEqual(events.map(() => 202));
}

const info = (id: number): { id: number; level: string } => ({ id, level: "info" });
const settled = (pipeline_id: string): ReturnType<TestEngine["until"]> =>
  running.until(pipeline_id, ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
const paused = (pipeline_id: string): ReturnType<TestEngine["until"]> =>
  running.until(pipeline_id, ({ paused: pause }) => pause !== undefined);
const ids = async (table: string): Promise<number[]> =>
  (await running.rows<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => Number(id));

test("a missing table is a pause that says what to do, ends by itself, and dead-letters nothing", async () => {
  const token = await create("no-table");
  await post("no-table", token, info(1), info(2));
  const { paused: pause, overall_status } = await paused("no-table");
  expect(overall_status).toBe("Running");
  expect(pause).toMatchObject({ class: "setup", text: expect.stringMatching(/no_table.*create_table: true/s) });

  await running.engine.sql(`CREATE TABLE no_table ${columns}`);
  const health = await settled("no-table");
  expect(await ids("no_table")).toEqual([1, 2]);
  expect(health).toMatchObject({ dead_letters: { total_messages: 0 }, counters: { rows_written: 2 } });
  expect(health.paused).toBeUndefined();
});

test("asking for the table to be created helps a pipeline that waits for it", async () => {
  const token = await create("wait-table");
  await post("wait-table", token, info(1));
  await paused("wait-table");
  await running.engine.configure("wait-table", createTable);
  await settled("wait-table");
  expect(await ids("wait_table")).toEqual([1]);
});

test("rows that the server refuses go to the dead letters alone, with what it said", async () => {
  await running.engine.sql(
    `CREATE TABLE some_bad (id Int64, level String, CONSTRAINT small CHECK id < 100) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100`,
  );
  const token = await create("some-bad");
  await post("some-bad", token, info(1), info(500), info(2), info(600));
  await settled("some-bad");
  expect(await ids("some_bad")).toEqual([1, 2]);
  const { messages } = running.engine.deadLetters("some-bad").list(10);
  expect(messages).toMatchObject(
    [500, 600].map((id) => ({
      component: "sink",
      reason: "sink_rejection_VIOLATED_CONSTRAINT",
      error: expect.stringContaining("small"),
      original_message: JSON.stringify(info(id)),
    })),
  );
});

test("when the table takes no row at all, it is wrong and not the rows: a pause, and nothing is dead-lettered", async () => {
  await running.engine.sql(
    `CREATE TABLE all_bad (id Int64, level String, made Int32 MATERIALIZED toInt32(concat('x', level))) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100`,
  );
  const token = await create("all-bad");
  await post("all-bad", token, ...Array.from({ length: 30 }, (_, id) => info(id)));
  const { paused: pause } = await paused("all-bad");
  expect(pause).toMatchObject({ class: "row", text: expect.stringContaining("no row of a batch of 30 fits") });
  expect(running.engine.deadLetters("all-bad").state().total_messages).toBe(0);

  await running.engine.sql("ALTER TABLE all_bad DROP COLUMN made");
  await settled("all-bad");
  expect(await ids("all_bad")).toHaveLength(30);
  expect(running.engine.deadLetters("all-bad").state().total_messages).toBe(0);
});

/** A pipeline whose table is dropped while it runs, with `refused` in a batch that is refused and 50 behind it. */
async function createRefused(
  pipeline_id: string,
  table: string,
  ...refused: { id: number; level: string }[]
): Promise<void> {
  await running.engine.sql(`CREATE TABLE ${table} ${columns}`);
  const token = await create(pipeline_id);
  await post(pipeline_id, token, info(0));
  await settled(pipeline_id);
  await running.engine.sql(`DROP TABLE ${table} SYNC`);
  await post(pipeline_id, token, ...(refused.length === 0 ? [info(1)] : refused));
  await running.until(
    pipeline_id,
    ({ paused: pause, pending_batches }) => pause !== undefined && pending_batches === 1,
  );
  await post(pipeline_id, token, info(50));
}

test("a batch that met only refusals is made again by the config that an edit brought", async () => {
  await createRefused("edit-late", "edit_late");
  await running.engine.stop("edit-late");
  expect(running.engine.health("edit-late")).toMatchObject({ overall_status: "Stopped", pending_batches: 1 });

  const config = webhookPipeline("edit-late", {
    transforms: [{ type: "filter", source_id: "input", config: { expression: "id > 10" } }],
    sink: { ...webhookPipeline("edit-late").sink, table: "another_table" },
  });
  await running.engine.update("edit-late", config, createTable);
  await running.engine.resume("edit-late");
  await settled("edit-late");
  expect(await ids("another_table")).toEqual([50]);
});

test("a table that is another one when a batch is sent again: what no longer fits is a dead letter, nothing wraps", async () => {
  await createRefused("other-one", "other_one", info(1), info(70_000), info(2));
  await running.engine.sql(`CREATE TABLE other_one ${columns.replace("id Int64", "id Int16")}`);
  await settled("other-one");
  expect(await ids("other_one")).toEqual([1, 2, 50]);
  expect(running.engine.deadLetters("other-one").list(10).messages).toMatchObject([
    { reason: "schema_mismatch", error: expect.stringContaining("70000") },
  ]);
});

test("a batch under way outlives its process and is inserted once", async () => {
  await createRefused("carry-on", "carry_on");
  await running.close({ keep: true });

  running = await TestEngine.open({ dataDir: running.dataDir });
  expect(running.engine.health("carry-on").pending_batches).toBe(1);
  await running.engine.sql(`CREATE TABLE carry_on ${columns}`);
  const { counters } = await settled("carry-on");
  expect(await ids("carry_on")).toEqual([1, 50]);
  expect(counters.batches_replayed).toBe(1);
});

test("a thread that dies takes nothing with it: its pipelines go on in another one", async () => {
  await running.engine.sql(`CREATE TABLE thread_gone ${columns}`);
  const token = await create("thread-gone");
  await post("thread-gone", token, info(1));
  await settled("thread-gone");
  expect(workers).toHaveLength(1);
  await workers[0]!.terminate();
  await post("thread-gone", token, info(2));
  await settled("thread-gone");
  expect(await ids("thread_gone")).toEqual([1, 2]);
  expect(running.engine.get("thread-gone").status).toBe("Running");
  expect(running.log.lines.map(({ sentence }) => sentence)).toContain(
    "A pipeline thread died; its pipelines are started again.",
  );
});

test("a table that cannot drop repeats is said once, with the statement that mends it, and is written all the same", async () => {
  await running.engine.sql("CREATE TABLE no_window (id Int64, level String) ENGINE = MergeTree ORDER BY id");
  const token = await create("no-window");
  await post("no-window", token, info(1));
  const health = await settled("no-window");
  expect(health.at_least_once).toMatch(/ALTER TABLE .*no_window.* MODIFY SETTING non_replicated_deduplication_window/);
  expect(await ids("no_window")).toEqual([1]);
});

test("several inserts in flight commit in order and lose nothing", async () => {
  await running.engine.sql(`CREATE TABLE in_flight ${columns}`);
  const token = await create("in-flight", {
    sink: { ...webhookPipeline("in-flight").sink, max_batch_size: 5, max_delay_time: "10ms" },
    resources: { sink: { replicas: 4 }, nats: { stream: { max_msgs: -1 } } },
  });
  await post("in-flight", token, ...Array.from({ length: 200 }, (_, id) => info(id)));
  const { counters } = await settled("in-flight");
  expect(counters.rows_written).toBe(200);
  const written = await ids("in_flight");
  expect(written.filter((id, index) => id !== index)).toEqual([]);
  expect(written).toHaveLength(200);
});
