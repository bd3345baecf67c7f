import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { EventList } from "../../../engine/event/event.ts";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { events, patient, sinkOn, type Wish, write } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

let server: TestClickHouse;
const open: ClickHouseSink[] = [];

beforeAll(async () => {
  server = await useClickHouse();
  await server.client.command({ query: "CREATE DATABASE d" });
});

afterAll(() => server.stop());

afterEach(async () => {
  await Promise.all(open.splice(0).map((opened) => opened.close()));
});

function sink(wish: Wish): ClickHouseSink {
  const made = sinkOn(server, wish);
  open.push(made);
  return made;
}

const run = (query: string): Promise<unknown> => server.client.command({ query });
const rows = (table: string): Promise<unknown[]> => server.query(`SELECT * FROM d.${table} ORDER BY ALL`);

/** Why a sink with these fields does not open for the table `d.narrow`. */
async function refusedFor(...of: Wish["fields"]): Promise<string> {
  const answer = await sink({ fields: of, table: "narrow" }).open(patient);
  expect(answer).toMatchObject({ kind: "refused", failure: { class: "setup" } });
  return answer.kind === "ok" ? "" : answer.failure.text;
}

describe("open", () => {
  const fields: Wish["fields"] = [
    ["id", "int", "Int64"],
    ["name", "string", "Nullable(String)"],
  ];

  test("refuses a missing table and says how to get it", async () => {
    const answer = await sink({ fields, table: "missing" }).open(patient);
    expect(answer).toMatchObject({ kind: "refused", failure: { class: "setup" } });
    const text = answer.kind === "ok" ? "" : answer.failure.text;
    expect(text).toContain("table d.missing does not exist");
    expect(text).toContain("x-sluice.create_table: true");
    expect(text).toContain("CREATE TABLE IF NOT EXISTS `d`.`missing` (`id` Int64, `name` Nullable(String))");
  });

  test("creates database and table when asked to, once, with a window", async () => {
    const wish: Wish = { fields, table: "made", database: "fresh", create_table: true };
    expect(await write(sink(wish), [{ id: 1, name: null }])).toEqual({ kind: "ok" });
    expect(await write(sink(wish), [{ id: 2, name: "b" }])).toEqual({ kind: "ok" });
    expect(await server.query("SELECT * FROM fresh.made ORDER BY id")).toEqual([
      { id: 1, name: null },
      { id: 2, name: "b" },
    ]);
    const [table] = await server.query(
      "SELECT engine_full FROM system.tables WHERE database = 'fresh' AND name = 'made'",
    );
    expect(String(table?.["engine_full"])).toMatch(
      /^MergeTree ORDER BY tuple\(\) SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = (1|true), fsync_part_directory = (1|true)/,
    );
  });

  test("names the columns that the table lacks", async () => {
    await run("CREATE TABLE d.narrow (id Int64, twice Int64 MATERIALIZED id * 2) ENGINE = MergeTree ORDER BY id");
    expect(await refusedFor(["id", "int", "Int64"], ["n", "int", "Int64"], ["name", "string", "String"])).toContain(
      'has no column "n", "name" that can be written',
    );
    expect(await refusedFor(["id", "int", "Int64"], ["twice", "int", "Int64"])).toContain(
      'computes the column "twice" itself, as it is MATERIALIZED',
    );
  });

  test("refuses a column that its field cannot feed", async () => {
    await run("CREATE TABLE d.other (id Array(Int64)) ENGINE = MergeTree ORDER BY tuple()");
    expect(await sink({ fields: [["id", "int", "Int64"]], table: "other" }).open(patient)).toMatchObject({
      kind: "refused",
      failure: { class: "setup", text: expect.stringContaining("cannot feed a column of type Array(Int64)") },
    });
  });

  test("writes by the real types: NULL where the column is Nullable, ranges of the narrower", async () => {
    await run(
      "CREATE TABLE d.real (id UInt8, name Nullable(String), s SimpleAggregateFunction(max, Int32)) ENGINE = AggregatingMergeTree ORDER BY (id, name) SETTINGS allow_nullable_key = 1",
    );
    const real = sink({
      fields: [
        ["id", "int", "Int64"],
        ["name", "string", "String"],
        ["s", "int", "Int32"],
      ],
      table: "real",
    });
    expect(
      await write(real, [
        { id: 1, s: 5 },
        { id: 300, s: 6, name: "x" },
      ]),
    ).toEqual({ kind: "ok" });
    expect(await rows("real")).toEqual([{ id: 1, name: null, s: 5 }]);
    expect(encoded(real, events({ id: 300, s: 6 })).rejected[0]?.error).toContain("of type UInt8");
  });
});

