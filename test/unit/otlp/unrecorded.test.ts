import { expect, test } from "vitest";
import { keptAsNull } from "../../../engine/sources/otlp/unrecorded.ts";
import { normalise } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";

type Columns = Readonly<Record<string, string>>;

/** A pipeline of metrics whose fields go into columns of these types. */
function pipeline(columns: Columns, over: object = {}): PipelineConfig {
  const mapping = Object.entries(columns).map(([name, column_type]) => ({ name, column_name: name, column_type }));
  return normalise({
    version: "v3",
    pipeline_id: "points",
    sources: [{ type: "otlp.metrics", source_id: "metrics" }],
    sink: { type: "clickhouse", connection_params: { host: "embedded", database: "d" }, table: "t", mapping },
    ...over,
  } as never);
}

const [float, nullable] = ["Float64", "Nullable(Float64)"];

test.each<[string, Columns, string[]]>([
  ["none of the value is mapped", { metric_name: "String" }, []],
  ["the value's column is not Nullable", { value_double: float }, []],
  ["one of its two columns is not Nullable", { value_double: nullable, value_int: "Int64" }, []],
  ["its only column is Nullable", { value_double: nullable }, ["gauge", "sum"]],
  ["both are Nullable", { value_double: nullable, value_int: "LowCardinality(Nullable(Int64))" }, ["gauge", "sum"]],
  ["only lists are mapped", { bucket_counts: "Array(UInt64)" }, []],
  [
    "count is Nullable, and the gauge's is not",
    { value_double: float, count: "Nullable(UInt64)" },
    ["histogram", "exp_histogram", "summary"],
  ],
  ["scale is of one kind", { count: "Nullable(UInt64)", scale: "Int32" }, ["histogram", "summary"]],
])("points without a value are rows of nulls: %s", (_title, columns, kinds) => {
  expect(keptAsNull(pipeline(columns))).toEqual(kinds);
});

test("a stateless transform makes other fields, so that nothing says which column holds the value", () => {
  const config = { transforms: [{ expression: "value_double", output_name: "value_double", output_type: "float" }] };
  const transforms = [{ type: "stateless", source_id: "metrics", config }];
  expect(keptAsNull(pipeline({ value_double: nullable }, { transforms }))).toEqual([]);
});

test("a pipeline without metrics keeps none", () => {
  const sources = [{ type: "otlp.logs", source_id: "metrics" }];
  expect(keptAsNull(pipeline({ value_double: nullable }, { sources }))).toEqual([]);
});
