import { afterEach, beforeEach, expect, test } from "vitest";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { TestEngine } from "../../support/engine.ts";

let running: TestEngine;

beforeEach(async () => {
  running = await TestEngine.open();
});

afterEach(async () => {
  await running.close();
});

/** Filtered by its level, then made of four outputs; `code` fits its column only up to 255. */
const config = webhookPipeline("shaped", {
  transforms: [
    {
      type: "stateless",
      source_id: "input",
      config: {
        transforms: [
          { expression: "id", output_name: "big", output_type: "int" },
          { expression: `upper(level) + "!"`, output_name: "shout", output_type: "string" },
          { expression: "user.tags ?? []", output_name: "tags", output_type: "[]string" },
          { expression: "toInt(code)", output_name: "code", output_type: "int" },
        ],
      },
    },
    { type: "filter", source_id: "input", config: { expression: 'level != "debug"' } },
  ],
  sources: [
    {
      type: "webhook",
      source_id: "input",
      schema_fields: [
        { name: "id", type: "int" },
        { name: "level", type: "string" },
        { name: "user", type: "map" },
        { name: "code", type: "string" },
      ],
    },
  ],
  sink: {
    type: "clickhouse",
    connection_params: { host: "embedded", database: "default" },
    table: "shaped",
    max_batch_size: 500,
    max_delay_time: "100ms",
    mapping: [
      { name: "big", column_name: "big", column_type: "Int64" },
      { name: "shout", column_name: "shout", column_type: "String" },
      { name: "tags", column_name: "tags", column_type: "Array(String)" },
      { name: "code", column_name: "code", column_type: "UInt8" },
    ],
  },
});

test("events pass the filter, become their outputs, and are rows with every digit; what fails is a dead letter of its stage", async () => {
  const { access_token } = await running.engine.create(config, createTable);
  const bodies = [
    '{"id":9007199254740993,"level":"info","user":{"tags":["a","b"]},"code":"7"}',
    '{"id":-9223372036854775808,"level":"warn","user":{},"code":"x"}',
    '{"id":3,"level":"debug","user":{},"code":"1"}',
    '{"id":9223372036854775808,"level":"info","user":{},"code":"1"}',
    '{"id":5,"level":"info","user":{"tags":[]},"code":"300"}',
  ];
  for (const body of bodies) expect((await running.post("shaped", access_token!, body)).status).toBe(202);

  const health = await running.until(
    "shaped",
    ({ stream, pending_batches }) => stream!.messages + pending_batches === 0,
  );

  expect(health.counters).toMatchObject({ events_read: 5, events_filtered: 1, rows_written: 2, dead_lettered: 2 });
  expect(await running.rows("SELECT toString(big) AS big, shout, tags, code FROM shaped ORDER BY shout")).toEqual([
    { big: "9007199254740993", shout: "INFO!", tags: ["a", "b"], code: 7 },
    { big: "-9223372036854775808", shout: "WARN!", tags: [], code: 0 },
  ]);
  expect(running.engine.deadLetters("shaped").list(10).messages).toMatchObject([
    {
      component: "dedup",
      reason: "transform_error",
      error:
        "stateless: big: `id`: output_type int: the number is outside -9223372036854775808 to 9223372036854775807 (line 1, column 1)",
      original_message: bodies[3],
    },
    {
      component: "sink",
      reason: "schema_mismatch",
      error: 'field "code" does not fit column "code" of type UInt8: expected a whole number from 0 to 255, got 300',
      original_message: '{"big":5,"code":300,"shout":"INFO!","tags":[]}',
    },
  ]);
});
