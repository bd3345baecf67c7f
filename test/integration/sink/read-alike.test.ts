import { afterAll, beforeAll, expect, test } from "vitest";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { commonSettings } from "../../../engine/sinks/clickhouse/insert/insert-settings.ts";
import { Event } from "../../../engine/event/event.ts";
import { converterForAny } from "../../../engine/sinks/clickhouse/encode/converter.ts";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import { type ColumnType, columnTypeText } from "../../../engine/sinks/clickhouse/columns/column-type.ts";
import { parseExactly } from "../../../engine/event/exact-json.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { isEveryCase } from "../../support/cases.ts";
import { encoded } from "../../support/encoded.ts";
import { type Field, patient, sinkOn } from "./support.ts";

let server: TestClickHouse;

beforeAll(async () => {
  server = await useClickHouse();
  await server.client.command({ query: "CREATE DATABASE IF NOT EXISTS d" });
});

afterAll(() => server.stop());

/** A field's type, its column's, JSON of its value, and what both ClickHouse itself and Sluice make of it. */
type Row = [FieldType, string, string, string | null];

const alike: Row[] = [
  ["bool", "UInt8", "true", "1"],
  ["int", "Enum8('a' = 1, 'b' = 2)", "2", "b"],
  ["array", "Array(Enum8('a' = 1, 'b' = 2))", '[2, "a"]', "['b','a']"],
  ["string", "DateTime('UTC')", '"2026/01/02 10:00:00"', "2026-01-02 10:00:00"],
  ["string", "DateTime64(3, 'Europe/Berlin')", '"2026/01/02 10:00:00.5"', "2026-01-02 10:00:00.500"],
  ["string", "DateTime('UTC')", '"2026/01/02T10:00:00+02:00"', "2026-01-02 08:00:00"],
  ["string", "Date", '"2026/01/02"', "2026-01-02"],
  ["string", "DateTime('UTC')", '"05.06.2024"', "2024-06-05 00:00:00"],
  ["string", "DateTime('Europe/Berlin')", '"1717243200"', "2024-06-01 14:00:00"],
  ["string", "DateTime('UTC')", '"717243200"', "1992-09-23 10:13:20"],
  ["string", "DateTime64(3, 'UTC')", '"1717243200"', "2024-06-01 12:00:00.000"],
  ["string", "DateTime64(3, 'UTC')", '"1717243200.1239"', "2024-06-01 12:00:00.123"],
  ["string", "Variant(DateTime('UTC'), Int64)", '"1717243200"', "1717243200 Int64"],
  ["string", "Time", '"12:30:45"', "12:30:45"],
  ["string", "Time", '"-999:59:59"', "-999:59:59"],
  ["int", "Time", "-5", "-00:00:05"],
  ["string", "Nullable(Time)", "null", null],
  ["string", "LowCardinality(Time)", '"1:02:03"', "01:02:03"],
  ["string", "Time64(3)", '"12:30:45.1239"', "12:30:45.123"],
  ["string", "Time64(9)", '"-00:00:00.000000001"', "-00:00:00.000000001"],
  ["string", "Time64", '"1.5"', "00:00:01.500"],
  ["array", "Array(Time)", '["12:30:45", 5]', "['12:30:45','00:00:05']"],
  ["float", "BFloat16", "3.14159", "3.140625"],
  ["float", "BFloat16", "3.4e38", "3.3895314e38"],
  ["float", "Nullable(BFloat16)", "null", null],
  ["array", "Array(BFloat16)", "[1.5, -2]", "[1.5,-2]"],
  ["array", "Point", "[1, 2.5]", "(1,2.5)"],
  ["array", "Nullable(Point)", "null", null],
  ["array", "Ring", "[[0, 0], [1, 0], [1, 1]]", "[(0,0),(1,0),(1,1)]"],
  ["array", "LineString", "[[0, 0], [1, 0.5]]", "[(0,0),(1,0.5)]"],
  ["array", "MultiLineString", "[[[0, 0], [1, 0]], []]", "[[(0,0),(1,0)],[]]"],
  ["array", "Polygon", "[[[0, 0], [1, 0], [1, 1]]]", "[[(0,0),(1,0),(1,1)]]"],
  ["array", "MultiPolygon", "[[[[0, 0], [1, 0], [1, 1]]]]", "[[[(0,0),(1,0),(1,1)]]]"],
  ["array", "Geometry", "[1, 2]", "(1,2) Point"],
  ["array", "Geometry", "[[[0, 0], [1, 0]]]", "[[(0,0),(1,0)]] MultiLineString"],
  ["array", "Geometry", "null", null],
  ["map", "Tuple(at Point, n String)", '{"at": [1, 2], "n": "a"}', "((1,2),'a')"],
  ["map", "Map(UInt32, String)", '{"7": "a", "4294967295": "b"}', "{7:'a',4294967295:'b'}"],
  ["map", "Map(Int64, UInt8)", '{"-9007199254740993": 1}', "{-9007199254740993:1}"],
  ["map", "Map(Int128, UInt8)", `{"${2n ** 127n - 1n}": 1}`, `{${2n ** 127n - 1n}:1}`],
  ["map", "Map(LowCardinality(UInt16), Point)", '{"1": [1, 2]}', "{1:(1,2)}"],
  ["map", "Map(Float64, UInt8)", '{"1.5": 1}', "{1.5:1}"],
  ["map", "Map(Decimal(9, 2), UInt8)", '{"1.50": 1}', "{1.5:1}"],
  [
    "map",
    "Map(UUID, UInt8)",
    '{"61f0c404-5cb3-11e7-907b-a6006ad3dba0": 1}',
    "{'61f0c404-5cb3-11e7-907b-a6006ad3dba0':1}",
  ],
  ["map", "Map(Date, UInt8)", '{"2024-01-02": 1}', "{'2024-01-02':1}"],
  ["map", "Map(DateTime('UTC'), UInt8)", '{"2024-01-02 03:04:05": 1}', "{'2024-01-02 03:04:05':1}"],
  ["map", "Map(DateTime('UTC'), UInt8)", '{"1717158645": 2}', "{'2024-05-31 12:30:45':2}"],
  ["map", "Map(DateTime64(3, 'UTC'), UInt8)", '{"2024-01-02T03:04:05.5Z": 1}', "{'2024-01-02 03:04:05.500':1}"],
  ["map", "Map(Time, UInt8)", '{"12:30:45": 1}', "{'12:30:45':1}"],
  ["map", "Map(IPv4, UInt8)", '{"1.2.3.4": 1}', "{'1.2.3.4':1}"],
  ["map", "Map(Enum8('a' = 1, 'b' = 2), UInt8)", '{"2": 3}', "{'b':3}"],
  ["array", "Nested(a UInt8, b Nullable(String))", '[{"a": 1, "b": "x"}, {"a": 2, "b": null}]', "[(1,'x'),(2,NULL)]"],
  ["map", "Tuple(list Nested(a UInt8))", '{"list": [{"a": 1}]}', "([(1)])"],
  ["int", "Variant(UInt8, String)", "1", "1 UInt8"],
  ["string", "Variant(UInt8, String)", '"a"', "a String"],
  ["string", "Variant(UInt8, String)", "null", null],
  ["int", "Variant(UInt8, String)", "300", "300 String"],
  ["float", "Variant(Int64, Float64)", "1.5", "1.5 Float64"],
  ["int", "Variant(Int64, Float64)", "9007199254740993", "9007199254740993 Int64"],
  ["bool", "Variant(Bool, String)", "true", "true Bool"],
  ["string", "Variant(Bool, String)", '"true"', "true String"],
  ["float", "Variant(Decimal(9, 2), String)", "1.25", "1.25 Decimal(9, 2)"],
  ["string", "Variant(DateTime('UTC'), UInt8)", '"2024-01-01T00:00:00Z"', "2024-01-01 00:00:00 DateTime('UTC')"],
  ["int", "Variant(DateTime('UTC'), UInt8)", "5", "5 UInt8"],
  ["string", "Variant(Date, String)", '"2024-01-01T00:00:00Z"', "2024-01-01T00:00:00Z String"],
  ["array", "Variant(Array(UInt8), String)", "[1, 2]", "[1,2] Array(UInt8)"],
  ["map", "Variant(Map(String, UInt8), UInt8)", '{"a": 1}', "{'a':1} Map(String, UInt8)"],
  ["array", "Array(Variant(UInt8, String))", '[1, "a", null]', "[1,'a',NULL]"],
  ["map", "Tuple(v Variant(UInt8, String), n UInt8)", '{"n": 2}', "(NULL,2)"],
  ["int", "Dynamic", "-1", "-1 Int64"],
  ["uint", "Dynamic", "18446744073709551615", "18446744073709551615 UInt64"],
  ["float", "Dynamic(max_types=4)", "1.5", "1.5 Float64"],
  ["bool", "Dynamic", "true", "true Bool"],
  ["string", "Dynamic", '"2024-01-01"', "2024-01-01 String"],
  ["array", "Dynamic", '[1, "a", true]', "[1,'a',true] Array(Dynamic)"],
  ["array", "Dynamic", "[1, null]", "[1,NULL] Array(Nullable(Int64))"],
  ["map", "Tuple(d Dynamic, n UInt8)", '{"n": 2}', "(NULL,2)"],
  ["map", "Map(String, Dynamic)", '{"a": 1, "b": "x"}', "{'a':1,'b':'x'}"],
  [
    "map",
    "JSON(d Dynamic, t Time, p Point)",
    '{"d": null, "t": "12:30:45", "p": [1, 2]}',
    '{"d":null,"p":[1,2],"t":"12:30:45"}',
  ],
];

