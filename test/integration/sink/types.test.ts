import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { Event } from "../../../engine/core/batch.ts";
import { type TestClickHouse, startClickHouse } from "../../support/clickhouse.ts";
import { patient, sinkOn } from "./support.ts";

let server: TestClickHouse;
let tables = 0;

beforeAll(async () => {
  server = await startClickHouse();
});

afterAll(() => server.stop());

/** What the table holds, as text in UTC, after a JSON value went through a sink that made the table. */
async function stored(type: FieldType, column: string, json: string): Promise<string | null> {
  const table = `t${++tables}`;
  const sink = sinkOn(server, { fields: [["c", type, column]], table, create_table: true });
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  const block = sink.encode([new Event(1, 0, Buffer.from(`{"c":${json}}`))]);
  expect(block.rejected).toEqual([]);
  expect(await sink.insert(block, "t", patient)).toEqual({ kind: "ok" });
  await sink.close();
  const shown = column.includes("DateTime") && !column.includes("Array") ? "toString(c, 'UTC')" : "toString(c)";
  const [row] = await server.query<{ v: string | null }>(`SELECT ${shown} AS v FROM d.${table}`);
  return row?.v ?? null;
}

type Row = [FieldType, string, string, string | null];

describe("a value at the edge of its type arrives unchanged", () => {
  test.each<Row>([
    ["bool", "Bool", "true", "true"],
    ["int", "Int8", "-128", "-128"],
    ["int", "Int16", "32767", "32767"],
    ["int", "Int32", "-2147483648", "-2147483648"],
    ["int", "Int64", "-9223372036854775808", "-9223372036854775808"],
    ["uint", "UInt8", "255", "255"],
    ["uint", "UInt16", "65535", "65535"],
    ["uint", "UInt32", "4294967295", "4294967295"],
    ["uint", "UInt64", "18446744073709551615", "18446744073709551615"],
    ["float", "Float32", "3.4028234663852886e38", "3.4028235e38"],
    ["float", "Float64", "1.7976931348623157e308", "1.7976931348623157e308"],
    ["float", "Float64", "5e-324", "5e-324"],
    ["string", "String", '"\\u0000é😀\\n"', "\0é😀\n"],
    ["string", "FixedString(4)", '"é\\u0000x"', "é\0x"],
    ["string", "LowCardinality(String)", '"lc"', "lc"],
    ["string", "LowCardinality(Nullable(String))", "null", null],
    ["string", "LowCardinality(FixedString(2))", '"ab"', "ab"],
    ["string", "Nullable(UUID)", "null", null],
    ["string", "UUID", '"61F0C4045CB311E7907BA6006AD3DBA0"', "61f0c404-5cb3-11e7-907b-a6006ad3dba0"],
    ["string", "UUID", "null", "00000000-0000-0000-0000-000000000000"],
    ["string", String.raw`Enum8('it\'s' = -1, 'b\\' = 2)`, '"it\'s"', "it's"],
    ["string", "Enum16('none' = 0, 'a' = 1000)", "null", "none"],
    ["string", "Date", '"2149-06-06"', "2149-06-06"],
    ["string", "Date", "null", "1970-01-01"],
    ["string", "Date32", '"2299-12-31"', "2299-12-31"],
    ["string", "Date32", '"1900-01-01"', "1900-01-01"],
    ["int", "DateTime", "4294967295", "2106-02-07 06:28:15"],
    ["int", "DateTime", "0", "1970-01-01 00:00:00"],
    ["string", "DateTime('America/New_York')", '"2024-05-31T12:00:00+02:00"', "2024-05-31 10:00:00"],
    ["string", "LowCardinality(DateTime)", '"2024-05-31 12:00:00"', "2024-05-31 12:00:00"],
    ["float", "DateTime64(3)", "1717158645.123", "2024-05-31 12:30:45.123"],
    ["float", "DateTime64(0)", "1717158645.9", "2024-05-31 12:30:45"],
    ["string", "DateTime64(6, 'Asia/Tokyo')", '"1900-01-01T00:00:00.5Z"', "1900-01-01 00:00:00.500000"],
    ["string", "DateTime64(9)", '"2262-04-11T23:47:16.854775807Z"', "2262-04-11 23:47:16.854775807"],
    ["string", "DateTime64(8)", '"2299-12-31T23:59:59.99999999Z"', "2299-12-31 23:59:59.99999999"],
    ["string", "DateTime64(3)", "null", "1970-01-01 00:00:00.000"],
    ["string", "Decimal(76, 38)", `"-${"9".repeat(38)}.${"9".repeat(38)}"`, `-${"9".repeat(38)}.${"9".repeat(38)}`],
    ["float", "Decimal(9, 4)", "-0.0001", "-0.0001"],
    ["string", "IPv4", '"255.255.255.255"', "255.255.255.255"],
    ["string", "IPv4", "null", "0.0.0.0"],
    ["string", "IPv6", '"2001:db8::1"', "2001:db8::1"],
    ["string", "IPv6", '"::ffff:1.2.3.4"', "::ffff:1.2.3.4"],
    ["string", "IPv6", "null", "::"],
    ["array", "Array(Int32)", "[1, null]", "[1,0]"],
    ["array", "Array(Nullable(Int32))", "[1, null]", "[1,NULL]"],
    ["array", "Array(UInt64)", "[18446744073709551615]", "[18446744073709551615]"],
    ["array", "Array(Array(String))", '[["a", "b"], []]', "[['a','b'],[]]"],
    ["array", "Array(DateTime('UTC'))", "[1717158645]", "['2024-05-31 12:30:45']"],
    ["array", "Array(Map(String, String))", '[{"a": 1.5}, null]', "[{'a':'1.5'},{}]"],
    ["array", "Array(Int8)", "null", "[]"],
    ["map", "Map(String, String)", '{"k": {"x": [1]}, "n": null}', `{'k':'{"x":[1]}','n':''}`],
    ["map", "Map(LowCardinality(String), UInt8)", '{"__proto__": 7}', "{'__proto__':7}"],
    ["map", "Map(String, Nullable(Int64))", '{"a": null}', "{'a':NULL}"],
    ["map", "Map(String, String)", "null", "{}"],
    ["map", "String", '{"id": 12345678901234567890}', '{"id":12345678901234567890}'],
  ])("%s into %s: %s", async (type, column, json, expected) => {
    expect(await stored(type, column, json)).toBe(expected);
  });
});
