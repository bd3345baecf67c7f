import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";

let clickhouse: TestClickHouse;

beforeAll(async () => {
  clickhouse = await useClickHouse();
});
afterAll(() => clickhouse.stop());
beforeEach(async () => {
  await clickhouse.client.command({ query: "DROP TABLE IF EXISTS t" });
  await clickhouse.client.command({
    query:
      "CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100",
  });
});

async function insert(id: number, token?: string): Promise<void> {
  const settings = token === undefined ? {} : { clickhouse_settings: { insert_deduplication_token: token } };
  await clickhouse.client.insert({ table: "t", values: [{ id }], format: "JSONEachRow", ...settings });
}
const ids = async (): Promise<number[]> =>
  (await clickhouse.query<{ id: number }>("SELECT id FROM t ORDER BY id")).map((row) => row.id);
const dropped = async (): Promise<number> => {
  const [row] = await clickhouse.query<{ n: string }>(
    "SELECT toString(sum(value)) AS n FROM system.events WHERE event = 'DuplicatedInsertedBlocks'",
  );
  return Number(row?.n);
};

test("an insert with a token that was used is dropped, and counted, whatever it holds", async () => {
  await insert(1, "a");
  const before = await dropped();
  await insert(2, "b");
  expect(await dropped()).toBe(before);
  await insert(1, "a");
  const once = (await dropped()) - before;
  expect(once).toBeGreaterThan(0);
  await insert(3, "a");
  expect(await dropped()).toBe(before + 2 * once);
  expect(await ids()).toEqual([1, 2]);
});

test("a token holds for its own request only", async () => {
  await insert(1, "a");
  await insert(2);
  await insert(3, "b");
  await insert(4);
  expect(await ids()).toEqual([1, 2, 3, 4]);
});

test("a token in the statement works as well", async () => {
  for (const id of [1, 2]) {
    const query = `INSERT INTO t SETTINGS insert_deduplication_token = 'c' FORMAT CSV\n${id}\n`;
    await clickhouse.client.command({ query });
  }
  await insert(3);
  expect(await ids()).toEqual([1, 3]);
});

test("no setting of a request is seen by another one, at the same time or later", async () => {
  const look = async (n: number): Promise<unknown> => {
    const query =
      "SELECT getSetting('max_threads') AS threads, getSetting('insert_deduplication_token') AS token, sleep(0.01) AS z";
    const settings = n % 2 ? { max_threads: n, insert_deduplication_token: `t${n}` } : {};
    const answer = await clickhouse.client.query({ query, format: "JSONEachRow", clickhouse_settings: settings });
    return (await answer.json<{ threads: number; token: string }>())[0];
  };
  const [usual] = await clickhouse.query<{ threads: number }>("SELECT getSetting('max_threads') AS threads");
  const seen = await Promise.all(Array.from({ length: 60 }, (_, n) => look(n)));
  const expected = Array.from({ length: 60 }, (_, n) => ({
    ...(n % 2 ? { threads: n, token: `t${n}` } : { threads: usual?.threads, token: "" }),
    z: 0,
  }));
  expect(seen).toEqual(expected);
});

const look = "SELECT currentDatabase() AS d, getSetting('max_threads') > 60 AS m, getSetting('readonly') AS r, ";
const basics =
  "toInt32(getSetting('async_insert')) AS a, toInt32(getSetting('implicit_select')) AS i, toInt32(getSetting('max_execution_time')) AS t";

test.each<[string, string, Record<string, string | number>]>([
  ["nothing", "SELECT 1", {}],
  ["SET", "SET max_threads = 63", {}],
  ["a setting that is refused", "SELECT 1 SETTINGS max_threads = 63, no_such = 1", {}],
  ["an error", "SELECT throwIf(1) SETTINGS max_threads = 63", { max_threads: 63 }],
  ["USE", "USE system", { max_threads: 63 }],
  ["settings with a value of ours", "SELECT 1", { async_insert: 1, implicit_select: 1, max_execution_time: 7 }],
  ["settings that set others or forbid it", "SELECT 1", { compatibility: "21.1", readonly: 1 }],
])(
  "a request finds what every request finds, and inserts are synchronous and bounded in time, after %s",
  async (_, query, settings) => {
    const before = clickhouse.client.command({ query, clickhouse_settings: settings });
    await before.catch(() => undefined);
    const seen = await Promise.all(Array.from({ length: 10 }, () => clickhouse.query(look + basics)));
    expect(seen).toEqual(Array.from({ length: 10 }, () => [{ d: "default", m: 0, r: 0, a: 0, i: 0, t: 300 }]));
  },
);

test("no request may run for ever", async () => {
  const query = "SELECT toInt32(getSetting('max_execution_time')) AS t";
  const answer = await clickhouse.client.query({
    query,
    format: "JSONEachRow",
    clickhouse_settings: { max_execution_time: 0 },
  });
  expect(await answer.json()).toEqual([{ t: 300 }]);
});
