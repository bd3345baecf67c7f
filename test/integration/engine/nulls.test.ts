import { afterAll, beforeAll, expect, test } from "vitest";
import type { EngineOptions, PipelineConfig } from "../../../schemas/pipeline.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import { TestEngine } from "../../support/engine.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

let running: TestEngine;

beforeAll(async () => {
  running = await TestEngine.open();
});
afterAll(() => running.close());

/** A column of each way to hold a missing value, with `v` as its last letter where its field is a transform's. */
const columns = [
  ["nullable", "Nullable(Int32)"],
  ["low", "LowCardinality(Nullable(String))"],
  ["day", "Nullable(Date)"],
  ["defaulted", "Int32 DEFAULT 7"],
  ["both", "Nullable(Int32) DEFAULT 7"],
  ["plain", "Int32"],
  ["text", "String"],
  ["list", "Array(Int32)"],
  ["table", "Map(String, String)"],
] as const;

const types: Record<string, string> = { low: "string", day: "string", text: "string", list: "array", table: "map" };
const typeOf = (name: string): string => types[name] ?? "int";
const bare = (type: string): string => type.replace(/ DEFAULT .*/, "");

/** One event's row: every column fed by an optional field of its name, or by a transform of a field within `after`. */
function config(pipeline_id: string, isTransformed: boolean): PipelineConfig {
  const optional = columns.map(([name]) => ({ name, type: typeOf(name), required: false }));
  const outputs = columns.map(([name]) => ({
    expression: `after?.${name}`,
    output_name: name,
    output_type: typeOf(name),
  }));
  const transforms = [
    {
      type: "stateless",
      source_id: "input",
      config: { transforms: [{ expression: "id", output_name: "id", output_type: "int" }, ...outputs] },
    },
  ];
  const own = isTransformed ? [{ name: "after", type: "map", required: false }] : optional;
  return webhookPipeline(pipeline_id, {
    sources: [{ type: "webhook", source_id: "input", schema_fields: [{ name: "id", type: "int" }, ...own] }],
    transforms: isTransformed ? transforms : [],
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "default" },
      table: pipeline_id.replaceAll("-", "_"),
      max_batch_size: 500,
      max_delay_time: "50ms",
      mapping: [
        { name: "id", column_name: "id", column_type: "Int64" },
        ...columns.map(([name, type]) => ({ name, column_name: name, column_type: bare(type) })),
      ],
    },
  });
}

async function rowsOf(
  pipeline_id: string,
  isTransformed: boolean,
  events: object[],
  options: Partial<EngineOptions> = {},
) {
  const table = pipeline_id.replaceAll("-", "_");
  const list = columns.map(([name, type]) => `${name} ${type}`).join(", ");
  await running.engine.sql(`CREATE TABLE ${table} (id Int64, ${list}) ENGINE = MergeTree ORDER BY id`, "TSV");
  const { access_token } = await running.engine.create(config(pipeline_id, isTransformed), {
    ...defaultOptions,
    ...options,
  });
  for (const event of events) expect((await running.post(pipeline_id, access_token!, event)).status).toBe(202);
  const { counters } = await running.until(
    pipeline_id,
    ({ counters: { rows_written, dead_lettered } }) => rows_written + dead_lettered === events.length,
  );
  const names = columns.map(([name]) => name).join(", ");
  const rows = await running.rows(
    `SELECT ${names} FROM ${table} ORDER BY id SETTINGS output_format_json_quote_64bit_integers = 0`,
  );
  return { rows, letters: running.engine.deadLetters(pipeline_id).list(10).messages, counters };
}

const nothing = { nullable: null, low: null, day: null, both: null, text: "", list: [], table: {} };
const nulls = Object.fromEntries(columns.map(([name]) => [name, null]));

test.each([
  ["declared fields", false, { id: 1, ...nulls }],
  ["transforms", true, { id: 1, after: nulls }],
])(
  "null and absent values of %s are NULL, the DEFAULT or the zero of their column",
  async (title, isTransformed, event) => {
    const id = `nulls-${title.split(" ")[0]}`;
    const { rows } = await rowsOf(id, isTransformed, [event, { id: 2 }]);
    const row = { ...nothing, defaulted: 7, plain: 0 };
    expect(rows).toEqual([row, row]);
  },
);

test("with x-sluice.null: zero a DEFAULT does not count", async () => {
  const { rows } = await rowsOf("nulls-zero", false, [{ id: 1, ...nulls }, { id: 2 }], { null: "zero" });
  const row = { ...nothing, defaulted: 0, plain: 0 };
  expect(rows).toEqual([row, row]);
});

test("with x-sluice.null: reject such an event is a dead letter that names the column", async () => {
  const full = {
    nullable: null,
    low: null,
    day: null,
    both: null,
    defaulted: 1,
    plain: 2,
    text: "a",
    list: [1],
    table: { a: "b" },
  };
  const { rows, letters } = await rowsOf(
    "nulls-reject",
    false,
    [
      { id: 1, ...full },
      { id: 2, ...full, plain: null },
    ],
    { null: "reject" },
  );
  expect(rows).toEqual([full]);
  expect(letters).toMatchObject([
    {
      component: "sink",
      error: expect.stringContaining(
        'field "plain" does not fit column "plain" of type Int32: expected a value',
      ) as string,
    },
  ]);
});

test("an optional field of another kind is a dead letter, and values of its kind are rows", async () => {
  const { rows, letters } = await rowsOf("nulls-kinds", false, [
    { id: 1, nullable: 5, both: 6 },
    { id: 2, nullable: "five" },
  ]);
  expect(rows).toEqual([{ ...nothing, defaulted: 7, plain: 0, nullable: 5, both: 6 }]);
  expect(letters).toMatchObject([
    { component: "ingestor", error: "failed to validate data: field nullable: expected number, found string" },
  ]);
});
