/** @module-tag rest */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTable } from "../../support/pipelines.ts";
import { OtlpScene, otlpPipeline } from "./scene.ts";
import { jsonType, post } from "./senders.ts";

const id = "bounds";
/** Its bounds go into an array of floats that are not Nullable. */
const strict = "strict-bounds";

let scene: OtlpScene;

beforeAll(async () => {
  scene = await OtlpScene.open();
  const columns = [
    ["explicit_bounds", "bounds_or_null", "Array(Nullable(Float64))"],
    ["explicit_bounds", "bounds_text", "String"],
    ["bucket_counts", "counts", "Array(UInt64)"],
    ["sum", "sum", "Float64"],
    ["sum", "sum_or_null", "Nullable(Float64)"],
    ["min", "min", "Float64"],
    ["max", "max_or_null", "Nullable(Float64)"],
  ] as const;
  const mapping = columns.map(([name, column_name, column_type]) => ({ name, column_name, column_type }));
  await scene.running.engine.create(otlpPipeline(id, "metrics", { mapping }), createTable);
  const only = [{ name: "explicit_bounds", column_name: "bounds", column_type: "Array(Float64)" }];
  await scene.running.engine.create(otlpPipeline(strict, "metrics", { mapping: only }), createTable);
});

afterAll(() => scene.close());

async function sendPoints(pipeline_id: string): Promise<void> {
  const points = [
    { explicitBounds: [0.5, "Infinity"], bucketCounts: [1, 2, 3], sum: "NaN", min: "-Infinity", max: "Infinity" },
    { explicitBounds: ["NaN", "-Infinity", 2], bucketCounts: ["18446744073709551615"], sum: 7 },
    { explicitBounds: [0.5], bucketCounts: [4], sum: 8, min: 1, max: 2 },
  ];
  const metrics = [{ histogram: { dataPoints: points } }];
  const body = Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }));
  const headers = { ...jsonType, "x-sluice-pipeline-id": pipeline_id };
  const answer = await post(scene.listeners.http, "metrics", headers, body);
  expect(answer.status).toBe(200);
}

test("a data point with NaN and infinities is a row that has them, and null is none of them", async () => {
  await sendPoints(id);
  const { dead_letters } = await scene.settled(id);
  expect(dead_letters.total_messages).toBe(0);
  const texts = ["bounds_or_null", "counts", "sum", "sum_or_null", "min", "max_or_null"];
  const replaced = texts.map((name) => `toString(${name}) AS ${name}`).join(", ");
  const rows = await scene.running.rows(`SELECT * REPLACE (${replaced}) FROM ${id} ORDER BY counts`);
  expect(rows).toEqual([
    {
      bounds_or_null: "[0.5,inf]",
      bounds_text: '[0.5,"Infinity"]',
      counts: "[1,2,3]",
      sum: "nan",
      sum_or_null: "nan",
      min: "-inf",
      max_or_null: "inf",
    },
    {
      bounds_or_null: "[nan,-inf,2]",
      bounds_text: '["NaN","-Infinity",2]',
      counts: "[18446744073709551615]",
      sum: "7",
      sum_or_null: "7",
      min: "0",
      max_or_null: null,
    },
    {
      bounds_or_null: "[0.5]",
      bounds_text: "[0.5]",
      counts: "[4]",
      sum: "8",
      sum_or_null: "8",
      min: "1",
      max_or_null: "2",
    },
  ]);
});

test("so are the elements of an array", async () => {
  await sendPoints(strict);
  const { dead_letters } = await scene.settled(strict);
  expect(dead_letters.total_messages).toBe(0);
  const rows = await scene.running.rows("SELECT toString(bounds) AS bounds FROM strict_bounds ORDER BY bounds");
  expect(rows.map(({ bounds }) => bounds)).toEqual(["[0.5,inf]", "[0.5]", "[nan,-inf,2]"]);
});
