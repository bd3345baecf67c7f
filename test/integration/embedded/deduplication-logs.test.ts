import { watch } from "node:fs";
import { appendFile, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EmbeddedClickHouse } from "../../../engine/embedded-clickhouse/embedded-clickhouse.ts";
import { isEveryCase } from "../../support/cases.ts";
import { silent } from "../../support/clickhouse.ts";

let dataDir: string;
/** What was said of logs that were mended. */
let mended: unknown[];
const started: EmbeddedClickHouse[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "sluice-deduplication-logs-"));
  mended = [];
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.close()));
  await rm(dataDir, { recursive: true, force: true });
});

function warn(fields: object, text: string): void {
  if (text.includes("were repaired")) mended.push(fields);
}

async function start(): Promise<EmbeddedClickHouse> {
  const one = await EmbeddedClickHouse.start({ dataDir, log: { ...silent, warn } });
  started.push(one);
  return one;
}

const window = "SETTINGS non_replicated_deduplication_window = 1000";
async function insert(one: EmbeddedClickHouse, table: string, token: number, rows: number[][]): Promise<void> {
  const csv = rows.map((row) => row.join(",")).join("\n");
  await one.query(`INSERT INTO ${table} SETTINGS insert_deduplication_token = '${token}' FORMAT CSV\n${csv}\n`);
}
async function numbers(one: EmbeddedClickHouse): Promise<number[]> {
  return JSON.parse(await one.query("SELECT groupArray(n) FROM (SELECT n FROM t ORDER BY n)")) as number[];
}
async function folderOf(one: EmbeddedClickHouse, table: string): Promise<string> {
  return (await one.query(`SELECT data_paths[1] FROM system.tables WHERE name = '${table}'`)).trim();
}
const logOf = (folder: string): string => join(folder, "deduplication_logs", "deduplication_log_1.txt");

/** Stops it, and takes parts away as a kill does: their tokens stay. */
async function without(one: EmbeddedClickHouse, ...parts: string[]): Promise<EmbeddedClickHouse> {
  const folder = await folderOf(one, "t");
  await one.close();
  for (const part of parts) await rm(join(folder, part), { recursive: true });
  return start();
}

describe("a token that was noted, and whose rows a kill kept away", () => {
  test("takes its rows when it is sent again, and no other token does", async () => {
    const one = await start();
    await one.query(`CREATE TABLE t (n Int64) ENGINE = MergeTree ORDER BY n ${window}`);
    for (const n of [1, 2, 3, 4]) await insert(one, "t", n, [[n]]);
    const two = await without(one, "all_3_3_0");
    expect(mended).toEqual([{ tokens: 1, lines: 0 }]);
    expect(await numbers(two)).toEqual([1, 2, 4]);
    for (const n of [1, 2, 3, 4]) await insert(two, "t", n, [[n]]);
    expect(await numbers(two)).toEqual([1, 2, 3, 4]);
    await two.close();
    const three = await start();
    for (const n of [1, 2, 3, 4]) await insert(three, "t", n, [[n]]);
    expect(await numbers(three)).toEqual([1, 2, 3, 4]);
    expect(mended).toHaveLength(1);
  });

  test("is told from tokens whose parts were merged, mutated or dropped", { tags: ["rest"] }, async () => {
    const one = await start();
    await one.query(`CREATE TABLE t (n Int64, x Int64) ENGINE = MergeTree PARTITION BY n % 3 ORDER BY n ${window}`);
    for (const n of [0, 1, 2, 3, 4, 5]) await insert(one, "t", n, [[n, 0]]);
    await one.query("OPTIMIZE TABLE t FINAL");
    await one.query("ALTER TABLE t UPDATE x = 1 WHERE n < 2 SETTINGS mutations_sync = 2");
    await one.query("ALTER TABLE t DROP PARTITION 2");
    const folder = await folderOf(one, "t");
    const merged = await readdir(folder);
    expect(merged, "the parts that were noted are not there any more").not.toContain("0_1_1_0");
    await insert(one, "t", 6, [[6, 0]]);
    const last = (await readdir(folder)).filter((name) => !merged.includes(name));
    expect(last).toHaveLength(1);
    const two = await without(one, ...last);
    expect(mended).toEqual([{ tokens: 1, lines: 0 }]);
    for (const n of [0, 1, 3, 4, 6]) await insert(two, "t", n, [[n, 0]]);
    expect(await numbers(two)).toEqual([0, 1, 3, 4, 6]);
  });

  test("takes the rows of the partitions that are not there, and no others", { tags: ["rest"] }, async () => {
    const one = await start();
    await one.query(`CREATE TABLE t (n Int64) ENGINE = MergeTree PARTITION BY n ORDER BY n ${window}`);
    await insert(one, "t", 1, [[1], [2], [3], [4]]);
    const parts = (await readdir(await folderOf(one, "t"))).filter((name) => /^[34]_/.test(name));
    const two = await without(one, ...parts);
    expect(await numbers(two)).toEqual([1, 2]);
    await insert(two, "t", 1, [[1], [2], [3], [4]]);
    expect(await numbers(two)).toEqual([1, 2, 3, 4]);
    expect(mended).toEqual([{ tokens: 2, lines: 0 }]);
  });
});

