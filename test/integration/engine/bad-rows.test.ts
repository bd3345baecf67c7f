import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  EngineOnServer,
  type Event,
  mappingOf,
  type Over,
  type ServerPipeline,
  tableOf,
  webhookOf,
} from "../../support/engine-on-server.ts";

let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
afterAll(() => on.stop());

const kept = "ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100";

/** Resolves when everything that was taken is settled, and so many dead letters are there. */
const settled = (pipeline: ServerPipeline, letters: number): ReturnType<ServerPipeline["until"]> =>
  pipeline.until(
    ({ stream, pending_batches, dead_letters }) =>
      stream!.messages + pending_batches === 0 && dead_letters.total_messages === letters,
  );

/** A pipeline with dedup whose columns have these types. */
const allKinds = (at: string, count: string): Over => ({
  sources: webhookOf({ id: "int", at: "string", price: "float", count: "int" }),
  transforms: [{ type: "dedup", source_id: "input", config: { key: "id", time_window: "1h" } }],
  sink: { max_batch_size: 4, mapping: mappingOf({ id: "Int64", at, price: "Float64", count }) },
});

test("of a batch with a row that breaks a type, a CHECK and a range each, one row is left; mended, each is there once", async () => {
  const pipeline_id = "all-kinds";
  const table = tableOf(pipeline_id);
  const events: Event[] = [
    { id: 1, at: "soon", price: 1, count: 1 },
    { id: 2, at: "2026-03-02", price: -5, count: 2 },
    { id: 3, at: "2026-03-03", price: 3, count: 300 },
    { id: 4, at: "2026-03-04", price: 4, count: 4 },
  ];
  const constraint = "CONSTRAINT not_free CHECK price > 0";
  await on.run(`CREATE TABLE ${table} (id Int64, at Date, price Float64, count UInt8, ${constraint}) ${kept}`);
  const pipeline = await on.create(pipeline_id, allKinds("Date", "UInt8"));
  await pipeline.post(...events);
  expect((await settled(pipeline, 3)).counters).toMatchObject({
    rows_written: 1,
    dead_lettered: 3,
    rows_excluded: 1,
  });
  expect(await on.ids(table)).toEqual([4]);
  const { messages } = on.engine.engine.deadLetters(pipeline_id).list(10);
  expect(Object.fromEntries(messages.map(({ position, error, reason }) => [position, { error, reason }]))).toEqual({
    1: {
      reason: "schema_mismatch",
      error: expect.stringMatching(/^field "at" does not fit column "at" of type Date: expected a date .*got "soon"$/),
    },
    2: {
      reason: "sink_rejection_VIOLATED_CONSTRAINT",
      error: expect.stringMatching(/`not_free`.* Expression: \(price > 0\)\. Column values: price = -5\b/),
    },
    3: {
      reason: "schema_mismatch",
      error: 'field "count" does not fit column "count" of type UInt8: expected a whole number from 0 to 255, got 300',
    },
  });
  expect(messages.map(({ position, original_message }) => [position, JSON.parse(original_message)])).toEqual(
    expect.arrayContaining(events.slice(0, 3).map((event) => [event.id, event])),
  );

  await on.run(`ALTER TABLE ${table} DROP CONSTRAINT not_free`);
  await on.run(`ALTER TABLE ${table} MODIFY COLUMN at String, MODIFY COLUMN count UInt16`);
  await pipeline.edit(allKinds("String", "UInt16"));
  const reprocessed = await on.engine.engine.reprocess(pipeline_id, { mode: "all" });
  expect(reprocessed).toMatchObject({ status: "accepted", accepted_count: 3 });
  await settled(pipeline, 0);
  expect(await on.server.query(`SELECT * FROM ${table} ORDER BY id`)).toEqual(events);

  // They are remembered now: what is sent again is a repeat.
  await pipeline.post(...events);
  await on.engine.engine.stop(pipeline_id);
  const { counters, keys, stream } = pipeline.health;
  expect(stream!.messages).toBe(0);
  expect(counters).toMatchObject({ rows_written: 4, duplicates_dropped: 4, rows_excluded: 1 });
  expect(keys).toMatchObject({ keys: 4 });
  expect(await on.ids(table)).toEqual([1, 2, 3, 4]);
});

/** Values that fit and that do not. */
const [good, bad] = [1, 300];
const ten = (from: number, n: number): Event[] => Array.from({ length: 10 }, (_, row) => ({ id: from + row, n }));
const idsOf = (...events: Event[][]): number[] => events.flat().map(({ id }) => id);
const over: Over = {
  sources: webhookOf({ id: "int", n: "int" }),
  sink: { max_batch_size: 10, max_delay_time: "200ms", mapping: mappingOf({ id: "Int64", n: "Int32" }) },
};

/** A pipeline whose table has these columns. */
async function createFor(pipeline_id: string, columns: string): Promise<ServerPipeline> {
  await on.run(`CREATE TABLE ${tableOf(pipeline_id)} (${columns}) ${kept}`);
  return on.create(pipeline_id, over);
}

describe.each([
  ["that the server refuses", "check", "id Int64, n Int32, CONSTRAINT small CHECK n < 100"],
  ["that do not fit their columns", "range", "id Int64, n UInt8"],
])("events %s", (_title, name, columns) => {
  test("pause no fresh pipeline, however many come first: they are dead letters, and the good ones after them rows", async () => {
    const pipeline = await createFor(`${name}-burst`, columns);
    await pipeline.post(...ten(0, bad), ...ten(10, bad), ...ten(20, good));
    const { paused, counters } = await settled(pipeline, 20);
    expect(paused).toBeUndefined();
    expect(counters).toMatchObject({ rows_written: 10, dead_lettered: 20 });
    expect(await on.ids(pipeline.table)).toEqual(idsOf(ten(20, good)));
  });
});

