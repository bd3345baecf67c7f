/** @module-tag rest */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { events, patient, sinkOn } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

let server: TestClickHouse;
const open: ClickHouseSink[] = [];

beforeAll(async () => {
  server = await useClickHouse();
  await run("CREATE DATABASE d");
});

afterAll(() => server.stop());

afterEach(async () => {
  await Promise.all(open.splice(0).map((opened) => opened.close()));
});

const run = (query: string): Promise<unknown> => server.client.command({ query });

/** How many rows each table has. */
async function counts(...tables: string[]): Promise<number[]> {
  const found = await Promise.all(
    tables.map((name) => server.query<{ n: number }>(`SELECT count() AS n FROM d.${name}`)),
  );
  return found.map(([row]) => Number(row?.n));
}

async function sink(table: string): Promise<ClickHouseSink> {
  const made = sinkOn(server, { fields: [["s", "string", "String"]], table });
  open.push(made);
  expect(await made.open(patient)).toEqual({ kind: "ok" });
  return made;
}

const kept = (columns: string): string =>
  `(${columns}) ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100`;

interface Case {
  /** Statements that make tables and views behind `d.<name>_base`, where `%` stands for the name. */
  behind: string[];
  /** Makes the view take every row. */
  mend: string;
  /** ClickHouse's code of the view's error. */
  code: number;
  /** Rows of the tables behind it once all is mended. */
  tables: string[];
}

const cases: [title: string, name: string, Case][] = [
  [
    "one view",
    "one",
    {
      behind: [
        `CREATE TABLE d.%_out ${kept("n UInt64")}`,
        "CREATE MATERIALIZED VIEW d.%_view TO d.%_out AS SELECT toUInt64(s) AS n FROM d.%_base",
      ],
      mend: "ALTER TABLE d.%_view MODIFY QUERY SELECT toUInt64OrZero(s) AS n FROM d.%_base",
      code: 6,
      tables: ["%_out"],
    },
  ],
  [
    "a view behind a view",
    "chain",
    {
      behind: [
        `CREATE TABLE d.%_middle ${kept("s String")}`,
        `CREATE TABLE d.%_out ${kept("n UInt64")}`,
        "CREATE MATERIALIZED VIEW d.%_first TO d.%_middle AS SELECT s FROM d.%_base",
        "CREATE MATERIALIZED VIEW d.%_second TO d.%_out AS SELECT toUInt64(s) AS n FROM d.%_middle",
      ],
      mend: "ALTER TABLE d.%_second MODIFY QUERY SELECT toUInt64OrZero(s) AS n FROM d.%_middle",
      code: 6,
      tables: ["%_middle", "%_out"],
    },
  ],
  [
    "a constraint of the table behind a view",
    "constraint",
    {
      behind: [
        `CREATE TABLE d.%_out ${kept("s String, CONSTRAINT short CHECK length(s) < 2")}`,
        "CREATE MATERIALIZED VIEW d.%_view TO d.%_out AS SELECT s FROM d.%_base",
      ],
      mend: "ALTER TABLE d.%_out DROP CONSTRAINT short",
      code: 469,
      tables: ["%_out"],
    },
  ],
  [
    "a view with an odd name and its own table",
    "odd",
    {
      behind: [
        "CREATE MATERIALIZED VIEW d.`%'s \\`view` ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100 AS SELECT throwIf(s = 'bad') AS n FROM d.%_base",
      ],
      mend: "ALTER TABLE d.`%'s \\`view` MODIFY QUERY SELECT toUInt8(0) AS n FROM d.%_base",
      code: 395,
      tables: ["`%'s \\`view`"],
    },
  ],
];

describe.each(cases)("%s that fails", (_title, name, { behind, mend, code, tables }) => {
  const named = (text: string): string => text.replaceAll("%", name);
  const all = [`${name}_base`, `${name}_beside`, ...tables.map(named)];

  test("pauses: the base has the rows, and the same token completes the rest once", async () => {
    await run(named(`CREATE TABLE d.%_base ${kept("s String")}`));
    await run(named(`CREATE TABLE d.%_beside ${kept("s String")}`));
    await run(named("CREATE MATERIALIZED VIEW d.%_beside_view TO d.%_beside AS SELECT s FROM d.%_base"));
    for (const statement of behind) await run(named(statement));
    const base = await sink(`${name}_base`);
    const block = encoded(base, events({ s: "1" }, { s: "bad" }));
    const failed = await base.insert(block, "token", patient);
    expect(failed).toMatchObject({ kind: "unknown", failure: { class: "view", code } });
    expect(failed).not.toHaveProperty("failure.row");
    expect(await counts(`${name}_base`)).toEqual([2]);
    await run(named(mend));
    for (let each = 0; each < 2; each += 1) {
      expect(await base.insert(block, "token", patient)).toEqual({ kind: "ok" });
      expect(await counts(...all)).toEqual(all.map(() => 2));
    }
  });
});

test("a view that came after open is never taken for a row that wrote nothing", async () => {
  await run(`CREATE TABLE d.early ${kept("s String, CONSTRAINT any CHECK s != 'no'")}`);
  const early = await sink("early");
  await run(`CREATE TABLE d.late ${kept("s String, CONSTRAINT short CHECK length(s) < 2")}`);
  await run("CREATE MATERIALIZED VIEW d.late_view TO d.late AS SELECT s FROM d.early");
  const block = encoded(early, events({ s: "1" }, { s: "long" }));
  const answer = await early.insert(block, "token", patient);
  expect(answer).toMatchObject({ kind: "unknown" });
  expect(answer).not.toHaveProperty("failure.row");
  await early.read(true, patient);
  expect(await early.insert(block, "token", patient)).toMatchObject({ kind: "unknown", failure: { class: "view" } });
  expect(await counts("early", "late")).toEqual([2, 0]);
});

test("an event that speaks like a view is a bad row", async () => {
  await run(`CREATE TABLE d.hostile ${kept("s String, CONSTRAINT short CHECK length(s) < 9")}`);
  await run(`CREATE TABLE d.hostile_out ${kept("s String")}`);
  await run("CREATE MATERIALIZED VIEW d.hostile_view TO d.hostile_out AS SELECT s FROM d.hostile");
  const hostile = await sink("hostile");
  for (const s of ["x: while pushing to view d.hostile_view", "x': while pushing to view d.hostile_view"]) {
    expect(await hostile.insert(encoded(hostile, events({ s: "1" }, { s })), "token", patient)).toMatchObject({
      kind: "refused",
      failure: { class: "row", code: 469, row: 1 },
    });
  }
  expect(await counts("hostile", "hostile_out")).toEqual([0, 0]);
});
