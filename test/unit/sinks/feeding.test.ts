import { expect, test } from "vitest";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import { canFeed } from "../../../engine/sinks/clickhouse/columns/feeding.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";

const fields: readonly FieldType[] = ["string", "bool", "int", "uint", "float", "array", "map"];

function feeders(column: string): string {
  const parsed = parseColumnType(column);
  if (isProblem(parsed)) throw new Error(parsed.problem);
  return fields.filter((field) => canFeed(field, parsed) === true).join(" ");
}

test.each([
  ["Bool", "bool"],
  ["Int8", "bool int uint"],
  ["LowCardinality(Int64)", "bool int uint"],
  ["UInt64", "bool int uint"],
  ["Float32", "int uint float"],
  ["Nullable(Float64)", "int uint float"],
  ["String", "string bool int uint float array map"],
  ["LowCardinality(Nullable(String))", "string bool int uint float array map"],
  ["FixedString(3)", "string"],
  ["UUID", "string"],
  ["Enum8('a' = 1)", "string int uint"],
  ["IPv4", "string"],
  ["IPv6", "string"],
  ["Date", "string"],
  ["Date32", "string"],
  ["DateTime", "string int uint float"],
  ["DateTime64(6)", "string int uint float"],
  ["LowCardinality(DateTime)", "string int uint float"],
  ["Decimal(10, 2)", "string int uint float"],
  ["Map(String, String)", "map"],
  ["Array(String)", "array"],
  ["Array(Map(String, String))", "array"],
  ["Int128", "bool int uint"],
  ["UInt256", "bool int uint"],
  ["Tuple(Int8, String)", "array"],
  ["Tuple(a Int8, b String)", "map"],
  ["Nullable(Tuple(a Int8))", "map"],
  ["Array(Tuple(a Int8))", "array"],
  ["JSON", "string map"],
  ["Nullable(JSON(a Int8))", "string map"],
  ["BFloat16", "int uint float"],
  ["Time", "string int uint float"],
  ["Nullable(Time64(3))", "string int uint float"],
  ["Dynamic", "string bool int uint float array"],
  ["Variant(UInt8, DateTime)", "string bool int uint float"],
  ["Variant(Bool, Tuple(a Int8))", "bool map"],
  ["Variant(String, Int8)", "string bool int uint float array map"],
  ["Nested(a Int8)", "array"],
  ["Point", "array"],
  ["MultiPolygon", "array"],
  ["Geometry", "array"],
  ["Map(UInt32, String)", "map"],
])("%s is fed by %s", (column, expected) => {
  expect(feeders(column)).toBe(expected);
});

test("a refusal names both types and what would do", () => {
  expect(canFeed("string", { kind: "UInt", bits: 8 })).toBe(
    "a field of type string cannot feed a column of type UInt8: expected int, uint or bool",
  );
});
