import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer } from "../../../engine/core/sink.ts";
import { ClickHouseProxy } from "../../support/clickhouse-proxy.ts";
import { encoded } from "../../support/encoded.ts";
import { RestrictedClickHouse } from "./restricted.ts";
import { events, patient, sinkOn } from "./support.ts";

const ok = { kind: "ok" };
const ids = Array.from({ length: 40 }, (_, id) => ({ id }));
let clickhouse: RestrictedClickHouse;

beforeAll(async () => {
  clickhouse = await RestrictedClickHouse.create();
  const window = "SETTINGS non_replicated_deduplication_window = 100";
  await clickhouse.as({}, async ({ client }) => {
    for (const query of [
      "CREATE DATABASE d",
      `CREATE TABLE d.t (id Int64) ENGINE = MergeTree ORDER BY id ${window}`,
      `CREATE TABLE d.collected (id Int64) ENGINE = MergeTree ORDER BY id ${window}, async_insert = 1`,
      `CREATE TABLE d.slow (id Int64, slept UInt8 MATERIALIZED sleepEachRow(0.05)) ENGINE = MergeTree ORDER BY id ${window}`,
    ]) {
      await client.command({ query });
    }
  });
});
afterAll(() => clickhouse.remove());

/** What a sink under this profile is answered to two equal inserts, and the parts and rows that the table then has. */
function insertedTwice(profile: string, table: string): Promise<{ answers: Answer[]; parts: number; rows: number }> {
  return clickhouse.as({ profile }, async (server) => {
    const sink = sinkOn(server, { fields: [["id", "int", "Int64"]], table });
    const answers = [await sink.open(patient)];
    for (const token of ["a", "a"]) answers.push(await sink.insert(encoded(sink, events(...ids)), token, patient));
    const counts = `SELECT count() AS parts, toUInt32(sum(rows)) AS rows FROM system.parts WHERE active AND table = '${table}'`;
    const [counted] = await server.query<{ parts: string; rows: number }>(counts);
    await server.client.command({ query: `TRUNCATE TABLE d.${table}` });
    await sink.close();
    return { answers, parts: Number(counted!.parts), rows: counted!.rows };
  });
}

async function expectUnchanged(profile: string): Promise<void> {
  expect(await insertedTwice(profile, "t")).toEqual({ answers: [ok, ok, ok], parts: 1, rows: 40 });
}

test("a profile that does not deduplicate inserts changes nothing: one part, once", async () => {
  await expectUnchanged("<deduplicate_insert>disable</deduplicate_insert>");
});

test.each([
  [
    "splits an insert into blocks",
    "<use_strict_insert_block_limits>1</use_strict_insert_block_limits><max_insert_block_size_bytes>100</max_insert_block_size_bytes>",
  ],
  ["inserts asynchronously", "<async_insert>1</async_insert><wait_for_async_insert>0</wait_for_async_insert>"],
])("a profile that %s changes nothing: one part, once", { tags: ["rest"] }, async (_title, profile) => {
  await expectUnchanged(profile);
});

test(
  "a profile that ends slow statements without an error does not make rows that are not there an answer of success",
  { tags: ["rest"] },
  async () => {
    const profile = "<timeout_overflow_mode>break</timeout_overflow_mode>";
    const [answer, rows] = await clickhouse.as({ profile }, async (server) => {
      const proxy = await ClickHouseProxy.start(server.url);
      // The embedded server has a limit of its own, which no profile changes.
      proxy.decideInserts(() => ({ kind: "pass", parameters: { max_execution_time: "1" } }));
      const sink = sinkOn({ ...server, url: proxy.url }, { fields: [["id", "int", "Int64"]], table: "slow" });
      expect(await sink.open(patient)).toEqual(ok);
      const inserted = await sink.insert(encoded(sink, events(...ids)), "a", patient);
      const [counted] = await server.query<{ rows: string }>("SELECT count() AS rows FROM d.slow");
      await sink.close();
      await proxy.close();
      return [inserted, Number(counted!.rows)] as const;
    });
    expect([answer.kind, rows]).toEqual(["unknown", 0]);
  },
);

test("a table that collects inserts is not written before it is altered", { tags: ["rest"] }, async () => {
  await clickhouse.as({}, async (server) => {
    const sink = sinkOn(server, { fields: [["id", "int", "Int64"]], table: "collected" });
    const remedy = "ALTER TABLE `d`.`collected` MODIFY SETTING async_insert = 0";
    expect(await sink.open(patient)).toMatchObject({
      kind: "refused",
      failure: { class: "setup", text: expect.stringContaining(remedy) as string },
    });
    await server.client.command({ query: remedy });
    expect(await sink.open(patient)).toEqual(ok);
    await sink.close();
  });
});
