/** @module-tag rest */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { patient, sinkOn } from "./support.ts";

let server: TestClickHouse;

beforeAll(async () => {
  server = await useClickHouse();
  const window = "SETTINGS non_replicated_deduplication_window =";
  for (const query of [
    "CREATE DATABASE d",
    `CREATE TABLE d.good (id Int64) ENGINE = MergeTree ORDER BY id ${window} 100`,
    `CREATE TABLE d.short (id Int64) ENGINE = ReplacingMergeTree ORDER BY id ${window} 99`,
    "CREATE TABLE d.none (id Int64) ENGINE = MergeTree ORDER BY id",
    "CREATE TABLE d.nil (id Int64) ENGINE = Null",
    "CREATE TABLE d.memory (id Int64) ENGINE = Memory",
    `CREATE TABLE d.seen (id Int64) ENGINE = MergeTree ORDER BY id ${window} 1000`,
    `CREATE TABLE d.kept (id Int64) ENGINE = MergeTree ORDER BY id ${window} 1000`,
    "CREATE MATERIALIZED VIEW d.good_view TO d.kept AS SELECT id FROM d.seen",
    `CREATE TABLE d.leaky (id Int64) ENGINE = MergeTree ORDER BY id ${window} 1000`,
    `CREATE TABLE d.\`odd \`\` name\` (id Int64) ENGINE = MergeTree ORDER BY id`,
    "CREATE MATERIALIZED VIEW d.bad_view TO d.`odd `` name` AS SELECT id FROM d.leaky",
    `CREATE TABLE d.inner (id Int64) ENGINE = MergeTree ORDER BY id ${window} 1000`,
    "CREATE MATERIALIZED VIEW d.inner_view ENGINE = MergeTree ORDER BY id AS SELECT id, 'a TO b.c' AS s FROM d.inner",
    `CREATE TABLE d.chain (id Int64) ENGINE = MergeTree ORDER BY id ${window} 1000`,
    `CREATE TABLE d.middle (id Int64) ENGINE = MergeTree ORDER BY id ${window} 1000`,
    "CREATE MATERIALIZED VIEW d.first_view TO d.middle AS SELECT id FROM d.chain",
    "CREATE MATERIALIZED VIEW d.second_view TO d.none AS SELECT id FROM d.middle",
  ]) {
    await server.client.command({ query });
  }
});

afterAll(() => server.stop());

async function opened(table: string): Promise<string | undefined> {
  const sink = sinkOn(server, { fields: [["id", "int", "Int64"]], table });
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  await sink.close();
  return sink.atLeastOnce;
}

test.each([
  ["a table with a window of 100", "good"],
  ["a table whose view writes to one that has a window too", "seen"],
])("%s drops repeats", async (_title, table) => {
  expect(await opened(table)).toBeUndefined();
});

test.each([
  [
    "a window that is too short",
    "short",
    "ALTER TABLE `d`.`short` MODIFY SETTING non_replicated_deduplication_window = 10000",
  ],
  ["no window", "none", "ALTER TABLE `d`.`none` MODIFY SETTING non_replicated_deduplication_window = 10000"],
  ["the engine Null", "nil", "d.nil has the engine Null"],
  ["the engine Memory", "memory", "d.memory has the engine Memory"],
  ["no window behind a view", "leaky", "ALTER TABLE `d`.`odd `` name` MODIFY SETTING"],
  ["no window in a view's own table", "inner", "ALTER TABLE `d`.`.inner_id."],
  ["no window behind a view behind a view", "chain", "ALTER TABLE `d`.`none` MODIFY SETTING"],
])("a table with %s does not, and says what mends it", async (_title, table, expected) => {
  expect(await opened(table)).toContain(expected);
});

test("the statement that it gives does mend it", async () => {
  await server.client.command({ query: "CREATE TABLE d.mended (id Int64) ENGINE = MergeTree ORDER BY id" });
  const statement = /ALTER TABLE [^(]* = \d+/.exec((await opened("mended")) ?? "")?.[0] ?? "";
  await server.client.command({ query: statement });
  expect(await opened("mended")).toBeUndefined();
});