describe("insert", () => {
  test("sends every setting that makes one block count once", async () => {
    await run(
      "CREATE TABLE d.settings (s String, v String MATERIALIZED concat(toString(getSetting('insert_deduplicate')), toString(getSetting('async_insert')), toString(getSetting('deduplicate_blocks_in_dependent_materialized_views')), toString(getSetting('input_format_null_as_default')), ' ', toString(getSetting('max_insert_block_size')), ' ', toString(getSetting('min_insert_block_size_rows')), ' ', toString(getSetting('min_insert_block_size_bytes')), ' ', getSetting('insert_deduplication_token'))) ENGINE = MergeTree ORDER BY tuple()",
    );
    expect(await write(sink({ fields: [["s", "string", "String"]], table: "settings" }), [{ s: "x" }], "tok")).toEqual({
      kind: "ok",
    });
    expect(await server.query("SELECT v FROM d.settings")).toEqual([{ v: "truefalsetruefalse 1048449 1048449 0 tok" }]);
  });

  test("names the row that ClickHouse cannot parse", async () => {
    await run("CREATE TABLE d.parse (e String) ENGINE = MergeTree ORDER BY e PARTITION BY e");
    const parse = sink({ fields: [["e", "string", "String"]], table: "parse" });
    await parse.open(patient);
    await run("ALTER TABLE d.parse ADD COLUMN n Int8");
    const block = {
      events: EventList.of(events(1, 2, 3)),
      body: Buffer.from('{"e":"a"}\n{"e":"b"}\n{"e":"(at row 1)" oops}\n'),
      rejected: [],
    };
    expect(await parse.insert(block, "t", patient)).toMatchObject({
      kind: "refused",
      failure: { class: "row", code: 27, row: 2 },
    });
    expect(await rows("parse")).toEqual([]);
  });

  test("refuses after the table went", async () => {
    await run("CREATE TABLE d.gone (id Int64) ENGINE = MergeTree ORDER BY id PARTITION BY id");
    const gone = sink({ fields: [["id", "int", "Int64"]], table: "gone" });
    await gone.open(patient);
    await run("DROP TABLE d.gone SYNC");
    expect(await gone.insert(encoded(gone, events({ id: 1 })), "t", patient)).toMatchObject({
      kind: "refused",
      failure: { class: "setup", code: 60, name: "UNKNOWN_TABLE" },
    });
  });

  test("takes a thousand columns with long names", { tags: ["rest"] }, async () => {
    const fields = Array.from({ length: 1000 }, (_, index): Wish["fields"][number] => [
      `a_rather_long_column_name_${index}`,
      "int",
      "Int64",
    ]);
    const value = Object.fromEntries(fields.map(([name], index) => [name, index]));
    expect(await write(sink({ fields, table: "wide", create_table: true }), [value])).toEqual({ kind: "ok" });
    expect(await server.query("SELECT a_rather_long_column_name_999 AS v FROM d.wide")).toEqual([{ v: 999 }]);
  });
});

describe("hostile names arrive as they are", () => {
  test.each(["a`b", "a\\b", 'a"b', "a'b", "a b; DROP TABLE d.hostile", "ä\n\nb", "{x:String}"])(
    "in the name of a column and a table: %j",
    async (name) => {
      const wish: Wish = { fields: [[name, "string", "String"]], table: `t ${name}`, create_table: true };
      const hostile = sink(wish);
      expect(await write(hostile, [{ [name]: "v" }])).toEqual({ kind: "ok" });
      const found = await server.query<{ n: string }>(
        `SELECT name AS n FROM system.columns WHERE database = 'd' AND table LIKE 't %'`,
      );
      expect(found.map(({ n }) => n)).toContain(name);
    },
  );
});
