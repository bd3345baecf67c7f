/** @module-tag rest */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  EngineOnServer,
  type Event,
  mappingOf,
  type ServerPipeline,
  tableOf,
  webhookOf,
} from "../../support/engine-on-server.ts";

/** Tables that are altered under a pipeline that runs. */
let on: EngineOnServer;

beforeAll(async () => {
  on = await EngineOnServer.start();
});
afterAll(() => on.stop());

const kept = "ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100";
const goodOnly = `(id Int64, level String, CONSTRAINT good CHECK level = 'good') ${kept}`;
const ten = (level: string): Event[] => Array.from({ length: 10 }, (_, id) => ({ id, level }));

/** What becomes of ten events that fill a batch and that the table refuses. */
async function outcome(pipeline: ServerPipeline): Promise<"a pause" | "dead letters"> {
  await pipeline.post(...ten("bad"));
  const { paused } = await pipeline.until(
    (health) => health.paused !== undefined || health.dead_letters.total_messages > 0,
  );
  return paused === undefined ? "dead letters" : "a pause";
}

test("ten bad events do not pause a pipeline that has written since its table was altered", async () => {
  await on.run(`CREATE TABLE ${tableOf("since")} ${goodOnly}`);
  const pipeline = await on.create("since", { sink: { max_batch_size: 10 } });
  await pipeline.post(...ten("good"));
  await pipeline.settled();
  await on.laterSecond();
  await on.run(`ALTER TABLE ${pipeline.table} ADD COLUMN later String`);
  await pipeline.post(...ten("good"));
  await pipeline.settled();
  expect(await outcome(pipeline)).toBe("dead letters");
});

test("events pause a pipeline of the embedded ClickHouse that has not where its table takes none since, in the database default too", async () => {
  const sql = (statement: string): Promise<string> => on.engine.engine.sql(statement, "TSV");
  await sql(`CREATE TABLE of_default ${goodOnly}`);
  const connection_params = { host: "embedded", database: "default" };
  const pipeline = await on.create("of-default", { sink: { connection_params, max_batch_size: 10 } });
  await pipeline.post(...ten("good"));
  await pipeline.settled();
  await on.laterSecond();
  await sql("ALTER TABLE of_default ADD COLUMN later Int32 MATERIALIZED toInt32(concat('x', level))");
  expect(await outcome(pipeline)).toBe("a pause");
});

test("a column that is made narrower holds no value that wrapped", async () => {
  await on.run(`CREATE TABLE ${tableOf("narrow")} (id Int64, n Int32) ${kept}`);
  const pipeline = await on.create("narrow", {
    sources: webhookOf({ id: "int", n: "int" }),
    sink: { max_batch_size: 1, mapping: mappingOf({ id: "Int64", n: "Int32" }) },
  });
  await pipeline.post({ id: 0, n: 1 });
  await pipeline.settled();
  await on.run(`ALTER TABLE ${pipeline.table} MODIFY COLUMN n UInt8`);
  // The table is looked at again after a few inserts.
  for (let id = 1; id <= 10; id += 1) {
    await pipeline.post({ id, n: 1 });
    await pipeline.settled();
  }
  await pipeline.post({ id: 11, n: 300 });
  expect((await pipeline.settled()).dead_letters.total_messages).toBe(1);
  expect(await on.server.query(`SELECT DISTINCT n FROM ${pipeline.table}`)).toEqual([{ n: 1 }]);
});

test("a table that was dropped is made again where the file asks for that, which is said and counted", async () => {
  const pipeline = await on.create("dropped", { sink: { max_batch_size: 1 } }, { create_table: true });
  await pipeline.post({ id: 1, level: "good" });
  await pipeline.settled();
  await on.run(`DROP TABLE ${pipeline.table} SYNC`);
  await pipeline.post({ id: 2, level: "good" });
  const { counters } = await pipeline.until(({ counters: { rows_written } }) => rows_written === 2);
  expect(counters.tables_created).toBe(2);
  expect(await on.server.query(`SELECT level FROM ${pipeline.table}`)).toEqual([{ level: "good" }]);
  const said = on.engine.log.lines.filter(({ sentence }) => sentence === "Created the target table.");
  expect(said.filter(({ fields }) => fields["pipeline_id"] === "dropped")).toHaveLength(2);
});
