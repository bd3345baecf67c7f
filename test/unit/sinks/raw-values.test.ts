import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Walk } from "../../../engine/event/raw-json.ts";
import { RawScan } from "../../../engine/event/scan.ts";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import { rawWalk } from "../../../engine/sinks/clickhouse/encode/raw-values.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";

/** Those of some JSON values that may stand in a column as they are. */
function taken(type: FieldType, column: string, values: readonly string[]): string[] {
  const parsed = parseColumnType(column);
  if (isProblem(parsed)) throw new Error(parsed.problem);
  const walk = rawWalk(type, parsed);
  if (walk === undefined) return [];
  const scan = scanOf(walk);
  return values.filter((value) => isRow(scan, Buffer.from(`{"c":${value}}`)));
}

function scanOf(walk: Walk): RawScan {
  const rows = { walks: new Map([["c", walk]]), optional: new Set<string>(), nullable: new Set<string>() };
  return new RawScan({ declared: new Map(), noted: [], rows });
}

function isRow(scan: RawScan, event: Buffer): boolean {
  return scan.look(event, 0, event.length);
}

/** A map with so many keys. */
function keys(count: number, from = 0): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${from + index}":"v"`).join(",")}}`;
}

test("keys of a map that fit it in number, and none twice, also where others came before", () => {
  const [most, more] = [keys(200), keys(201)];
  expect(taken("map", "Map(String, String)", [most, more])).toEqual([most]);
  const [many, twice] = [
    Array.from({ length: 1_000 }, (_, index) => keys(7, 7 * index)),
    keys(9).replace("}", ',"k4":""}'),
  ];
  expect(taken("map", "Map(String, String)", [...many, twice, ...many, twice])).toEqual([...many, ...many]);
});

type Row = [FieldType, string, string[], string[]];