/** Values of which ClickHouse makes something else, or nothing: what Sluice makes of them. */
const otherwise: Row[] = [
  // Seconds, as for a DateTime64: ClickHouse would count milliseconds of a whole number, and read no fraction.
  ["int", "Time64(3)", "45", "00:00:45.000"],
  ["float", "Time64(3)", "-1.5", "-00:00:01.500"],
  ["float", "Time", "1.9", "00:00:01"],
  ["string", "Time", '"12:30:45.9"', "12:30:45"],
  // ClickHouse would read the fifth day of January of this year.
  ["map", "Map(DateTime('UTC'), UInt8)", '{"5": 2}', "{'1970-01-01 00:00:05':2}"],
  // A null in Dynamic fails the insert of ClickHouse.
  ["string", "Dynamic", "null", null],
  // ClickHouse would make true of the number, and cut a digit.
  ["int", "Variant(Bool, Int64)", "1", "1 Int64"],
  ["float", "Variant(Decimal(9, 2), Float64)", "1.239", "1.239 Float64"],
];

/** The text of each column, with its type where values of several may stand in it. */
async function shown(table: string, rows: readonly Row[]): Promise<(string | null)[]> {
  const columns = rows.map(([, column], index) => {
    const type = /^(?:Variant|Geometry)/.test(column)
      ? "variant"
      : column.startsWith("Dynamic")
        ? "dynamic"
        : undefined;
    const text = type === undefined ? "" : ` || ' ' || toString(${type}Type(c${index}))`;
    const isNull = /^(?:Array|Tuple|Nested|Map|JSON|Point|Ring)|String$|Polygon$/.test(column)
      ? "0"
      : `c${index} IS NULL`;
    return `if(${isNull}, NULL, toString(c${index})${text}) AS v${index}`;
  });
  const [row] = await server.query<Record<string, string | null>>(`SELECT ${columns.join(", ")} FROM d.${table}`);
  return rows.map((_, index) => row?.[`v${index}`] ?? null);
}

