import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { Event } from "../../../engine/event/event.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { type Field, grouped, patient, sinkOn } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

let server: TestClickHouse;
let tables = 0;

beforeAll(async () => {
  server = await useClickHouse();
});

afterAll(() => server.stop());

/** What the columns of a table hold, as text in UTC, after an event with all values went through a sink that made it. */
async function stored(rows: readonly Row[]): Promise<(string | null)[]> {
  const table = `t${++tables}`;
  const names = rows.map((_, index) => `c${index}`);
  const fields = rows.map(([type, column], index): Field => [names[index]!, type, column]);
  const sink = sinkOn(server, { fields, table, create_table: true });
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  const event = `{${rows.map(([, , json], index) => `"${names[index]}":${json}`).join(",")}}`;
  const block = encoded(sink, [new Event(1, 0, Buffer.from(event))]);
  expect(block.rejected).toEqual([]);
  expect(await sink.insert(block, "t", patient)).toEqual({ kind: "ok" });
  await sink.close();
  const shown = rows.map(([, column], index) => {
    const isTime = /DateTime/.test(column) && !/Array|JSON/.test(column);
    return `${isTime ? `toString(c${index}, 'UTC')` : `toString(c${index})`} AS v${index}`;
  });
  const [row] = await server.query<Record<string, string | null>>(`SELECT ${shown.join(", ")} FROM d.${table}`);
  return rows.map((_, index) => row?.[`v${index}`] ?? null);
}

type Row = [FieldType, string, string, string | null];