test.each<Row>([
  ["map", "Map(String, String)", ["{}", '{"a":"b"}', '{"b":"1", "a":""}', '{"a.b": "\\n","ключ":"é"}'], []],
  ["map", "Map(LowCardinality(String), Nullable(String))", ['{"a":"b"}'], ['{"a":null}', '{"a":1}', '{"a":{}}']],
  ["map", "Map(String, String)", [], ['{"a":"1","a":"2"}', '{"1":"a"}', '{"":"a"}', '{"\\u0061":"a"}', '{"\\n":""}']],
  [
    "map",
    "Map(String, String)",
    [],
    ["null", "[]", '"{}"', "{", '{"a"}', '{"a":"b",}', '{"a" :"b"}', "{ }", "{,}", '{"a":"b"'],
  ],
  ["map", "Map(String, Int8)", [], ["{}", '{"a":1}']],
  ["bool", "Bool", ["true", "false"], ["True", "1", "0", "null", "tru", "truE", '"true"', "truefalse"]],
  ["int", "Int8", ["0", "1", "-1", "127", "-128"], ["128", "-129", "200", "1000", "null", '"1"', "true", "[1]"]],
  ["int", "Int8", [], ["-0", "00", "01", "-01", "+1", "-", "1.0", "1e1", "1E0", "0x1", "1_0", "1 ", " 1 ", "٣"]],
  ["uint", "Int8", ["127", "0"], ["128", "-1", "-0"]],
  ["int", "Int16", ["32767", "-32768", "9999"], ["32768", "-32769", "40000"]],
  ["int", "Int32", ["2147483647", "-2147483648"], ["2147483648", "-2147483649", "9999999999"]],
  ["int", "Int64", ["9223372036854775807", "-9223372036854775808", "9007199254740993"], []],
  ["int", "Int64", [], ["9223372036854775808", "-9223372036854775809", "10000000000000000000"]],
  ["uint", "UInt8", ["0", "255", "99"], ["256", "300", "-1", "-0"]],
  ["uint", "UInt16", ["65535"], ["65536", "70000"]],
  ["uint", "UInt32", ["4294967295"], ["4294967296"]],
  ["uint", "UInt64", ["18446744073709551615", "9999999999999999999"], ["18446744073709551616", "-1"]],
  ["int", "Int128", ["999999999999999", "-999999999999999"], ["1000000000000000", "-1000000000000000"]],
  ["uint", "UInt256", ["999999999999999"], ["1000000000000000", "-1"]],
  ["int", "LowCardinality(Nullable(Int8))", ["127"], ["128", "null"]],
  ["float", "Float64", ["0", "1", "-1", "1.5", "-0.25", "12.05", "123456789012345", "0.000001", "-0.5"], []],
  ["float", "Float64", ["100.0", "7.000", "0.0", "-1.0"], ["1.50", "-0", "-0.0", "0.10", "1.", ".5", "01.5", "+1.5"]],
  ["float", "Float64", ["1e-7", "1e+21", "5e-324", "-1.5e-9"], ["1e3", "1E-7", "1.0e-7", "1e21", "0.0000001", "1e400"]],
  ["float", "Float64", ["0.30000000000000004", "1717158645.123456", "9007199254740992"], ["9007199254740993"]],
  [
    "float",
    "Float64",
    ["1.7976931348623157e+308"],
    ["NaN", "Infinity", "null", '"1"', "0.300000000000000040", "1".repeat(30)],
  ],
  ["float", "Float32", ["1.5", "3.4028234663852886e+38", "16777217"], ["3.5e+38", "1e+39"]],
  ["int", "Float64", ["5", "-5", "999999999999999"], ["5.0", "5.5", "-0", "1000000000000000"]],
  ["int", "DateTime", ["0", "4294967295"], ["4294967296", "-1", "1.5", "1717158645.0"]],
  ["float", "DateTime('Asia/Tokyo')", ["1717158645"], ["1717158645.5", "-1", "4294967296"]],
  ["string", "String", ['""', '"a"', '"é😀\u007f\u2028"', String.raw`"\"\\\/\b\f\n\r\t"`], ["1", "null", "{}", "'a'"]],
  [
    "string",
    "String",
    [String.raw`"\u0000\u00e9\uFFFF"`, String.raw`"\ud83d\ude00"`],
    [String.raw`"\x"`, String.raw`"\u12g4"`],
  ],
  [
    "string",
    "String",
    [],
    [
      String.raw`"\ud83d"`,
      String.raw`"\ude00"`,
      String.raw`"\ud83dx"`,
      String.raw`"\ud83d\u0041"`,
      String.raw`"\ude00\ude00"`,
    ],
  ],
  ["string", "String", [], ['"a\nb"', '"a\tb"', '"\u0000"', '"a', String.raw`"a\"`, '"a"b"', '"a" "b"']],
  ["string", "FixedString(3)", ['"abc"', '""', '"é"', '"éx"'], ['"abcd"', '"éxy"', String.raw`"\u00e9"`, "1"]],
  ["string", "FixedString", ['"abcdef"'], ["1"]],
  ["string", "UUID", ['"61F0C404-5cb3-11e7-907b-a6006ad3dba0"'], ['"61F0C4045cb311e7907ba6006ad3dba0"', "null", '""']],
  ["string", "UUID", [], ['"61F0C404-5cb3-11e7-907b-a6006ad3dbag"', '"61F0C404-5cb3-11e7-907b-a6006ad3dba00"']],
  ["string", "Enum8('a' = 1, 'é' = 2)", ['"a"', '"é"'], ['"b"', '"A"', '"\\u0061"', '""', "1", "null"]],
  ["string", String.raw`Enum8('a\\nb' = 1, '"' = 2)`, [String.raw`"a\\nb"`, String.raw`"\""`], [String.raw`"a\nb"`]],
  ["string", "Enum16", ['"anything"'], ["1"]],
  [
    "string",
    "Date",
    ['"1970-01-01"', '"2149-06-05"', '"2024-02-29"'],
    ['"2149-06-06"', '"1969-12-31"', '"2023-02-29"'],
  ],
  [
    "string",
    "Date",
    [],
    ['"2024-13-01"', '"2024-00-10"', '"2024-04-31"', '"2024-01-00"', '"2024-1-01"', '"2024-05-31T00:00:00Z"'],
  ],
  [
    "string",
    "Date32",
    ['"1900-01-01"', '"2299-12-30"', '"2000-02-29"'],
    ['"1899-12-31"', '"2299-12-31"', '"1900-02-29"'],
  ],
  ["string", "DateTime", ['"1970-01-01T00:00:00Z"', '"2106-02-07T06:28:14Z"', '"2024-05-31T12:30:45.123456789Z"'], []],
  [
    "string",
    "DateTime",
    [],
    ['"2106-02-07T06:28:15Z"', '"1969-12-31T23:59:59Z"', '"2024-02-30T00:00:00Z"', "1717158645"],
  ],
  [
    "string",
    "DateTime",
    [],
    ['"2024-05-31T12:30:45"', '"2024-05-31 12:30:45Z"', '"2024-05-31T12:30:45z"', '"2024-05-31"'],
  ],
  [
    "string",
    "DateTime",
    [],
    ['"2024-05-31T24:00:00Z"', '"2024-05-31T12:60:00Z"', '"2024-05-31T12:00:60Z"', '"2024-05-31T1:00:00Z"'],
  ],
  [
    "string",
    "DateTime",
    [],
    ['"2024-05-31T12:30:45.Z"', '"2024-05-31T12:30:45.1234567890Z"', '"2024-05-31T12:30:45+00:00"'],
  ],
  [
    "string",
    "DateTime64(3)",
    ['"1970-01-01T00:00:00.000Z"', '"2299-12-31T23:59:58.999Z"', '"2024-05-31T12:30:45Z"'],
    [],
  ],
  ["string", "DateTime64(3)", [], ['"2299-12-31T23:59:59Z"', '"1900-01-01T00:00:00.000Z"', "1717158645"]],
  ["string", "DateTime64(9, 'UTC')", ['"2262-04-11T23:47:15.999999999Z"'], ['"2262-04-11T23:47:16.000000000Z"']],
  ["int", "DateTime64(3)", [], ["0", "1717158645"]],
  ["string", "Decimal(5, 2)", [], ['"1.5"', "1.5"]],
  ["float", "Decimal(5, 2)", [], ["1.5"]],
  ["string", "IPv4", [], ['"1.2.3.4"']],
  ["string", "IPv6", [], ['"::1"']],
  ["int", "String", [], ["1"]],
  ["map", "String", [], ["{}"]],
  ["map", "JSON", [], ["{}"]],
  ["array", "Array(String)", [], ["[]"]],
  ["array", "Tuple(Int8)", [], ["[1]"]],
])("%s into %s: %j as they are, not %j", (type, column, yes, no) => {
  expect(taken(type, column, [...yes, ...no])).toEqual(yes);
});