/** Makes a table of the rows' columns, and writes one row of their values through a sink. */
async function write(table: string, rows: readonly Row[]): Promise<string> {
  const fields = rows.map(([type, column], index): Field => [`c${index}`, type, column]);
  const sink = sinkOn(server, { fields, table, create_table: true });
  expect(await sink.open(patient)).toEqual({ kind: "ok" });
  const event = `{${rows.map(([, , json], index) => `"c${index}":${json}`).join(",")}}`;
  const block = encoded(sink, [new Event(1, 0, Buffer.from(event))]);
  expect(block.rejected).toEqual([]);
  expect(await sink.insert(block, "t", patient)).toEqual({ kind: "ok" });
  await sink.close();
  return event;
}

/** Has ClickHouse read JSON, with the settings of a sink. */
async function insertItself(table: string, lines: string): Promise<void> {
  const query = `INSERT INTO d.${table} FORMAT JSONEachRow ${lines}`;
  await server.client.command({ query, clickhouse_settings: commonSettings(true) });
}

test("values are stored as ClickHouse reads them from the same JSON", async () => {
  const event = await write("alike", alike);
  expect(await shown("alike", alike)).toEqual(alike.map(([, , , text]) => text));
  const allowing = { allow_suspicious_low_cardinality_types: 1 as const, enable_nullable_tuple_type: 1 as const };
  await server.client.command({ query: "CREATE TABLE d.own AS d.alike", clickhouse_settings: allowing });
  await insertItself("own", event);
  expect(await shown("own", alike)).toEqual(alike.map(([, , , text]) => text));
});

