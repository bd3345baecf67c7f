import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { EventList } from "../../../engine/event/event.ts";
import type { Block, Probe } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { type Proxy, proxyTo, type Said } from "./proxy.ts";
import { events, patient, sinkOn, type Wish } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

let server: TestClickHouse;
const sinks: ClickHouseSink[] = [];
const proxies: Proxy[] = [];

beforeAll(async () => {
  server = await useClickHouse();
  for (const query of [
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id Int64, n UInt8, CONSTRAINT small CHECK id < 1000, CONSTRAINT even CHECK n % 2 = 0) ENGINE = MergeTree ORDER BY id PARTITION BY n SETTINGS non_replicated_deduplication_window = 100",
    "CREATE TABLE d.behind (id Int64) ENGINE = MergeTree ORDER BY id",
    "CREATE MATERIALIZED VIEW d.view TO d.behind AS SELECT id FROM d.t",
    "INSERT INTO d.t VALUES (1, 2)",
  ]) {
    await server.client.command({ query });
  }
});

afterAll(() => server.stop());

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
});

const numbers: Wish["fields"] = [
  ["id", "int", "Int64"],
  ["n", "int", "UInt8"],
];

async function sinkAt(url: string, table: string, fields = numbers): Promise<ClickHouseSink> {
  const sink = sinkOn({ ...server, url }, { fields, table });
  sinks.push(sink);
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  return sink;
}

/** A sink, and the proxy that it goes through. */
async function through(instead: (statement: string) => Said | undefined): Promise<[ClickHouseSink, Proxy]> {
  const proxy = await proxyTo(server.url, instead);
  proxies.push(proxy);
  return [await sinkAt(proxy.url, "t"), proxy];
}

function said(status: number, code: number, name: string): Said {
  return { status, code, text: `Code: ${code}. DB::Exception: Something. (${name}) (version 25.8.1.1)` };
}

/** A block of these lines, whatever they are. */
function blockOf(lines: readonly string[]): Block {
  return {
    events: EventList.of(events(...lines)),
    body: Buffer.from(lines.map((line) => `${line}\n`).join("")),
    rejected: [],
  };
}

const good = '{"id":1,"n":2}';
const misfits: Record<string, [line: string, code: number]> = {
  type: ['{"id":"x","n":2}', 27],
  constraint: ['{"id":5000,"n":2}', 469],
  "other constraint": ['{"id":5,"n":3}', 469],
};

function found(probe: Probe): [row: number, code: number | undefined][] {
  if (probe.kind !== "found") throw new Error(JSON.stringify(probe));
  return probe.rows.map(({ row, failure }) => [row, failure.code]);
}

/** All that a probe could have changed. */
async function state(): Promise<unknown> {
  return server.query(
    "SELECT (SELECT count() FROM d.t) AS rows, (SELECT count() FROM d.behind) AS behind, (SELECT groupArray(name) FROM system.parts WHERE database = 'd') AS parts, (SELECT groupArray(name) FROM system.tables WHERE NOT startsWith(database, 'system') AND lower(database) != 'information_schema') AS tables",
  );
}

async function findsThem(_title: string, count: number, bad: Record<number, string>): Promise<void> {
  const before = await state();
  const sink = await sinkAt(server.url, "t");
  const lines = Array.from({ length: count }, (_, row) => misfits[bad[row] ?? ""]?.[0] ?? good);
  const expected = Object.entries(bad).map(([row, kind]) => [Number(row), misfits[kind]?.[1]]);
  const probe = await sink.probe(blockOf(lines), patient);
  expect(found(probe)).toEqual(expected);
  if (probe.kind === "found") {
    for (const { row, failure } of probe.rows) expect(failure).toMatchObject({ class: "row", row });
  }
  expect(await state()).toEqual(before);
}

