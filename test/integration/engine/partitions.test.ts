/** @module-tag rest */
import { afterAll, beforeAll, expect, test } from "vitest";
import { EngineOnServer, type Event, type ServerPipeline, tableOf } from "../../support/engine-on-server.ts";
import { RestrictedClickHouse } from "../sink/restricted.ts";

let clickhouse: RestrictedClickHouse;

beforeAll(async () => {
  clickhouse = await RestrictedClickHouse.create();
});
afterAll(() => clickhouse.remove());

/** Runs `work` on an engine whose pipelines write to a server that has this profile. */
function withProfile(profile: string, work: (on: EngineOnServer) => Promise<void>): Promise<void> {
  return clickhouse.as({ profile }, async (server) => {
    const on = await EngineOnServer.start(server);
    try {
      await work(on);
    } finally {
      await on.stop();
    }
  });
}

const kept = "SETTINGS non_replicated_deduplication_window = 10000";
/** More than the server allows in one insert by default. */
const partitions = 110;
const events = (from: number): Event[] =>
  Array.from({ length: partitions }, (_, row) => ({ id: from + row, level: String(row) }));
const idsUpTo = (count: number): number[] => Array.from({ length: count }, (_, row) => row);

/** In whatever order. */
const pour = (pipeline: ServerPipeline, from: number): Promise<unknown> =>
  Promise.all(events(from).map((event) => pipeline.post(event)));

async function create(on: EngineOnServer, pipeline_id: string): Promise<ServerPipeline> {
  const columns = "(id Int64, level String) ENGINE = MergeTree ORDER BY id PARTITION BY level";
  await on.run(`CREATE TABLE ${tableOf(pipeline_id)} ${columns} ${kept}`);
  return on.create(pipeline_id, { sink: { max_batch_size: partitions } });
}

test("a batch over 110 partitions is written once, where the limit is 100 and may be raised", async () => {
  const on = await EngineOnServer.start();
  try {
    const pipeline = await create(on, "may-raise");
    await pour(pipeline, 0);
    await pipeline.settled();
    await pour(pipeline, partitions);
    const { counters, dead_letters } = await pipeline.settled();
    expect(await on.ids(pipeline.table)).toEqual(idsUpTo(2 * partitions));
    expect(counters).toMatchObject({ rows_written: 2 * partitions, rows_excluded: 0 });
    expect(dead_letters.total_messages).toBe(0);
    // The first one met the limit, which stays raised for the second.
    const [first, again, second, ...others] = pipeline.inserts;
    expect([first, again, second].map((insert) => insert?.status)).toEqual([500, 200, 200]);
    expect(again?.token).toBe(first?.token);
    expect(others).toEqual([]);
    // On a busy machine an insert may take long, which is a pause too, of class transient.
    const pauses = on.engine.log.lines.filter(({ sentence }) => sentence === "Pipeline is paused.");
    expect(pauses.filter(({ fields }) => fields["class"] !== "transient")).toEqual([]);
  } finally {
    await on.stop();
  }
});

test("where the profile forbids to raise it, that is a pause, until the table has fewer partitions", async () => {
  const forbidden =
    "<constraints><max_partitions_per_insert_block><const/></max_partitions_per_insert_block></constraints>";
  await withProfile(forbidden, async (on) => {
    const pipeline = await create(on, "may-not");
    await pour(pipeline, 0);
    const { paused, overall_status, dead_letters } = await pipeline.paused(/max_partitions_per_insert_block/);
    expect(overall_status).toBe("Running");
    expect(paused).toMatchObject({ class: "partitions", way_out: expect.stringContaining("another PARTITION BY") });
    expect(dead_letters.total_messages).toBe(0);
    expect(await on.ids(pipeline.table)).toEqual([]);

    await on.run(
      `CREATE OR REPLACE TABLE ${pipeline.table} (id Int64, level String) ENGINE = MergeTree ORDER BY id ${kept}`,
    );
    const { counters, dead_letters: letters } = await pipeline.settled();
    expect(await on.ids(pipeline.table)).toEqual(idsUpTo(partitions));
    expect(counters).toMatchObject({ rows_written: partitions, inserts_repeated: 0, batches_uncertain: 0 });
    expect(letters.total_messages).toBe(0);
  });
});