test.each([
  ["a lead without its rest", [0xc3]],
  ["a rest without its lead", [0x85]],
  ["a character longer than it need be", [0xc0, 0x80]],
  ["a longer one longer than it need be", [0xe0, 0x9f, 0xbf]],
  ["a surrogate", [0xed, 0xa0, 0x80]],
  ["a character beyond the last", [0xf4, 0x90, 0x80, 0x80]],
  ["four bytes longer than they need be", [0xf0, 0x8f, 0xbf, 0xbf]],
  ["a byte that is never used", [0xff]],
] as const)("a text that holds %s is not taken", (_title, inner) => {
  const scan = scanOf(rawWalk("string", { kind: "String" })!);
  const [before, behind] = [Buffer.from('{"c":"abc'), Buffer.from('defgh"}')];
  const bytes = Buffer.concat([before, Buffer.from(inner), behind]);
  expect(isRow(scan, bytes)).toBe(false);
});

test("a text is taken where JSON takes it, whatever character stands wherever", () => {
  const characters = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code));
  const texts = characters.flatMap((character) =>
    Array.from({ length: 9 }, (_, place) => `"${"a".repeat(place)}${character}${"a".repeat(8 - place)}"`),
  );
  expect(taken("string", "String", texts)).toEqual(texts.filter(isJson));
});

test.each(["DateTime", "DateTime64(3)", "DateTime64(9)"])(
  "what came before is of no consequence for a %s",
  (column) => {
    const days =
      "1969-12-31 1970-01-01 2024-02-29 2023-02-29 2106-02-07 2262-04-11 2299-12-31 2300-01-01 2024-02-2".split(" ");
    const clocks = "T00:00:00Z T23:59:59.999Z T24:00:00Z T06:28:15Z T23:47:16Z T12:30:45 12:30:45Z".split(" ");
    const values = fc.tuple(fc.constantFrom(...days), fc.constantFrom(...clocks)).map((parts) => `"${parts.join("")}"`);
    const alone = (value: string): boolean => taken("string", column, [value]).length === 1;
    fc.assert(
      fc.property(fc.array(values, { minLength: 2, maxLength: 30 }), (list) => {
        expect(taken("string", column, list)).toEqual(list.filter(alone));
      }),
      { numRuns: 200, seed: 1 },
    );
  },
);

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}