describe("a value at the edge of its type arrives unchanged", () => {
  const all: Row[] = [
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
    ["array", "Array(Int32)", "[1, 0]", "[1,0]"],
    ["array", "Array(Nullable(Int32))", "[1, null]", "[1,NULL]"],
    ["array", "Array(UInt64)", "[18446744073709551615]", "[18446744073709551615]"],
    ["array", "Array(Array(String))", '[["a", "b"], []]', "[['a','b'],[]]"],
    ["array", "Array(DateTime('UTC'))", "[1717158645]", "['2024-05-31 12:30:45']"],
    ["array", "Array(Map(String, String))", '[{"a": 1.5}, {}]', "[{'a':'1.5'},{}]"],
    ["array", "Array(Int8)", "null", "[]"],
    ["map", "Map(String, String)", '{"k": {"x": [1]}, "n": ""}', `{'k':'{"x":[1]}','n':''}`],
    ["map", "Map(LowCardinality(String), UInt8)", '{"__proto__": 7}', "{'__proto__':7}"],
    ["map", "Map(String, Nullable(Int64))", '{"a": null}', "{'a':NULL}"],
    ["map", "Map(String, String)", "null", "{}"],
    ["int", "Int128", `-${2n ** 127n}`, `-${2n ** 127n}`],
    ["int", "Int128", `${2n ** 127n - 1n}`, `${2n ** 127n - 1n}`],
    ["int", "Int256", `"${2n ** 255n - 1n}"`, `${2n ** 255n - 1n}`],
    ["int", "Int256", `-${2n ** 255n}`, `-${2n ** 255n}`],
    ["uint", "UInt128", `${2n ** 128n - 1n}`, `${2n ** 128n - 1n}`],
    ["uint", "UInt256", `${2n ** 256n - 1n}`, `${2n ** 256n - 1n}`],
    ["uint", "LowCardinality(UInt256)", `${2n ** 256n - 1n}`, `${2n ** 256n - 1n}`],
    ["uint", "Nullable(UInt128)", "null", null],
    ["array", "Array(Int256)", `[-${2n ** 255n}, 1]`, `[-${2n ** 255n},1]`],
    ["map", "Map(String, UInt128)", `{"a": ${2n ** 128n - 1n}}`, `{'a':${2n ** 128n - 1n}}`],
    ["array", "Tuple(Int8, String)", '[-128, "é"]', "(-128,'é')"],
    ["array", "Tuple(UInt8)", "[255]", "(255)"],
    ["array", "Tuple(Int8, String)", "null", "(0,'')"],
    ["map", "Tuple(a Int8, b Nullable(String))", '{"a": 1, "other": true}', "(1,NULL)"],
    ["map", "Tuple(__proto__ Int8, `b c` String)", '{"__proto__": 7, "b c": "y"}', "(7,'y')"],
    ["map", "Tuple(`a``b` UInt8, `c,(` UInt8, `d\\\\e` UInt8)", '{"a`b": 1, "c,(": 2, "d\\\\e": 3}', "(1,2,3)"],
    [
      "array",
      "Tuple(Tuple(Int8, String), Array(Tuple(x UInt256)))",
      `[[1, "b"], [{"x": ${2n ** 255n}}]]`,
      `((1,'b'),[(${2n ** 255n})])`,
    ],
    ["array", "Array(Tuple(a Int8, b Nullable(String)))", '[{"a": 1}, {}]', "[(1,NULL),(0,NULL)]"],
    ["map", "Map(String, Tuple(Int8, String))", '{"k": [1, "a"]}', "{'k':(1,'a')}"],
    ["array", "Nullable(Tuple(Int8, String))", "null", null],
    ["array", "Nullable(Tuple(Int8, String))", '[1, "a"]', "(1,'a')"],
    ["map", "JSON", '{"a": {"b": [1, "x", true, null, {"c": [[]]}]}}', '{"a":{"b":[1,"x",true,null,{"c":[[]]}]}}'],
    ["map", "JSON", '{"a": [1, true, 2.5], "b": [true, 0]}', '{"a":[1,true,2.5],"b":[true,0]}'],
    ["map", "JSON", "{}", "{}"],
    ["map", "JSON", "null", "{}"],
    ["map", "Nullable(JSON)", "null", null],
    [
      "map",
      "JSON",
      '{"i": -9223372036854775808, "u": [18446744073709551615, -1]}',
      '{"i":-9223372036854775808,"u":[18446744073709551615,-1]}',
    ],
    ["map", "JSON", '{"a": 1e20, "b": 1e300, "c": 5e-324}', '{"a":100000000000000000000,"b":1e300,"c":5e-324}'],
    [
      "map",
      "JSON",
      '{"d": "2024-1-1", "n": "12", "t": "2024-01-01T00:00:00+02:00", "z": ["true", "2024-01-01"]}',
      '{"d":"2024-1-1","n":"12","t":"2024-01-01T00:00:00+02:00","z":["true","2024-01-01"]}',
    ],
    [
      "map",
      "JSON",
      '{"__proto__": {"x": 1}, "": 2, "a`\\"b": "\\u0000😀"}',
      '{"":2,"__proto__":{"x":1},"a`\\"b":"\\u0000😀"}',
    ],
    ["map", "JSON", '{"a.b": 1, "a": {"b": null, "c": 2}}', '{"a":{"b":1,"c":2}}'],
    ["map", "JSON", `${'{"a":'.repeat(100)}1${"}".repeat(100)}`, `${'{"a":'.repeat(100)}1${"}".repeat(100)}`],
    ["string", "JSON", '"{\\"id\\": 9007199254740993}"', '{"id":9007199254740993}'],
    [
      "map",
      "JSON(max_dynamic_paths=2, a.b UInt256, SKIP c, SKIP REGEXP '^d')",
      `{"a.b": ${2n ** 255n}, "c": 1, "d1": 2, "e": 3}`,
      `{"a":{"b":${2n ** 255n}},"e":3}`,
    ],
    ["map", "JSON(`SKIP` UInt8, `max_dynamic_paths` UInt8)", '{"SKIP": 1}', '{"SKIP":1,"max_dynamic_paths":0}'],
    ["map", "Tuple(`not` UInt8, `select` UInt8, `as` UInt8)", '{"not": 1, "select": 2}', "(1,2,0)"],
    ["map", "JSON(a.b Nullable(UInt8))", '{"a.b": null, "a": {"b": 7}}', '{"a":{"b":7}}'],
    [
      "map",
      "JSON(a Enum8('x' = 1), b UInt8, c DateTime('UTC'))",
      '{"a": "x", "c": 0}',
      '{"a":"x","b":0,"c":"1970-01-01 00:00:00"}',
    ],
    ["array", "Array(JSON)", '[{"a": 1}, {}]', `['{"a":1}','{}']`],
    ["map", "Map(String, JSON)", '{"k": {"id": 9007199254740993}}', `{'k':'{"id":9007199254740993}'}`],
    ["array", "Tuple(JSON, String)", '[{"a": 1}, "s"]', `('{"a":1}','s')`],
    ["map", "String", '{"id": 12345678901234567890}', '{"id":12345678901234567890}'],
  ];

  test.each(grouped(all, ([type]) => type))("from fields of type %s", async (_type, rows) => {
    const found = await stored(rows);
    expect(rows.map(([type, column, json], index) => [type, column, json, found[index]])).toEqual(rows);
  });
});
