import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { EmbeddedClickHouse } from "../../../engine/embedded-clickhouse/embedded-clickhouse.ts";
import { startClickHouse, type TestClickHouse } from "../../support/clickhouse.ts";
import { attributeObstacle, isSynced, onDisk } from "../../support/disk-folder.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";

const obstacle = attributeObstacle();
let dataDir: string;
let server: TestClickHouse;
let one: EmbeddedClickHouse;

beforeAll(async () => {
  if (obstacle !== undefined) return;
  dataDir = await mkdtemp(join(onDisk, "sluice-kept-tokens-"));
  server = await startClickHouse({ dataDir });
  one = server.embedded;
});
afterAll(async () => {
  if (obstacle !== undefined) return;
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});
beforeEach(({ skip }) => requireOrSkip(obstacle, skip));

const engine = "ENGINE = MergeTree ORDER BY n";
const window = "non_replicated_deduplication_window";

/** The folder of the deduplication log of a table, and its files. */
async function logsOf(table: string): Promise<string[]> {
  const [database, name] = table.includes(".") ? table.split(".") : ["default", table];
  const where = `WHERE database = '${database}' AND name = '${name}'`;
  const path = (await one.query(`SELECT data_paths[1] FROM system.tables ${where}`)).trim();
  const folder = join(path, "deduplication_logs");
  return [folder, ...(await readdir(folder)).map((file) => join(folder, file))];
}
const memory = async (): Promise<{ identity: string; unsynced_in?: string }> =>
  JSON.parse(await readFile(join(dataDir, "clickhouse", "memory.json"), "utf8")) as { identity: string };

/** Whether the log of a table is there, and each of its files on disk write by write. */
async function isKept(table: string): Promise<boolean> {
  const logs = await logsOf(table);
  return logs.length > 1 && logs.every(isSynced);
}

test("the log of a new table is on disk write by write, before the answer", async () => {
  await one.query(`CREATE TABLE made (n Int64) ${engine} SETTINGS ${window} = 100`);
  expect(await isKept("made")).toBe(true);
  expect(await memory()).toEqual({ identity: one.memory });
});

test("so is that of a table which is given a window later", { tags: ["rest"] }, async () => {
  await one.query(`CREATE TABLE later (n Int64) ${engine}`);
  await one.query(`ALTER TABLE later MODIFY SETTING ${window} = 100`);
  expect(await isKept("later")).toBe(true);
});

test("so are the files that take the place of a full log", { tags: ["rest"] }, async () => {
  await one.query(`CREATE TABLE rotated (n Int64) ${engine} SETTINGS ${window} = 2`);
  const [, first] = await logsOf("rotated");
  for (let n = 0; n < 20; n += 1) {
    await one.query(`INSERT INTO rotated SETTINGS insert_deduplication_token = '${n}' FORMAT CSV\n${n}\n`);
  }
  expect(await logsOf("rotated"), "it was rotated").not.toContain(first);
  expect(await isKept("rotated")).toBe(true);
});

test(
  "so is that of a table that takes the place of another in a database without UUIDs",
  { tags: ["rest"] },
  async () => {
    const clickhouse_settings = { allow_deprecated_database_ordinary: 1 } as Record<string, number>;
    await server.client.command({ query: "CREATE DATABASE old ENGINE = Ordinary", clickhouse_settings });
    const create = `CREATE TABLE old.t (n Int64) ${engine} SETTINGS ${window} = 100`;
    await one.query(create);
    const before = await logsOf("old.t");
    expect(await isKept("old.t")).toBe(true);
    await one.query("DROP TABLE old.t SYNC");
    await one.query(create);
    expect(await logsOf("old.t"), "at the same place").toEqual(before);
    expect(await isKept("old.t")).toBe(true);
  },
);

test(
  "while a statement makes a table it is noted that tokens may be lost, and no longer",
  { tags: ["rest"] },
  async () => {
    const create = `CREATE TABLE slow ${engine} SETTINGS ${window} = 100 AS SELECT sleepEachRow(0.2) AS n FROM numbers(10)`;
    const made = one.query(create);
    await expect.poll(memory, { timeout: 60_000 }).toHaveProperty("unsynced_in");
    await one.query(`CREATE TABLE meanwhile (n Int64) ${engine} SETTINGS ${window} = 100`);
    expect(await memory(), "the other one is still being made").toHaveProperty("unsynced_in");
    await made;
    expect(await memory()).toEqual({ identity: one.memory });
  },
);