describe("a probe finds", () => {
  const cases: [title: string, count: number, bad: Record<number, string>][] = [
    ["nothing where each row fits", 20, {}],
    ["a type", 20, { 7: "type" }],
    ["a constraint", 20, { 0: "constraint" }],
    ["types and constraints", 20, { 2: "constraint", 3: "type", 18: "constraint", 19: "type" }],
    ["two constraints, in any order", 20, { 3: "other constraint", 9: "constraint", 15: "other constraint" }],
    ["a row that stands alone", 1, { 0: "type" }],
    [
      "some among thousands",
      4500,
      { 0: "constraint", 999: "type", 1000: "other constraint", 2500: "type", 2501: "type", 4499: "constraint" },
    ],
    ["all of a block", 40, Object.fromEntries(Array.from({ length: 40 }, (_, row) => [row, "constraint"]))],
  ];

  test.each(cases.slice(0, 4))("%s, and writes nothing", findsThem);
  test.each(cases.slice(4))("%s, and writes nothing", { tags: ["rest"] }, findsThem);

  test("a default that fails, which names no row", async () => {
    await server.client.command({
      query: "CREATE TABLE d.made (s String, n UInt8 DEFAULT toUInt8(s)) ENGINE = MergeTree ORDER BY s",
    });
    const sink = await sinkAt(server.url, "made", [["s", "string", "String"]]);
    const lines = Array.from({ length: 50 }, (_, row) => (row % 20 === 13 ? '{"s":"x"}' : '{"s":"1"}'));
    expect(found(await sink.probe(blockOf(lines), patient))).toEqual([
      [13, 6],
      [33, 6],
    ]);
  });

  test("no row where an index is to blame, which is the table's and not the row's", async () => {
    await server.client.command({
      query: "CREATE TABLE d.indexed (s String, INDEX broken toUInt8(s) TYPE minmax) ENGINE = MergeTree ORDER BY s",
    });
    const sink = await sinkAt(server.url, "indexed", [["s", "string", "String"]]);
    const block = encoded(sink, events({ s: "1" }, { s: "x" }));
    expect(await sink.insert(block, "t", patient)).toMatchObject({
      kind: "unknown",
      failure: { class: "row", code: 6 },
    });
    expect(await sink.probe(block, patient)).toEqual({ kind: "found", rows: [] });
  });

  test("rows of a table with everything that a copy without storage cannot have", async () => {
    await server.client.command({
      query:
        "CREATE TABLE d.rich (id Int64 CODEC(Delta, ZSTD), l LowCardinality(UInt8), at DateTime DEFAULT now(), twice Int64 MATERIALIZED id * 2, CONSTRAINT small CHECK id < 10, INDEX i id TYPE minmax, PROJECTION p (SELECT id ORDER BY id)) ENGINE = ReplacingMergeTree ORDER BY id PARTITION BY l TTL at + INTERVAL 1 DAY SETTINGS deduplicate_merge_projection_mode = 'drop'",
      clickhouse_settings: { allow_suspicious_low_cardinality_types: 1 },
    });
    const sink = await sinkAt(server.url, "rich", [
      ["id", "int", "Int64"],
      ["l", "int", "UInt8"],
    ]);
    expect(found(await sink.probe(encoded(sink, events({ id: 1, l: 1 }, { id: 50, l: 1 })), patient))).toEqual([
      [1, 469],
    ]);
  });
});

test("probes leave nothing behind, however many there are", { tags: ["rest"], timeout: 120_000 }, async () => {
  const before = await state();
  const sink = await sinkAt(server.url, "t");
  // More than the sessions that the server keeps at a time.
  for (let each = 0; each < 101; each += 1) expect(found(await sink.probe(blockOf([good]), patient))).toEqual([]);
  expect(await state()).toEqual(before);
});

describe("a probe that cannot be made", () => {
  test.each([
    ["for the copy", "CREATE TEMPORARY TABLE"],
    ["for its settings", "SET"],
    ["for a row", "INSERT INTO `sluice_probe`"],
  ])("as the server has no memory %s is tried again", async (_title, words) => {
    const [sink] = await through((statement) =>
      statement.startsWith(words) ? said(500, 241, "MEMORY_LIMIT_EXCEEDED") : undefined,
    );
    expect(await sink.probe(blockOf([good]), patient)).toMatchObject({
      kind: "failed",
      failure: { class: "transient", code: 241 },
    });
  });

  test.each<[string, string, unknown]>([
    ["finds what does not fit the types", "type", { kind: "found", rows: [{ row: 1, failure: { code: 27 } }] }],
    ["says why it found nothing", "constraint", { kind: "failed", failure: { class: "setup", code: 60 } }],
  ])("on a copy that another server has %s", async (_title, kind, expected) => {
    const [sink, proxy] = await through((statement) =>
      statement.startsWith("INSERT INTO `sluice_probe`") ? said(404, 60, "UNKNOWN_TABLE") : undefined,
    );
    expect(await sink.probe(blockOf([good, misfits[kind]![0]]), patient)).toMatchObject(expected as object);
    expect(proxy.statements.at(-1)).toContain("INSERT INTO FUNCTION null('`id` Int64, `n` UInt8') (`id`, `n`)");
  });
});

test("a probe sends rows as an insert does", async () => {
  await server.client.command({ query: "CREATE TABLE d.times (at DateTime) ENGINE = MergeTree ORDER BY at" });
  const proxy = await proxyTo(server.url, () => undefined);
  proxies.push(proxy);
  const sink = await sinkAt(proxy.url, "times", [["at", "string", "DateTime"]]);
  // A time with a zone is one for inserts alone, by their settings.
  const lines = ['{"at":"2024-05-06T07:08:09+02:00"}', '{"at":"soon"}'];
  expect(found(await sink.probe(blockOf(lines), patient))).toEqual([[1, 41]]);
  expect(proxy.statements.slice(-5)).toEqual([
    "CREATE TEMPORARY TABLE `sluice_probe` AS `d`.`times` ENGINE = Null",
    expect.stringMatching(/^SET insert_deduplicate = '1', async_insert = '0', /),
    "INSERT INTO `sluice_probe` (`at`) FORMAT JSONEachRow",
    "INSERT INTO `sluice_probe` (`at`) FORMAT JSONEachRow",
    "DROP TEMPORARY TABLE `sluice_probe`",
  ]);
});
