import { describe, expect, test } from "vitest";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/column-grammar.ts";
import { columnTypeText } from "../../../engine/sinks/clickhouse/column-type.ts";

function printed(text: string): string {
  const parsed = parseColumnType(text);
  return isProblem(parsed) ? parsed.problem : columnTypeText(parsed);
}

describe("parseColumnType reads", () => {
  test.each([
    "Bool",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Float32",
    "Float64",
    "String",
    "FixedString",
    "FixedString(16)",
    "UUID",
    "Enum8",
    "Enum16",
    "Enum8('a' = 1, 'b' = -2)",
    String.raw`Enum16('it\'s' = 0, 'a,b)' = 300, '\\' = 1)`,
    "Date",
    "Date32",
    "DateTime",
    "DateTime('Europe/Berlin')",
    "DateTime64(0)",
    "DateTime64(9)",
    "DateTime64(6, 'Asia/Tokyo')",
    "Decimal(38, 10)",
    "IPv4",
    "IPv6",
    "Nullable(String)",
    "LowCardinality(String)",
    "LowCardinality(Nullable(FixedString(3)))",
    "LowCardinality(DateTime)",
    "Array(Nullable(Int32))",
    "Array(Array(Map(String, UInt8)))",
    "Map(String, String)",
    "Map(LowCardinality(String), Array(Float64))",
  ])("%s and prints it alike", (text) => {
    expect(printed(text)).toBe(text);
  });

  test.each([
    ["  String ", "String"],
    ["DateTime64", "DateTime64(3)"],
    ["DateTime64(6,'UTC')", "DateTime64(6, 'UTC')"],
    ["DateTime32", "DateTime"],
    ["Decimal(5)", "Decimal(5, 0)"],
    ["Map( String , UInt8 )", "Map(String, UInt8)"],
    ["Enum8('a','b')", "Enum8('a' = 1, 'b' = 2)"],
    ["Enum8('a'=5,'b')", "Enum8('a' = 5, 'b' = 6)"],
  ])("%s as %s", (text, canonical) => {
    expect(printed(text)).toBe(canonical);
  });
});

describe("parseColumnType refuses", () => {
  test.each([
    ["", "is not a column type"],
    ["string", "is an unsupported column type"],
    ["Int7", "is an unsupported column type"],
    ["String)", "is not a column type"],
    ["String(3)", "is an unsupported column type"],
    ["Tuple(String, Int8)", "is not supported yet"],
    ["JSON", "is not supported yet"],
    ["Int128", "is not supported yet"],
    ["UInt256", "is not supported yet"],
    ["SimpleAggregateFunction(sum, UInt64)", "is an unsupported column type"],
    ["FixedString(0)", "needs its length in bytes"],
    ["DateTime64(10)", "needs a precision from 0 to 9"],
    ["DateTime('x') ENGINE = Memory; --')", "needs a time zone"],
    ["Decimal(77, 1)", "needs a precision from 1 to 76"],
    ["Decimal(5, 6)", "needs a precision from 1 to 76"],
    ["Enum8('a' = 128)", "needs members"],
    ["Enum8('a' = 1, 'a' = 2)", "needs members"],
    ["Nullable(Array(String))", "cannot hold Array(String)"],
    ["LowCardinality(Bool)", "cannot hold Bool"],
    ["Nullable(Nullable(String))", "cannot hold Nullable(String)"],
    ["Array(Tuple(Int8))", "holds Tuple(Int8), which is not supported yet"],
    ["Map(String)", "needs a key and a value type"],
    ["Map(Array(String), String)", "needs a key that is a String"],
    ["Map(String, Nope)", "has the value type Nope, which is an unsupported column type"],
    [`${"Array(".repeat(50)}String${")".repeat(50)}`, "nested deeper than 16 levels"],
    ["x".repeat(200_000), "is longer than 100000 characters"],
  ])("%s", (text, problem) => {
    expect(printed(text)).toContain(problem);
  });
});
