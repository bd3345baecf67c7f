import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { Gate, pass } from "../../support/clickhouse-proxy.ts";
import { EngineOnServer, type ServerPipeline, tableOf } from "../../support/engine-on-server.ts";

let on: EngineOnServer;
let pipeline: ServerPipeline;
let made = 0;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
beforeEach(() => stuck(`view-${++made}`));
afterEach(() => on.proxy.decide());
afterAll(() => on.stop());

const kept = (columns: string): string =>
  `(${columns}) ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100`;
const reading = (table: string, level: string): string => `SELECT id, ${level} AS level FROM ${table}`;
const strict = "toUInt64(level)";
const tolerant = "toUInt64OrZero(level)";
const createView = (level: string): Promise<unknown> =>
  on.run(
    `CREATE MATERIALIZED VIEW ${pipeline.table}_view TO ${pipeline.table}_out AS ${reading(pipeline.table, level)}`,
  );

/** A table with a view that takes numbers alone: 1 and 2 are in both, 3 and 4 in the table, 5 and 6 come behind. */
async function stuck(pipeline_id: string): Promise<void> {
  await on.run(`CREATE TABLE ${tableOf(pipeline_id)} ${kept("id Int64, level String")}`);
  await on.run(`CREATE TABLE ${tableOf(pipeline_id)}_out ${kept("id Int64, level UInt64")}`);
  pipeline = await on.create(pipeline_id);
  await createView(strict);
  await pipeline.post(...[1, 2].map(number));
  await pipeline.settled();
  await pipeline.post(number(3), { id: 4, level: "no number" });
  const { paused, dead_letters } = await pipeline.paused(/while pushing to view d\.view_\d+_view/);
  expect(paused).toMatchObject({ class: "view", way_out: expect.stringContaining("the rows in the base table") });
  expect(dead_letters.total_messages).toBe(0);
  expect(await there()).toEqual({ table: [1, 2, 3, 4], view: [1, 2] });
  await pipeline.post(...[5, 6].map(number));
}

const number = (id: number): { id: number; level: string } => ({ id, level: String(id) });

async function there(): Promise<{ table: number[]; view: number[] }> {
  return { table: await on.ids(pipeline.table), view: await on.ids(`${pipeline.table}_out`) };
}

const everything = [1, 2, 3, 4, 5, 6];

test("a view whose query is changed gets the rows of the batch that waits, and the table has them once", async () => {
  await on.run(`ALTER TABLE ${pipeline.table}_view MODIFY QUERY ${reading(pipeline.table, tolerant)}`);
  const { counters, dead_letters } = await pipeline.settled();
  expect(await there()).toEqual({ table: everything, view: everything });
  expect(counters).toMatchObject({ rows_written: 6, view_errors_ignored: 0, batches_uncertain: 0, rows_excluded: 0 });
  expect(counters.inserts_repeated).toBeGreaterThan(0);
  expect(dead_letters.total_messages).toBe(0);
  expect(new Set(pipeline.inserts.map(({ token }) => token)).size).toBe(3);
});

test("a view that is dropped and made again gets them as well", { tags: ["rest"] }, async () => {
  const mended = new Gate();
  on.proxy.decide(() => mended.opened.then(() => pass));
  await on.run(`DROP VIEW ${pipeline.table}_view SYNC`);
  await createView(tolerant);
  mended.open();
  const { counters } = await pipeline.settled();
  expect(await there()).toEqual({ table: everything, view: everything });
  expect(counters.inserts_repeated).toBeGreaterThan(0);
});

test("with on_view_error: skip, set while a batch waits, the view is left without its rows, which is counted", async () => {
  await pipeline.configure({ on_view_error: "skip" });
  const { counters, dead_letters } = await pipeline.settled();
  expect(await there()).toEqual({ table: everything, view: [1, 2, 5, 6] });
  expect(counters).toMatchObject({
    rows_written: 6,
    view_errors_ignored: 1,
    batches_replayed: 1,
    batches_uncertain: 0,
  });
  expect(dead_letters.total_messages).toBe(0);
});

test(
  "a commit that names another table leaves the batch where it is, and its view to be mended",
  { tags: ["rest"] },
  async () => {
    await on.run(`CREATE TABLE ${pipeline.table}_other ${kept("id Int64, level String")}`);
    await pipeline.edit({ sink: { table: `${pipeline.table.slice(2)}_other` } });
    await pipeline.until(({ paused }) => paused?.class === "view");
    await on.run(`ALTER TABLE ${pipeline.table}_view MODIFY QUERY ${reading(pipeline.table, tolerant)}`);
    const { counters } = await pipeline.settled();
    expect(await there()).toEqual({ table: [1, 2, 3, 4], view: [1, 2, 3, 4] });
    expect(await on.ids(`${pipeline.table}_other`)).toEqual([5, 6]);
    expect(counters).toMatchObject({ rows_written: 6, batches_replayed: 1, batches_reprepared: 0 });
    expect(counters.inserts_repeated).toBeGreaterThan(0);
  },
);
