import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;

beforeAll(async () => {
  running = await TestEngine.open();
});
afterAll(() => running.close());

const columns =
  "(id Int64, level String) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100";

async function create(pipeline_id: string): Promise<string> {
  return (await running.engine.create(webhookPipeline(pipeline_id), defaultOptions)).access_token!;
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
const ids = (table: string): Promise<number[]> => running.ids(table);

test("asking for the table to be created helps a pipeline that waits for it", { tags: ["rest"] }, async () => {
  const token = await create("wait-table");
  await post("wait-table", token, info(1));
  await paused("wait-table");
  await running.engine.configure("wait-table", createTable);
  await settled("wait-table");
  expect(await ids("wait_table")).toEqual([1]);
});

test(
  "a table that is another one when a batch is sent again: what no longer fits is a dead letter, nothing wraps",
  { tags: ["rest"] },
  async () => {
    await running.engine.sql(`CREATE TABLE other_one ${columns}`);
    const token = await create("other-one");
    await post("other-one", token, info(0));
    await settled("other-one");
    await running.engine.sql("DROP TABLE other_one SYNC");
    await post("other-one", token, info(1), info(70_000), info(2));
    await running.until(
      "other-one",
      ({ paused: pause, pending_batches }) => pause !== undefined && pending_batches === 1,
    );
    await post("other-one", token, info(50));
    await running.engine.sql(`CREATE TABLE other_one ${columns.replace("id Int64", "id Int16")}`);
    await settled("other-one");
    expect(await ids("other_one")).toEqual([1, 2, 50]);
    expect(running.engine.deadLetters("other-one").list(10).messages).toMatchObject([
      { reason: "schema_mismatch", error: expect.stringContaining("70000") },
    ]);
  },
);

test("a table that cannot drop repeats is said once, with the statement that mends it, and is written all the same", async () => {
  await running.engine.sql("CREATE TABLE no_window (id Int64, level String) ENGINE = MergeTree ORDER BY id");
  const token = await create("no-window");
  await post("no-window", token, info(1));
  const health = await settled("no-window");
  expect(health.at_least_once).toMatch(/ALTER TABLE .*no_window.* MODIFY SETTING non_replicated_deduplication_window/);
  expect(await ids("no_window")).toEqual([1]);
});
