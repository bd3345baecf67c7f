import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Block } from "../../../engine/core/sink.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { denied, proxyTo } from "./proxy.ts";
import { events, patient, sinkOn } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

let server: TestClickHouse;
const sinks: ClickHouseSink[] = [];

beforeAll(async () => {
  server = await useClickHouse();
  await run("CREATE DATABASE d");
});

afterAll(() => server.stop());

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
});

const run = (query: string): Promise<unknown> => server.client.command({ query });

function table(name: string, partition: string, window: number): Promise<unknown> {
  return run(
    `CREATE TABLE d.${name} (id Int64) ENGINE = MergeTree ORDER BY id PARTITION BY ${partition} SETTINGS non_replicated_deduplication_window = ${window}`,
  );
}

async function opened(name: string, url = server.url): Promise<ClickHouseSink> {
  const sink = sinkOn({ ...server, url }, { fields: [["id", "int", "Int64"]], table: name });
  sinks.push(sink);
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  return sink;
}

/** One row for each of so many partitions. */
function rowsFor(sink: ClickHouseSink, partitions: number): Block {
  return encoded(sink, events(...Array.from({ length: partitions }, (_, id) => ({ id }))));
}

async function count(name: string): Promise<number> {
  const [row] = await server.query<{ n: number }>(`SELECT count() AS n FROM d.${name}`);
  return Number(row?.n);
}

describe("an insert into more partitions than the server's limit", () => {
  test("goes in with a higher limit, once, and the next ones have that limit at once", async () => {
    await table("many", "id", 10_000);
    const proxy = await proxyTo(server.url, () => undefined);
    try {
      const sink = await opened("many", proxy.url);
      for (let each = 0; each < 2; each += 1) {
        expect(await sink.insert(rowsFor(sink, 120), "one", patient)).toEqual({ kind: "ok" });
        expect(await count("many")).toBe(120);
      }
      expect(await sink.insert(rowsFor(sink, 110), "two", patient)).toEqual({ kind: "ok" });
      expect(await count("many")).toBe(230);
    } finally {
      await proxy.stop();
    }
    expect(proxy.statements.filter((statement) => statement.startsWith("INSERT"))).toHaveLength(1 + 3);
  });

  test("is told from too many parts where a thousand is too low, and writes nothing", { tags: ["rest"] }, async () => {
    await table("more", "id", 100);
    const sink = await opened("more");
    for (let each = 0; each < 2; each += 1) {
      expect(await sink.insert(rowsFor(sink, 1001), "t", patient)).toMatchObject({
        kind: "refused",
        failure: { class: "partitions", code: 252, name: "TOO_MANY_PARTS" },
      });
    }
    expect(await count("more")).toBe(0);
  });
});

describe("an insert whose view meets the limit", () => {
  test.each([
    ["goes in once where repeats are dropped", 1000, { kind: "ok" }, 120],
    ["is left alone where they are not", 0, { kind: "unknown", failure: { class: "partitions", code: 252 } }, 0],
  ])("%s", async (_title, window, expected, behind) => {
    await table(`from_${window}`, "tuple()", window);
    await table(`to_${window}`, "id", window);
    await run(`CREATE MATERIALIZED VIEW d.view_${window} TO d.to_${window} AS SELECT id FROM d.from_${window}`);
    const sink = await opened(`from_${window}`);
    expect(await sink.insert(rowsFor(sink, 120), "t", patient)).toMatchObject(expected);
    expect([await count(`from_${window}`), await count(`to_${window}`)]).toEqual([120, behind]);
  });

  test("is never one that wrote nothing, whatever its second attempt meets", { tags: ["rest"] }, async () => {
    await table("from_twice", "tuple()", 1000);
    await table("to_twice", "id", 1000);
    await run("CREATE MATERIALIZED VIEW d.view_twice TO d.to_twice AS SELECT id FROM d.from_twice");
    let inserts = 0;
    const proxy = await proxyTo(server.url, (statement) =>
      statement.startsWith("INSERT") && ++inserts === 2 ? denied("INSERT(id) ON d.from_twice") : undefined,
    );
    try {
      const sink = await opened("from_twice", proxy.url);
      const block = rowsFor(sink, 120);
      expect(await sink.insert(block, "t", patient)).toMatchObject({
        kind: "unknown",
        failure: { class: "setup", code: 497 },
      });
      expect(await count("from_twice")).toBe(120);
      expect(await sink.insert(block, "t", patient)).toEqual({ kind: "ok" });
      expect([await count("from_twice"), await count("to_twice")]).toEqual([120, 120]);
    } finally {
      await proxy.stop();
    }
  });
});
