import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Reading } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { denied, type Proxy, proxyTo, type Said } from "./proxy.ts";
import { events, patient, sinkOn } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

let server: TestClickHouse;
const sinks: ClickHouseSink[] = [];
const proxies: Proxy[] = [];

beforeAll(async () => {
  server = await useClickHouse();
  await run("CREATE DATABASE d");
});

afterAll(() => server.stop());

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
});

const run = (query: string): Promise<unknown> => server.client.command({ query });

/** An empty table with a partition for each `p`. */
async function table(name: string, window = 100): Promise<void> {
  await run(
    `CREATE TABLE d.${name} (id Int64, p Int64) ENGINE = MergeTree ORDER BY id PARTITION BY p SETTINGS non_replicated_deduplication_window = ${window}`,
  );
}

/** What goes into one table goes into the other too. */
function view(from: string, to: string): Promise<unknown> {
  return run(`CREATE MATERIALIZED VIEW d.${from}_view TO d.${to} AS SELECT id, p FROM d.${from}`);
}

function sinkAt(url: string, name: string): ClickHouseSink {
  const sink = sinkOn(
    { ...server, url },
    {
      fields: [
        ["id", "int", "Int64"],
        ["p", "int", "Int64"],
      ],
      table: name,
    },
  );
  sinks.push(sink);
  return sink;
}

async function opened(name: string, url = server.url): Promise<ClickHouseSink> {
  const sink = sinkAt(url, name);
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  return sink;
}

async function read(sink: ClickHouseSink, isFresh = true): Promise<Reading> {
  const answer = await sink.read(isFresh, patient);
  if (answer.kind !== "read") throw new Error(answer.failure.text);
  return answer.reading;
}

let tokens = 0;

async function insert(sink: ClickHouseSink, partitions: number): Promise<void> {
  const rows = Array.from({ length: partitions }, (_, p) => ({ id: 1, p }));
  expect(await sink.insert(encoded(sink, events(...rows)), `t${++tokens}`, patient)).toEqual({ kind: "ok" });
}

/** A proxy that says `instead` for statements which hold `words`. */
async function proxied(words: string, said: Said | undefined): Promise<Proxy> {
  const proxy = await proxyTo(server.url, (statement) => (statement.includes(words) ? said : undefined));
  proxies.push(proxy);
  return proxy;
}

describe("a reading", () => {
  test("has the table's UUID, the server's clock, its blocks and its window", async () => {
    await table("plain");
    const [row] = await server.query<{ uuid: string; altered: string }>(
      "SELECT toString(uuid) AS uuid, toUnixTimestamp(metadata_modification_time) AS altered FROM system.tables WHERE name = 'plain'",
    );
    const before = Date.now();
    const reading = await read(await opened("plain"));
    expect(reading).toEqual({
      table: row?.uuid,
      time: expect.any(Number),
      blocks: 0,
      uptime: expect.any(Number),
      window: { entries: 100, seconds: Infinity },
      altered: Number(row?.altered) * 1000,
      description: expect.stringContaining("CREATE TABLE d.plain"),
      taken: expect.any(Number),
    });
    // Server and test share a clock.
    expect(reading.time).toBeGreaterThanOrEqual(before);
    expect(reading.time).toBeLessThanOrEqual(Date.now());
  });

  test("needs no open before it", async () => {
    await table("unopened");
    expect(await read(sinkAt(server.url, "unopened"))).toMatchObject({ blocks: 0, window: { entries: 100 } });
  });

  test("counts a block for each partition of each insert", async () => {
    await table("counted");
    const sink = await opened("counted");
    const blocks = [(await read(sink)).blocks];
    for (const partitions of [1, 3, 110]) {
      await insert(sink, partitions);
      blocks.push((await read(sink)).blocks);
    }
    expect(blocks).toEqual([0, 1, 4, 114]);
  });

  test("counts on where parts are merged", { tags: ["rest"] }, async () => {
    await table("merged");
    const sink = await opened("merged");
    for (let each = 0; each < 3; each += 1) await insert(sink, 1);
    await run("OPTIMIZE TABLE d.merged FINAL");
    expect((await read(sink)).blocks).toBe(3);
    await insert(sink, 1);
    expect((await read(sink)).blocks).toBe(4);
  });

  test("tells one table from the next of the same name", { tags: ["rest"] }, async () => {
    await table("twice");
    const sink = await opened("twice");
    const first = await read(sink);
    await run("DROP TABLE d.twice SYNC");
    await table("twice", 200);
    const second = await read(sink);
    expect(second.table).not.toBe(first.table);
    expect(second.window.entries).toBe(200);
  });

  test("says when the table was altered", { tags: ["rest"] }, async () => {
    await table("altered");
    const sink = await opened("altered");
    const before = await read(sink);
    // The server counts in seconds.
    while (Math.floor((await read(sink)).time / 1000) * 1000 === before.altered) await sleep(20);
    await run("ALTER TABLE d.altered ADD COLUMN more Int64");
    const after = await read(sink);
    expect(after.table).toBe(before.table);
    expect(after.altered).toBeGreaterThan(before.altered);
    expect(after.altered).toBeLessThanOrEqual(after.time);
  });

  test("of a missing table is a setup failure that says how to get it", async () => {
    const sink = sinkAt(server.url, "missing");
    expect(await sink.read(true, patient)).toMatchObject({
      kind: "refused",
      failure: { class: "setup", text: expect.stringContaining("set x-sluice.create_table: true") },
    });
    await table("missing");
    expect(await read(sink)).toMatchObject({ blocks: 0 });
    await run("DROP TABLE d.missing SYNC");
    expect(await sink.read(true, patient)).toMatchObject({ kind: "refused", failure: { class: "setup" } });
  });

  test("has no blocks where this user may not see the parts, and then asks no more", async () => {
    await table("hidden");
    const proxy = await proxied("system.parts", denied("SELECT(max_block_number) ON system.parts"));
    const sink = await opened("hidden", proxy.url);
    for (let each = 0; each < 3; each += 1) {
      const reading = await read(sink);
      expect(reading).toMatchObject({ window: { entries: 100 } });
      expect(reading).not.toHaveProperty("blocks");
    }
    expect(proxy.statements.filter((statement) => statement.includes("system.parts"))).toHaveLength(1);
  });
});