test("a log whose last line was cut off forgets no token, then or later", { tags: ["rest"] }, async () => {
  const one = await start();
  await one.query(`CREATE TABLE t (n Int64) ENGINE = MergeTree ORDER BY n ${window}`);
  await insert(one, "t", 1, [[1]]);
  const log = logOf(await folderOf(one, "t"));
  await one.close();
  await appendFile(log, "1\tall_2_2");
  const two = await start();
  expect(mended).toEqual([{ tokens: 0, lines: 1 }]);
  for (const n of [1, 2, 3]) await insert(two, "t", n, [[n]]);
  await two.close();
  expect((await readFile(log, "utf8")).split("\n")).toHaveLength(4);
  const three = await start();
  for (const n of [1, 2, 3]) await insert(three, "t", n, [[n]]);
  expect(await numbers(three)).toEqual([1, 2, 3]);
});

test(
  "inserts that kills cut off are there once each when they are sent again",
  { tags: ["rest"], timeout: 180_000 },
  async () => {
    const tables = ["a", "b"];
    // A partition for each row: each notes its token and puts its part in place, one after the other.
    const rows = Array.from({ length: 20 }, (_, n) => n);
    const batches = new Map(tables.map((table) => [table, 0]));
    const sendAgain = (one: EmbeddedClickHouse, table: string): Promise<void> => {
      const batch = batches.get(table) ?? 0;
      const values = rows.map((n) => [batch, n]);
      return insert(one, table, batch, values);
    };
    const sendOn = async (one: EmbeddedClickHouse, table: string): Promise<never> => {
      for (;;) {
        batches.set(table, (batches.get(table) ?? 0) + 1);
        await sendAgain(one, table);
      }
    };
    let one = await start();
    for (const table of tables) {
      const columns = "(batch Int64, n Int64) ENGINE = MergeTree PARTITION BY n ORDER BY n";
      await one.query(`CREATE TABLE ${table} ${columns} ${window}`);
    }
    const folders = await Promise.all(tables.map((table) => folderOf(one, table)));
    // Until some of them came between a token and its rows, which most do not.
    for (let kill = 1; kill <= kills || (kill <= 60 && mended.length < kills / 4); kill += 1) {
      const killed = killAfter(1 + ((kill * 7) % rows.length), folders, one.pid);
      await Promise.allSettled([killed, ...tables.map((table) => sendOn(one, table))]);
      await one.close();
      one = await start();
      await Promise.all(tables.map((table) => sendAgain(one, table)));
    }
    for (const table of tables) {
      const whole = `count() = ${rows.length} AND uniqExact(n) = ${rows.length}`;
      const counted = `SELECT count(), countIf(whole) FROM (SELECT ${whole} AS whole FROM ${table} GROUP BY batch)`;
      expect((await one.query(counted)).trim()).toBe(`${batches.get(table)}\t${batches.get(table)}`);
    }
    expect(mended, "a kill came between a token and its rows").not.toEqual([]);
  },
);

/** How many kills there are at least. */
const kills = isEveryCase ? 12 : 4;

/** Kills a process when it has written into the logs so many times. */
async function killAfter(writes: number, folders: string[], pid: number): Promise<void> {
  const watching = new AbortController();
  let seen = 0;
  await new Promise<void>((resolve) => {
    for (const folder of folders) {
      watch(join(folder, "deduplication_logs"), { signal: watching.signal }, () => {
        seen += 1;
        if (seen !== writes) return;
        process.kill(pid, "SIGKILL");
        resolve();
      });
    }
  });
  watching.abort();
}