test("values of which ClickHouse would make others are stored as what they are", async () => {
  await write("otherwise", otherwise);
  expect(await shown("otherwise", otherwise)).toEqual(otherwise.map(([, , , text]) => text));
});

/** Types of a Variant, and JSON that ClickHouse would misread for some two of them. */
const kinds = [
  "String | DateTime('UTC') | Int64 | Bool | UInt8 | Int128 | Float32 | Float64 | BFloat16 | Decimal(9, 2) | UUID",
  "Enum8('a' = 1, 'b' = 2) | Date | Date32 | DateTime64(3, 'UTC') | Time | Time64(3) | IPv4 | IPv6",
  "Array(UInt8) | Map(String, UInt8) | Tuple(a UInt8, b String) | JSON | Point",
].flatMap((line) => line.split(" | "));
const long = "9".repeat(45);
const texts = [
  "a|abc|1|007|+5|1.50|1.5|1.239|1e300|nan|NaN|true|May|12|5 May|2024-01-01|2024-02-31|20240101|2024-01-01 10:00:00",
  "2024-01-01T10:00:00Z|2200-01-01 00:00:00|12:30:45|12:30|1.2.3.4|::1|61f0c404-5cb3-11e7-907b-a6006ad3dba0",
  `hello world 12|é|2026/01/02|05/06/2024|05.06.2024|1717243200|1717243200.5|${long}|`,
].flatMap((line) => line.split("|").map((text) => JSON.stringify(text)));
const others = [
  "0|1|-1|5|300|1.5|1.23|1.239|-0.001|1e5|1e300|9007199254740993|1717158645|99999999999|20240101|true|false",
  `${long}|[1,2]|[]|[1.5,2]|["a"]|{"a":1}|{}|{"a":1,"b":"x"}|{"c":"é"}`,
].flatMap((line) => line.split("|"));
const values = [...others, ...texts];

function typeOf(text: string): ColumnType {
  const parsed = parseColumnType(text);
  if (isProblem(parsed)) throw new Error(parsed.problem);
  return parsed;
}

/** What columns store of the values that they take: by the numbers of column and value, with the type that it has there. */
async function readBack(
  columns: readonly string[],
): Promise<[column: number, value: number, text: string, type: string][]> {
  const table = `sweep${columns.length}`;
  const types = columns.map((type, index) => `c${index} ${type}`);
  const settings = { allow_suspicious_variant_types: 1 as const };
  const query = `CREATE TABLE d.${table} (n UInt32, ${types.join(", ")}) ENGINE = Memory`;
  await server.client.command({ query, clickhouse_settings: settings });
  const lines = columns.flatMap((type, column) => {
    const { convert } = converterForAny(typeOf(type));
    const written = values.map((json) => convert(parseExactly(json)));
    return written.flatMap((text, at) =>
      text === undefined ? [] : [`{"n":${column * 1000 + at},"c${column}":${text}}`],
    );
  });
  await insertItself(table, lines.join("\n"));
  const selects = columns.map((type, index) => {
    const found = type.startsWith("Variant") ? `toString(variantType(c${index}))` : `toTypeName(c${index})`;
    return `SELECT n, toString(c${index}) AS text, ${found} AS type FROM d.${table} WHERE intDiv(n, 1000) = ${index}`;
  });
  const rows = await server.query<{ n: number; text: string; type: string }>(selects.join(" UNION ALL "));
  return rows.map(({ n, text, type }) => [Math.floor(n / 1000), n % 1000, text, type]);
}

test(
  "a value in a Variant of any two types is what a column of the type alone would store",
  { tags: ["rest"] },
  async () => {
    const alone = new Map<string, string>();
    for (const [column, at, text] of await readBack(kinds)) alone.set(`${kinds[column]} ${values[at]}`, text);
    const pairs = kinds.flatMap((one, at) => kinds.slice(at + 1).map((other) => [one, other] as const));
    const tried = isEveryCase ? pairs : pairs.filter(([one]) => kinds.indexOf(one) < 3);
    const found = await readBack(tried.map(([one, other]) => `Variant(${one}, ${other})`));
    const wrong = found.filter(
      ([, at, text, type]) => alone.get(`${columnTypeText(typeOf(type))} ${values[at]}`) !== text,
    );
    expect(wrong.map(([column, at, text, type]) => [...tried[column]!, values[at], text, type])).toEqual([]);
    expect(found.length).toBeGreaterThan(tried.length * 8);
  },
);