describe("the window is the smallest of what an insert reaches", () => {
  test.each([
    ["of two tables behind views", "chained", 30],
    ["of a table that remembers nothing", "none", 0],
  ])("%s", async (_title, target, entries) => {
    for (const [suffix, window] of Object.entries({ "": 100, _chained: 50, _last: 30, _none: 0 })) {
      await table(`to_${target}${suffix}`, window);
    }
    await view(`to_${target}_chained`, `to_${target}_last`);
    await view(`to_${target}`, `to_${target}_${target}`);
    expect((await read(await opened(`to_${target}`))).window).toEqual({ entries, seconds: Infinity });
  });

  test("a view that comes later is seen, and what it writes to counts", { tags: ["rest"] }, async () => {
    await table("later");
    await table("later_behind", 40);
    const sink = await opened("later");
    expect((await read(sink)).window.entries).toBe(100);
    await run(
      "CREATE MATERIALIZED VIEW d.later_v TO d.later_behind AS SELECT toInt64(toString(id)) AS id, p FROM d.later",
    );
    expect((await read(sink)).window.entries).toBe(40);
    await run("ALTER TABLE d.later_behind MODIFY SETTING non_replicated_deduplication_window = 7");
    expect((await read(sink)).window.entries).toBe(7);
    expect(sink.atLeastOnce).toContain("d.later_behind remembers 7 inserts");
    await run("DROP VIEW d.later_v SYNC");
    await table("later_again", 0);
    await run("CREATE MATERIALIZED VIEW d.later_v TO d.later_again AS SELECT id, p FROM d.later");
    expect((await read(sink)).window.entries).toBe(0);
  });

  test("an engine that remembers nothing has none", async () => {
    await run("CREATE TABLE d.memory (id Int64, p Int64) ENGINE = Memory");
    expect(await read(await opened("memory"))).toMatchObject({ blocks: 0, window: { entries: 0 } });
  });
});

describe("an earlier reading will do", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  test("for five seconds", async () => {
    await table("aging");
    const sink = await opened("aging");
    const first = await read(sink, false);
    vi.advanceTimersByTime(4999);
    expect(await read(sink, false)).toBe(first);
    vi.advanceTimersByTime(1);
    expect(await read(sink, false)).not.toBe(first);
  });

  test("for few inserts, and asks nothing", async () => {
    await table("often", 100);
    const proxy = await proxied("", undefined);
    const sink = await opened("often", proxy.url);
    const first = await read(sink, false);
    proxy.statements.length = 0;
    for (let each = 0; each < 4; each += 1) await insert(sink, 1);
    expect(await read(sink, false)).toBe(first);
    expect(proxy.statements.filter((statement) => statement.startsWith("SELECT"))).toEqual([]);
    await insert(sink, 1);
    expect((await read(sink, false)).blocks).toBe(5);
    expect(proxy.statements.filter((statement) => statement.startsWith("SELECT"))).toHaveLength(1);
  });

  test("for fewer where each makes many blocks", { tags: ["rest"] }, async () => {
    await table("spread", 1000);
    const sink = await opened("spread");
    await read(sink);
    await insert(sink, 90);
    const first = await read(sink);
    expect(await read(sink, false)).toBe(first);
    await insert(sink, 90);
    expect((await read(sink, false)).blocks).toBe(180);
  });

  test("for no insert where the window is short", { tags: ["rest"] }, async () => {
    await table("short", 10);
    const sink = await opened("short");
    const first = await read(sink);
    expect(await read(sink, false)).toBe(first);
    await insert(sink, 1);
    expect((await read(sink, false)).blocks).toBe(1);
  });

  test("not where a fresh one is asked for", async () => {
    await table("fresh");
    const sink = await opened("fresh");
    expect(await read(sink)).not.toBe(await read(sink));
  });

  test("not after open, which may have found another table", { tags: ["rest"] }, async () => {
    await table("other");
    const sink = await opened("other");
    const first = await read(sink, false);
    await run("DROP TABLE d.other SYNC");
    await table("other");
    expect(await sink.open(patient)).toEqual({ kind: "ok" });
    expect((await read(sink, false)).table).not.toBe(first.table);
  });
});

test("servers that answer in turn for a table that is not replicated are told, and each is another one", async () => {
  await table("in_turn");
  const asked = "toString(serverUUID())";
  let name = "a";
  const proxy = await proxyTo(
    server.url,
    () => undefined,
    (body) => body.replace(asked, `'${name.repeat(asked.length - 2)}'`),
  );
  proxies.push(proxy);
  const sink = await opened("in_turn", proxy.url);
  const seen: unknown[] = [];
  for (name of ["a", "b", "a"]) {
    const { server: answering, isOneOfSeveral } = await read(sink);
    seen.push([answering?.at(0), sink.atLeastOnce?.includes("several servers"), isOneOfSeveral]);
  }
  const one = [undefined, undefined];
  expect(seen).toEqual([
    ["a", ...one],
    ["b", ...one],
    ["a", true, true],
  ]);
  expect(await read(sink, false)).toMatchObject({ isOneOfSeveral: true });
});
