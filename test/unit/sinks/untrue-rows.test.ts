import { expect, test } from "vitest";
import { readProfile } from "../../../engine/sinks/clickhouse/insert/profile.ts";
import { readWindowDefaults } from "../../../engine/sinks/clickhouse/target/deduplication.ts";
import { findColumns, findTable } from "../../../engine/sinks/clickhouse/target/table.ts";
import { TargetReader } from "../../../engine/sinks/clickhouse/target/target-reader.ts";
import type { Select } from "../../../engine/sinks/clickhouse/transport/sql.ts";

type Row = Record<string, unknown>;

const answering =
  (...rows: Row[]): Select =>
  () =>
    Promise.resolve(rows);

const table: Row = {
  database: "d",
  name: "t",
  uuid: "u",
  engine: "MergeTree",
  engine_full: "MergeTree",
  partition_key: "",
  create_table_query: "CREATE",
  dependencies_database: [],
  dependencies_table: [],
};

/** What a proxy, or another service, may answer: none of it ends the pipeline, it is asked again. */
const readings: [string, (select: Select) => Promise<unknown>, Row[]][] = [
  [
    "a table",
    (select) => findTable(select, "d", "t"),
    [{}, { ...table, uuid: null }, { ...table, name: 5 }, { ...table, dependencies_table: "x" }],
  ],
  [
    "columns",
    (select) => findColumns(select, "d", "t"),
    [{}, { name: "a", type: [], default_kind: "" }, { name: null, type: "Int8", default_kind: "" }],
  ],
  [
    "the profile",
    (select) => readProfile(select, []),
    [{}, { name: "readonly", value: 0, readonly: 0 }, { name: "readonly", value: "0", readonly: {} }],
  ],
  ["the windows", readWindowDefaults, [{}, { name: "x", value: null }, { name: "x", value: "many" }]],
  [
    "the state of the table",
    (select) => new TargetReader("d", "t").read(select),
    [{}, { ...table, dependencies_database: [1] }],
  ],
];

test.each(readings.flatMap(([what, read, rows]) => rows.map((row) => [what, JSON.stringify(row), read, row] as const)))(
  "%s that is read as %s is an answer that is not as ClickHouse gives it",
  async (_what, _json, read, row) => {
    await expect(read(answering(row))).rejects.toMatchObject({ name: "RequestError", failure: { from: "answer" } });
  },
);