describe("events for a table that takes no row at all", () => {
  // A column that is made of another one, and cannot be.
  const columns = "id Int64, n Int32, made Int32 MATERIALIZED toInt32(concat('n', toString(n)))";
  const mend = "DROP COLUMN made";
  const name = "broken";
  const create = (pipeline_id: string): Promise<ServerPipeline> => createFor(pipeline_id, columns);

  /** Resolves when the events wait in a pause, and none more was dead-lettered; mends the table, and all are rows. */
  async function pausesUntilMended(pipeline: ServerPipeline, letters: number): Promise<void> {
    // For a moment it may still wait since its thread died.
    const { paused, dead_letters } = await pipeline.until((health) => health.paused?.class === "row");
    expect(paused).toMatchObject({ text: expect.stringMatching(/^no row of a batch of \d+ fits: /) });
    expect(dead_letters.total_messages).toBe(letters);
    await on.run(`ALTER TABLE ${pipeline.table} ${mend}`);
    expect((await settled(pipeline, letters)).paused).toBeUndefined();
  }

  test(
    "are dead letters where this revision has written, not after a restart either; since an ALTER it has not",
    { tags: ["rest"] },
    async () => {
      const pipeline = await createFor(`${name}-written`, "id Int64, n Int32, CONSTRAINT small CHECK n < 100");
      const batches = [ten(0, good), ten(10, bad), ten(20, good), ten(30, bad), ten(40, good)] as const;
      await pipeline.post(...batches[0]);
      await settled(pipeline, 0);
      await pipeline.post(...batches[1]);
      expect((await settled(pipeline, 10)).counters).toMatchObject({ rows_excluded: 10, dead_lettered: 10 });
      await pipeline.post(...batches[2]);
      await settled(pipeline, 10);

      await on.restart();
      await pipeline.post(...batches[3]);
      expect((await settled(pipeline, 20)).counters).toMatchObject({ rows_excluded: 10, dead_lettered: 10 });

      await on.laterSecond();
      await on.run(
        `ALTER TABLE ${pipeline.table} ADD COLUMN made Int32 MATERIALIZED toInt32(concat('n', toString(n)))`,
      );
      await pipeline.post(...batches[4]);
      await pausesUntilMended(pipeline, 20);
      expect(await on.ids(pipeline.table)).toEqual(idsOf(batches[0], batches[2], batches[4]));
    },
  );

  test("pause a pipeline that has written nothing yet, and are rows when the table is mended", async () => {
    const pipeline = await create(`${name}-fresh`);
    await pipeline.post(...ten(0, bad));
    await pausesUntilMended(pipeline, 0);
    expect(await on.ids(pipeline.table)).toEqual(idsOf(ten(0, bad)));
    expect(pipeline.health.counters).toMatchObject({ rows_written: 10, rows_excluded: 0, dead_lettered: 0 });
  });

  test("pause it over a restart, and are rows when the table is mended then", { tags: ["rest"] }, async () => {
    const pipeline = await create(`${name}-restart`);
    await pipeline.post(...ten(0, bad));
    await pipeline.until((health) => health.paused !== undefined);
    await on.restart();
    await pausesUntilMended(pipeline, 0);
    expect(await on.ids(pipeline.table)).toEqual(idsOf(ten(0, bad)));
    expect(pipeline.health.counters).toMatchObject({ rows_written: 10, batches_replayed: 1, batches_uncertain: 0 });
  });

  test(
    "pause it when its thread has died, and are rows when the table is mended then",
    { tags: ["rest"] },
    async () => {
      const pipeline = await create(`${name}-died`);
      await pipeline.post(...ten(0, bad));
      await pipeline.until((health) => health.paused !== undefined);
      await on.killThreads();
      await pipeline.until(({ counters }) => counters.batches_replayed === 1);
      await pausesUntilMended(pipeline, 0);
      expect(await on.ids(pipeline.table)).toEqual(idsOf(ten(0, bad)));
      expect(pipeline.health.counters).toMatchObject({ rows_written: 10, batches_uncertain: 0 });
    },
  );

  test("pause one until a commit names another table, which has their rows then", { tags: ["rest"] }, async () => {
    const pipeline = await create(`${name}-commit`);
    await on.run(`CREATE TABLE ${pipeline.table}_whole (id Int64, n Int32) ${kept}`);
    await pipeline.post(...ten(0, bad));
    const { dead_letters } = await pipeline.until((health) => health.paused?.class === "row");
    expect(dead_letters.total_messages).toBe(0);
    await pipeline.edit({ ...over, sink: { ...over.sink, table: `${pipeline.table.replace(/^d\./, "")}_whole` } });
    const { counters, dead_letters: letters } = await pipeline.until(
      ({ stream, pending_batches, paused }) => stream!.messages + pending_batches === 0 || paused !== undefined,
    );
    expect(await on.ids(`${pipeline.table}_whole`)).toEqual(idsOf(ten(0, bad)));
    expect(letters.total_messages).toBe(0);
    expect(counters).toMatchObject({ rows_written: 10, batches_reprepared: 1, batches_uncertain: 1 });
  });
});
