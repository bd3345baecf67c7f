import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;

beforeAll(async () => {
  running = await TestEngine.open();
});

afterAll(() => running.close());

const window = "SETTINGS non_replicated_deduplication_window = 100";
let made = 0;
let pipeline_id: string;
let table: string;

beforeEach(() => {
  made += 1;
  pipeline_id = `letter-box-${made}`;
  table = `letter_box_${made}`;
});

/** A pipeline whose table takes ids below 100 only, one row written and the events with `ids` in the dead letters. */
async function withLetters(...ids: number[]): Promise<void> {
  const constraint = "CONSTRAINT small CHECK id < 100";
  await running.engine.sql(
    `CREATE TABLE ${table} (id Int64, level String, ${constraint}) ENGINE = MergeTree ORDER BY id ${window}`,
  );
  const { access_token } = await running.engine.create(webhookPipeline(pipeline_id), defaultOptions);
  for (const id of [1, ...ids]) await running.post(pipeline_id, access_token!, { id, level: "info" });
  await settled(ids.length);
}

const settled = (letters: number): Promise<unknown> =>
  running.until(
    pipeline_id,
    ({ stream, pending_batches, dead_letters }) =>
      stream!.messages + pending_batches === 0 && dead_letters.total_messages === letters,
  );

const mend = (): Promise<string> => running.engine.sql(`ALTER TABLE ${table} DROP CONSTRAINT small`);
const queue = (): ReturnType<TestEngine["engine"]["deadLetters"]> => running.engine.deadLetters(pipeline_id);
const ids = (): Promise<number[]> => running.ids(table);
const listed = (): string[] =>
  queue()
    .list(100)
    .messages.map(({ message_id }) => message_id);

test("letters that are reprocessed after the table was mended become rows, and leave the queue", async () => {
  await withLetters(500, 600);
  const places = queue()
    .list(10)
    .messages.map(({ position }) => position);
  expect(places, "those of their events in the stream").toEqual([2, 3]);
  await mend();
  expect(await running.engine.reprocess(pipeline_id, { mode: "all" })).toMatchObject({
    status: "accepted",
    accepted_count: 2,
  });
  await settled(0);
  expect(await ids()).toEqual([1, 500, 600]);
});

test(
  "letters that fail again are letters again, under new ids, and none is lost or doubled",
  { tags: ["rest"] },
  async () => {
    await withLetters(500, 600);
    await running.engine.reprocess(pipeline_id, { mode: "all" });
    await running.until(pipeline_id, ({ pending_batches }) => pending_batches === 0 && listed().join() === "3,4");
    expect(await ids()).toEqual([1]);
    expect(queue().state().total_messages).toBe(2);
  },
);

test("a selection takes the letters that it names, and tells which ids name none", { tags: ["rest"] }, async () => {
  await withLetters(500, 600, 700);
  await mend();
  const selection = { mode: "selected", message_ids: ["2", "9", "x", "2"] } as const;
  expect(await running.engine.reprocess(pipeline_id, selection)).toMatchObject({
    request_id: expect.stringMatching(/^dlq-reprocess-[0-9a-f-]{36}$/),
    status: "partial",
    accepted_count: 1,
    unknown: ["9", "x"],
  });
  await settled(2);
  expect(await ids()).toEqual([1, 600]);
  expect(listed()).toEqual(["1", "3"]);
});

test("letters whose batch cannot be written yet stay in the queue, held, also through a restart, and are written once", async () => {
  await withLetters(500, 600);
  await running.engine.sql(`DROP TABLE ${table} SYNC`);
  await running.engine.reprocess(pipeline_id, { mode: "all" });
  await running.until(pipeline_id, ({ paused, pending_batches }) => paused !== undefined && pending_batches === 1);
  expect(listed()).toEqual(["1", "2"]);
  expect(await running.engine.reprocess(pipeline_id, { mode: "all" })).toMatchObject({ accepted_count: 0 });
  expect(await queue().consume(10)).toEqual([]);
  expect(await queue().purge()).toBe(0);
  await running.close({ keep: true });

  running = await TestEngine.open({ dataDir: running.dataDir });
  await running.engine.sql(`CREATE TABLE ${table} (id Int64, level String) ENGINE = MergeTree ORDER BY id ${window}`);
  await settled(0);
  expect(await ids()).toEqual([500, 600]);
});

test("a letter of a transformed event is sent again as it was received", async () => {
  const constraint = "CONSTRAINT small CHECK twice < 100";
  await running.engine.sql(
    `CREATE TABLE ${table} (twice Int64, ${constraint}) ENGINE = MergeTree ORDER BY twice ${window}`,
  );
  const transforms = [{ expression: "id * 2", output_name: "twice", output_type: "int" }];
  const config = webhookPipeline(pipeline_id, {
    transforms: [{ type: "stateless", source_id: "input", config: { transforms } }],
    sink: {
      ...webhookPipeline(pipeline_id).sink,
      mapping: [{ name: "twice", column_name: "twice", column_type: "Int64" }],
    },
  });
  const { access_token } = await running.engine.create(config, defaultOptions);
  for (const id of [1, 400]) await running.post(pipeline_id, access_token!, { id, level: "info" });
  await settled(1);
  expect(queue().list(1).messages[0]!.original_message).toBe('{"twice":800}');
  await mend();
  await running.engine.reprocess(pipeline_id, { mode: "all" });
  await settled(0);
  expect(await running.rows(`SELECT twice FROM ${table} ORDER BY twice`)).toEqual([{ twice: 2 }, { twice: 800 }]);
});

test("consume takes the oldest out, once, and says when", { tags: ["rest"] }, async () => {
  await withLetters(500, 600, 700);
  expect((await queue().consume(2)).map(({ message_id }) => message_id)).toEqual(["1", "2"]);
  expect(queue().state()).toMatchObject({ total_messages: 1, last_consumed_at: expect.any(String) });
  expect((await queue().consume(2)).map(({ message_id }) => message_id)).toEqual(["3"]);
  expect(await queue().consume(2)).toEqual([]);
});

test("discard and purge take letters out for good", { tags: ["rest"] }, async () => {
  await withLetters(500, 600, 700);
  expect(await queue().discard({ mode: "selected", message_ids: ["1", "5"] })).toEqual({
    discarded_count: 1,
    unknown: ["5"],
  });
  expect(listed()).toEqual(["2", "3"]);
  expect(await queue().purge()).toBe(2);
  expect(queue().state().total_messages).toBe(0);
  expect(await queue().discard({ mode: "all" })).toEqual({ discarded_count: 0, unknown: [] });
});

test("a pipeline that does not run reprocesses nothing, and says so", async () => {
  await running.engine.create(webhookPipeline(pipeline_id), createTable);
  await running.engine.stop(pipeline_id);
  await expect(running.engine.reprocess(pipeline_id, { mode: "all" })).rejects.toMatchObject({
    code: "INVALID_STATUS_TRANSITION",
    message: expect.stringContaining("resume it before"),
  });
});
