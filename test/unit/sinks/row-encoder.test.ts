import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import type { Block } from "../../../engine/core/sink.ts";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import type { RealColumn } from "../../../engine/sinks/clickhouse/encode/row-column.ts";
import { RowEncoder } from "../../../engine/sinks/clickhouse/encode/row-encoder.ts";
import { isUnrecorded } from "../../../engine/sources/otlp/unrecorded.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { encoded } from "../../support/encoded.ts";

function encode(type: FieldType, column_type: string, json: string, real?: string): Block {
  const types = new Map<string, RealColumn>();
  const parsed = parseColumnType(real ?? column_type);
  if (real !== undefined && !isProblem(parsed)) types.set("c", { type: parsed });
  const encoder = new RowEncoder([{ name: "f", column_name: "c", column_type }], [{ name: "f", type }], types);
  return encoded(encoder, [new Event(7, 0, Buffer.from(json))]);
}

/** The JSON of the only column, or the error of the rejection. */
function written(type: FieldType, column: string, value: string, real?: string): string {
  const { body, rejected } = encode(type, column, `{"f":${value}}`, real);
  return rejected[0]?.error ?? /^\{"c":(.*)\}\n$/.exec(body.toString())?.[1] ?? `bad line: ${body.toString()}`;
}

type Row = [FieldType, string, string, string];

describe("values that fit", () => {
  test.each<Row>([
    ["float", "Decimal(18, 2)", "19.990000000000002", '"19.99"'],
    ["float", "Decimal(18, 2)", "0.30000000000000004", '"0.3"'],
    ["float", "Decimal(18, 0)", "19.999999999999996", '"20"'],
    ["bool", "UInt8", "true", "1"],
    ["float", "Float64", '"NaN"', '"nan"'],
    ["float", "Nullable(Float32)", '"-Infinity"', '"-inf"'],
    ["array", "Array(Float64)", '[0.5, "Infinity"]', '[0.5,"inf"]'],
    ["bool", "Int64", "false", "0"],
    ["int", "Enum8('a' = 1, 'b' = -2)", "-2", '"b"'],
    ["uint", "Enum8('a' = 1, 'b' = 2)", "1", '"a"'],
    ["int", "Enum8", "1", "1"],
    ["array", "Array(Enum8('a' = 1, 'b' = 2))", '["a", 2]', '["a","b"]'],
    ["string", "Time", '"1:02:03"', '"01:02:03"'],
    ["int", "Time", "45", '"00:00:45"'],
    ["float", "Time", "-3599999", '"-999:59:59"'],
    ["string", "Time64(3)", '"12:30:45.1239"', '"12:30:45.123"'],
    ["float", "Time64(6)", "0.000001", '"00:00:00.000001"'],
    ["float", "BFloat16", "3.14159", "3.14159"],
    ["float", "BFloat16", '"NaN"', '"nan"'],
    ["array", "Point", '["1", 2.5]', "[1,2.5]"],
    ["map", "Map(UInt32, String)", '{"007": "a"}', '{"7":"a"}'],
    ["map", "Map(Enum8('a' = 1, '2' = 3), String)", '{"1": "x", "2": "y"}', '{"a":"x","2":"y"}'],
    ["map", "Map(DateTime, UInt8)", '{"1717158645": 1}', '{"2024-05-31T12:30:45Z":1}'],
    ["map", "Map(Float64, UInt8)", '{"1.50": 1}', '{"1.5":1}'],
    ["string", "Variant(UInt8, String)", '"300"', '"300"'],
    ["float", "Variant(UInt8, Float64)", '"NaN"', '"nan"'],
    ["int", "Variant(Bool, Int64)", "1", '"1"'],
    ["float", "Variant(Bool, Decimal(9, 2))", "1", "1.0"],
    ["int", "Variant(BFloat16, Date32)", "100000", "1e+5"],
    ["bool", "Variant(UInt32, Date)", "true", "1"],
    ["bool", "Variant(UInt32, String)", "true", '"true"'],
    ["map", "Variant(Array(UInt8), String)", '{"a": 1}', '"{\\"a\\":1}"'],
    ["int", "Variant(UInt8, String)", "null", "null"],
    ["array", "Dynamic", '[1, ["a"]]', '[1,["a"]]'],
    ["map", "Tuple(a Dynamic, b UInt8)", '{"a": null, "b": 2}', '{"b":2}'],
    ["map", "JSON(a Dynamic)", '{"a": null}', "{}"],
    ["string", "DateTime('Asia/Istanbul')", '"2019-01-01 00:00:00"', '"2019-01-01T00:00:00"'],
    ["string", "DateTime64(3, 'Europe/Berlin')", '"2019-07-01T12:30:00.5"', '"2019-07-01T12:30:00.500"'],
    ["string", "DateTime('Europe/Berlin')", '"2019-07-01T12:30:00Z"', '"2019-07-01T12:30:00Z"'],
    ["string", "DateTime('Europe/Berlin')", '"2019-07-01T12:30:00+05:00"', '"2019-07-01T07:30:00Z"'],
    ["string", "DateTime", '"2019-01-01 00:00:00"', '"2019-01-01T00:00:00Z"'],
    ["int", "DateTime('Europe/Berlin')", "0", '"1970-01-01T00:00:00Z"'],
    ["bool", "Bool", "true", "true"],
    ["bool", "Bool", '"F"', "false"],
    ["bool", "Bool", "2", "true"],
    ["int", "Int8", "-128", "-128"],
    ["int", "Int8", "127.0", "127"],
    ["int", "Int8", '"12"', "12"],
    ["int", "Int8", "true", "1"],
    ["int", "Int8", "-0", "0"],
    ["int", "Int16", "32767", "32767"],
    ["int", "Int32", "-2147483648", "-2147483648"],
    ["int", "Int64", "9007199254740991", "9007199254740991"],
    ["int", "Int64", "9007199254740993", "9007199254740993"],
    ["int", "Int64", "-9223372036854775808", "-9223372036854775808"],
    ["int", "Int64", '"9223372036854775807"', "9223372036854775807"],
    ["uint", "UInt8", "255", "255"],
    ["uint", "UInt16", "65535", "65535"],
    ["uint", "UInt32", "4294967295", "4294967295"],
    ["uint", "UInt64", "18446744073709551615", "18446744073709551615"],
    ["int", "LowCardinality(UInt64)", "1", "1"],
    ["float", "Float32", "3.4028234663852886e38", "3.4028234663852886e+38"],
    ["float", "Float64", "1e308", "1e+308"],
    ["float", "Float64", '"-1.5e3"', "-1500"],
    ["int", "Float64", "5", "5"],
    ["uint", "Float32", "7", "7"],
    ["string", "String", '"a\\u0000b"', '"a\\u0000b"'],
    ["string", "String", '"\\n\\nDROP TABLE t;"', '"\\n\\nDROP TABLE t;"'],
    ["string", "String", '"😀é"', '"😀é"'],
    ["string", "String", '""', '""'],
    ["string", "String", "12345678901234567890", '"12345678901234567890"'],
    ["string", "String", "1.5e3", '"1500"'],
    ["string", "String", "1e19", '"10000000000000000000"'],
    ["string", "String", "-1.5e21", '"-1500000000000000000000"'],
    ["string", "String", "9007199254740993", '"9007199254740993"'],
    ["float", "String", "9007199254740993", '"9007199254740993"'],
    [
      "map",
      "Map(String, String)",
      '{"n": 1e19, "w": 9007199254740993}',
      '{"n":"10000000000000000000","w":"9007199254740993"}',
    ],
    ["int", "UInt64", "1e19", "10000000000000000000"],
    ["uint", "UInt64", "1e19", "10000000000000000000"],
    ["int", "Int128", "1e19", '"10000000000000000000"'],
    ["int", "Int64", "-1e18", "-1000000000000000000"],
    ["array", "Array(UInt64)", "[1e19]", "[10000000000000000000]"],
    ["array", "Array(Bool)", "[1, 0, true]", "[true,false,true]"],
    ["string", "String", "true", '"true"'],
    ["string", "String", '{"b": [1, null]}', '"{\\"b\\":[1,null]}"'],
    ["int", "String", "17", '"17"'],
    ["bool", "String", "false", '"false"'],
    ["float", "String", "0.25", '"0.25"'],
    ["map", "String", '{"id": 9007199254740993}', '"{\\"id\\":9007199254740993}"'],
    ["array", "String", '[1, "x"]', '"[1,\\"x\\"]"'],
    ["string", "FixedString(3)", '"é€"'.replace("€", "x"), '"éx"'],
    ["string", "UUID", '"61F0C404-5cb3-11e7-907b-a6006ad3dba0"', '"61F0C404-5cb3-11e7-907b-a6006ad3dba0"'],
    ["string", "UUID", '"61f0c4045cb311e7907ba6006ad3dba0"', '"61f0c404-5cb3-11e7-907b-a6006ad3dba0"'],
    ["string", "Enum8('a' = 1)", '"a"', '"a"'],
    ["string", "IPv4", '"1.2.3.4"', '"1.2.3.4"'],
    ["string", "IPv6", '"fe80::1"', '"fe80::1"'],
    ["string", "IPv6", '"1.2.3.4"', '"1.2.3.4"'],
    ["string", "Date", '"2149-06-06"', '"2149-06-06"'],
    ["string", "Date", '"2024-05-31T23:30:00-02:00"', '"2024-06-01"'],
    ["string", "Date32", '"1900-01-01"', '"1900-01-01"'],
    ["string", "DateTime", '"2024-05-31 12:00:00.9"', '"2024-05-31T12:00:00Z"'],
    ["int", "DateTime('Europe/Berlin')", "4294967295", '"2106-02-07T06:28:15Z"'],
    ["uint", "DateTime", "0", '"1970-01-01T00:00:00Z"'],
    ["float", "DateTime64(3)", "1717158645.1239", '"2024-05-31T12:30:45.123Z"'],
    ["float", "DateTime64(3)", "0", '"1970-01-01T00:00:00.000Z"'],
    ["float", "Float64", "1.00000000000000001", "1"],
    ["bool", "String", "1.00000000000000001", '"true"'],
    ["float", "DateTime64(3)", "1717243200.0000000000001", '"2024-06-01T12:00:00.000Z"'],
    ["string", "DateTime", '"1717243200"', '"2024-06-01T12:00:00Z"'],
    ["string", "DateTime", '"1717243200.9"', '"2024-06-01T12:00:00Z"'],
    ["string", "DateTime('Europe/Berlin')", '"1717243200"', '"2024-06-01T12:00:00Z"'],
    ["string", "DateTime64(3)", '"1717243200.1239"', '"2024-06-01T12:00:00.123Z"'],
    ["string", "DateTime64(3)", '"717243200"', '"1992-09-23T10:13:20.000Z"'],
    ["array", "Array(DateTime)", '["1717243200"]', '["2024-06-01T12:00:00Z"]'],
    ["string", "DateTime64(6)", '"1900-01-01"', '"1900-01-01T00:00:00.000000Z"'],
    ["string", "DateTime64(9)", '"2262-04-11T23:47:16.854775807Z"', '"2262-04-11T23:47:16.854775807Z"'],
    ["string", "Decimal(10, 2)", '"-12345678.90"', '"-12345678.9"'],
    [
      "string",
      "Decimal(38, 0)",
      '"12345678901234567890123456789012345678"',
      '"12345678901234567890123456789012345678"',
    ],
    ["float", "Decimal(10, 2)", "0.1", '"0.1"'],
    ["int", "Decimal(20, 0)", "12345678901234567890", '"12345678901234567890"'],
    ["string", "Decimal(10, 3)", '"1.5e-2"', '"0.015"'],
    ["array", "Array(Int32)", "[1, 3]", "[1,3]"],
    ["array", "Array(Nullable(Int32))", "[1, null]", "[1,null]"],
    ["array", "Array(Array(String))", '[["a"], []]', '[["a"],[]]'],
    ["array", "Array(UInt64)", "[18446744073709551615]", "[18446744073709551615]"],
    ["array", "Array(Map(String, String))", '[{"a": 1}, {}]', '[{"a":"1"},{}]'],
    ["array", "Array(DateTime)", '[0, "1970-01-02"]', '["1970-01-01T00:00:00Z","1970-01-02T00:00:00Z"]'],
    ["int", "Int128", "5", "5"],
    ["int", "Int128", "-9007199254740993", '"-9007199254740993"'],
    ["int", "Int128", `-${2n ** 127n}`, `"-${2n ** 127n}"`],
    ["int", "Int256", `"${2n ** 255n - 1n}"`, `"${2n ** 255n - 1n}"`],
    ["uint", "UInt128", `${2n ** 128n - 1n}`, `"${2n ** 128n - 1n}"`],
    ["uint", "UInt256", `"000${2n ** 256n - 1n}"`, `"${2n ** 256n - 1n}"`],
    ["array", "Array(UInt256)", `[${2n ** 256n - 1n}, 0]`, `["${2n ** 256n - 1n}",0]`],
    ["array", "Tuple(Int8, String)", '[1, "a"]', '[1,"a"]'],
    ["array", "Tuple(Nullable(Int8), LowCardinality(Nullable(String)))", "[null, null]", "[null,null]"],
    ["array", "Array(Nullable(Tuple(Int8)))", "[null, [1]]", "[null,[1]]"],
    ["map", "Map(String, Nullable(Int8))", '{"a": null}', '{"a":null}'],
    ["array", "Tuple(Tuple(UInt8), Array(String))", '[[1], ["x"]]', '[[1],["x"]]'],
    ["map", "Tuple(a Int8, b Nullable(String))", '{"a": 1, "c": 300}', '{"a":1,"b":null}'],
    ["map", "Tuple(__proto__ Int8, constructor Int8)", '{"__proto__": 1}', '{"__proto__":1,"constructor":0}'],
    ["map", 'Tuple("x y" Tuple(z UInt8))', '{"x y": {"z": 3}}', '{"x y":{"z":3}}'],
    ["array", "Array(Tuple(a Int8, b String))", '[{"b": "x"}, {}]', '[{"a":0,"b":"x"},{"a":0,"b":""}]'],
    ["map", "Map(String, Tuple(Int8, String))", '{"k": [1, "a"]}', '{"k":[1,"a"]}'],
    ["map", "JSON", '{"a": {"b": [1, "x", null, {"c": true}]}}', '{"a":{"b":[1,"x",null,{"c":true}]}}'],
    ["map", "JSON", "{}", "{}"],
    [
      "map",
      "JSON",
      '{"id": 9007199254740993, "u": [18446744073709551615]}',
      '{"id":9007199254740993,"u":[18446744073709551615]}',
    ],
    ["map", "JSON", '{"a": 1e20, "b": 1e300, "c": 1e17, "d": -0.5}', '{"a":1e+20,"b":1e+300,"c":1e+17,"d":-0.5}'],
    ["map", "JSON", '{"__proto__": {"x": 1}, "": 2}', '{"__proto__":{"x":1},"":2}'],
    ["map", "JSON", '{"a.b": 1, "a": {"b": null, "c": 2}}', '{"a.b":1,"a":{"b":null,"c":2}}'],
    ["map", "JSON", '{"a": [{"b": 9007199254740993}, {"b": 1.5}]}', '{"a":[{"b":9007199254740993},{"b":1.5}]}'],
    ["string", "JSON", '"{\\"id\\": 9007199254740993}"', '{"id":9007199254740993}'],
    [
      "map",
      "JSON(a UInt8, b.c Nullable(UInt256))",
      `{"a": "5", "b": {"c": ${2n ** 200n}}}`,
      `{"a":5,"b":{"c":"${2n ** 200n}"}}`,
    ],
    ["map", "JSON(a UInt8)", '{"b": {"a": 300}}', '{"b":{"a":300}}'],
    ["map", "JSON(a Nullable(UInt8))", '{"a": null, "b": null}', '{"b":null}'],
    ["map", "JSON(a.b UInt8)", '{"a.b": 1, "c": [{"a.b": 300}]}', '{"a.b":1,"c":[{"a.b":300}]}'],
    ["array", "Array(JSON)", '[{"a": 1}, {}]', '[{"a":1},{}]'],
    [
      "map",
      "Map(String, String)",
      '{"s": "x", "n": 1000000, "b": true, "o": {"k": [1]}}',
      '{"s":"x","n":"1000000","b":"true","o":"{\\"k\\":[1]}"}',
    ],
    ["map", "Map(LowCardinality(String), UInt8)", '{"a": 5}', '{"a":5}'],
    ["map", "Map(String, Array(Float64))", '{"a": [1.5]}', '{"a":[1.5]}'],
  ])("%s into %s: %s", (type, column, value, expected) => {
    expect(written(type, column, value)).toBe(expected);
  });
});

describe("values that do not fit", () => {
  test.each<Row>([
    ["bool", "Bool", '"yes"', "expected true or false"],
    ["int", "Int8", "128", "expected a whole number from -128 to 127, got 128"],
    ["int", "Int16", "40000", "from -32768 to 32767"],
    ["int", "Int32", "4.9", "got 4.9"],
    ["int", "Int64", "4503599627370497.5", "expected a number with digits that a 64-bit float holds"],
    ["int", "UInt8", "1.00000000000000001", "or a string, keeps more), got 1.00000000000000001"],
    ["uint", "Enum8('a' = 1)", "1.00000000000000001", "got 1.00000000000000001"],
    ["int", "String", "4503599627370496.25", "got 4503599627370496.25"],
    ["float", "Decimal(18, 2)", "4503599627370497.5", "got 4503599627370497.5"],
    ["int", "Int64", "9007199254740993.0", "got 9007199254740993.0"],
    ["array", "Array(Nullable(Int64))", "[1, 4503599627370497.5]", "got 4503599627370497.5"],
    ["map", "Map(String, String)", '{"a": [1.00000000000000001]}', "got 1.00000000000000001"],
    ["map", "Tuple(a Int8)", '{"a": 1.00000000000000001}', "got 1.00000000000000001"],
    ["int", "Variant(Int64, String)", "4503599627370497.5", "got 4503599627370497.5"],
    ["int", "Int32", '"abc"', 'got "abc"'],
    ["int", "Int64", "9223372036854775808", "got 9223372036854775808"],
    ["int", "Int64", "1e19", "from -9223372036854775808 to 9223372036854775807"],
    ["int", "UInt8", "-1", "from 0 to 255"],
    ["uint", "UInt8", "300", "got 300"],
    ["uint", "UInt64", "18446744073709551616", "got 18446744073709551616"],
    ["int", "Int64", "[1]", "got [1]"],
    ["float", "Float32", "1e39", "3.4028234663852886e+38"],
    ["float", "Float64", "1e999", "expected a finite number"],
    ["float", "Float64", '"nan"', 'got "nan"'],
    ["float", "Decimal(10, 2)", '"NaN"', 'got "NaN"'],
    ["string", "String", '"\\ud800"', "text of whole Unicode characters"],
    ["map", "Map(String, String)", '{"\\udc00": "x"}', "text of whole Unicode characters"],
    ["string", "FixedString(3)", '"é€"', "expected text of up to 3 bytes"],
    ["string", "UUID", '"61f0c404-5cb3-11e7-907b"', "expected a UUID"],
    ["string", "Enum8('a' = 1)", '"b"', "expected a member of Enum8('a' = 1)"],
    ["string", "IPv4", '"1.2.3"', "expected an IPv4 address"],
    ["string", "IPv6", '"fe80::1%eth0"', "expected an IPv6 address"],
    ["string", "Date", '"1960-01-01"', "from 1970-01-01 to 2149-06-06"],
    ["string", "Date", '"2149-06-07"', "from 1970-01-01 to 2149-06-06"],
    ["string", "Date32", '"2300-01-01"', "from 1900-01-01 to 2299-12-31"],
    ["string", "DateTime", '""', 'got ""'],
    ["string", "DateTime", '"4294967296"', 'to 2106-02-07T06:28:15Z, got "4294967296"'],
    ["string", "DateTime", '"20240531"', '06:28:15Z (in a text, seconds have 9 or 10 digits), got "20240531"'],
    ["string", "DateTime", '"0717243200"', 'got "0717243200"'],
    ["string", "Date", '"1717243200"', 'got "1717243200"'],
    ["string", "Date", '"05/06/2024"', "to 2149-06-06 (which number is the month? write the year first), got"],
    ["string", "Date32", '"06.13.2024"', "to 2299-12-31 (which number is the month? write the year first), got"],
    ["string", "DateTime", '"13/06/2024"', "(which number is the month? write the year first), got"],
    ["string", "DateTime64(3)", '"5-6-24 12:00"', "(which number is the month? write the year first), got"],
    ["array", "Array(Date)", '["05/06/2024"]', "(which number is the month? write the year first), got"],
    ["string", "Variant(Date, Int64)", '"05/06/2024"', "expected a value of one of the types"],
    ["string", "DateTime", '"2106-02-07T06:28:16Z"', "to 2106-02-07T06:28:15Z"],
    ["int", "DateTime", "-1", "got -1"],
    ["float", "DateTime64(3)", "-0.5", "got -0.5"],
    ["string", "DateTime64(9)", '"2262-04-11T23:47:16.854775808Z"', "2262-04-11T23:47:16.854775807Z"],
    ["string", "DateTime64(3)", '"1899-12-31"', "from 1900-01-01"],
    ["string", "Decimal(5, 2)", '"1000"', "up to 3 digits before and 2 after the point"],
    ["string", "Decimal(5, 2)", '"1.005"', 'got "1.005"'],
    ["string", "Decimal(5, 2)", '"1,5"', 'got "1,5"'],
    ["float", "Decimal(38, 20)", "0.12345678901234567", "more than 15 digits"],
    ["array", "Array(Int8)", "[1, 2, 300]", "element 2: expected a whole number from -128 to 127, got 300"],
    ["array", "Array(String)", '["a", 1]', "element 1: expected text, got 1"],
    ["array", "Array(Map(String, String))", '[{}, "x"]', 'element 1: expected an object, got "x"'],
    ["array", "Array(String)", '{"a": 1}', 'expected an array, got {"a":1}'],
    ["map", "Map(String, UInt8)", '{"a": 1, "b": 256}', 'key "b": expected a whole number from 0 to 255, got 256'],
    ["map", "Map(String, String)", "[1]", "expected an object, got [1]"],
    ["map", "Map(String, String)", '{"n": 1.2345678901234567e20}', 'key "n": expected a number written out in digits'],
    [
      "map",
      "Map(String, String)",
      '{"n": [1.2345678901234567e20]}',
      "with its numbers written out in digits or as strings",
    ],
    [
      "int",
      "Int64",
      "1.234567890123456789e18",
      "9223372036854775807, written out in digits, got 1.234567890123456789e18",
    ],
    ...["String", "Int64", "Float64", "Decimal(10, 2)", "DateTime"].map((column): Row => [
      "uint",
      column,
      "-1",
      "expected a number from 0 on, as the field is of type uint, got -1",
    ]),
    ["uint", "String", '"-5"', "expected a number from 0 on, as the field is of type uint"],
    [
      "string",
      "Time",
      '"12:30"',
      'expected a time such as 12:30:45, or seconds, from -999:59:59 to 999:59:59, got "12:30"',
    ],
    [
      "int",
      "Int32",
      "1.5",
      "to 2147483647 (round(x), floor(x) or ceil(x) in a stateless transform leaves no fraction), got 1.5",
    ],
    [
      "int",
      "UInt8",
      "-1",
      "expected a whole number from 0 to 255 (the column holds no negative numbers, one of type Int does), got -1",
    ],
    [
      "array",
      "Array(UInt64)",
      "[-9223372036854775809]",
      "element 0: expected a whole number from 0 to 18446744073709551615 (the column holds no negative",
    ],
    ["int", "DateTime", "-1", "to 2106-02-07T06:28:15Z (a negative number would be before 1970), got -1"],
    ["float", "DateTime64(3)", "-0.5", "(a negative number would be before 1970), got -0.5"],
    ["string", "Time", '"12:60:00"', 'got "12:60:00"'],
    ["int", "Time64(3)", "3600000", "to 999:59:59, got 3600000"],
    ["float", "BFloat16", "1e39", "expected a number up to 3.4028234663852886e+38 on either side of 0, got 1e+39"],
    ["array", "Point", "[1]", "expected an array of length 2, got [1]"],
    ["array", "Ring", "[[1, null]]", "element 0: element 1: expected a finite number, got null"],
    ["map", "Map(UInt8, String)", '{"256": "a"}', 'key: expected a whole number from 0 to 255, got "256"'],
    [
      "map",
      "Map(UInt8, String)",
      '{"1": "a", "01": "b"}',
      'key: expected each key once, got "01" beside another spelling of it',
    ],
    ["map", "Map(UUID, String)", '{"x": "a"}', 'key: expected a UUID, got "x"'],
    ["array", "Array(Tuple(a Point))", '[{"a": [1]}]', 'element 0: key "a": expected an array of length 2, got [1]'],
    ["string", "Variant(Date, UInt8)", '"a"', 'expected a value of one of the types of Variant(Date, UInt8), got "a"'],
    [
      "float",
      "Variant(Float32, String)",
      "1e300",
      "expected a value of one of the types of Variant(Float32, String), got 1e+300",
    ],
    ...["", "007", "true"].map((text): Row => [
      "string",
      "Variant(String, UInt8)",
      JSON.stringify(text),
      `expected text that does not look like one of the other types of Variant(String, UInt8), as ClickHouse would make another value of it, got "${text}"`,
    ]),
    [
      "string",
      "Variant(DateTime, String)",
      '"May"',
      "does not look like one of the other types of Variant(DateTime, String)",
    ],
    [
      "array",
      "Dynamic",
      '[{"a": 1}]',
      'expected text, a number, a bool or an array of them (a JSON column takes objects), got [{"a":1}]',
    ],
    [
      "uint",
      "Dynamic",
      "18446744073709551616",
      "expected a whole number from -9223372036854775808 to 18446744073709551615 (wider ones as a string), got 18446744073709551616",
    ],
    ["array", "Array(Dynamic)", "[null]", "element 0: expected text, a number, a bool or an array of them"],
    ["array", "Array(Bool)", "[true, 300]", "element 1: expected true or false, got 300"],
    ["map", "Map(String, Bool)", '{"n": 2}', 'key "n": expected true or false, got 2'],
    ["int", "Int128", `${2n ** 127n}`, `to ${2n ** 127n - 1n}, got ${2n ** 127n}`],
    ["int", "Int256", `"-${2n ** 255n + 1n}"`, `expected a whole number from -${2n ** 255n} to ${2n ** 255n - 1n}`],
    ["int", "UInt128", "-1", `expected a whole number from 0 to ${2n ** 128n - 1n} (the column holds no`],
    ["uint", "UInt256", `"${2n ** 256n}"`, `to ${2n ** 256n - 1n}, got "${2n ** 256n}`.slice(0, 150)],
    ["uint", "UInt256", '"abc"', 'got "abc"'],
    ["int", "Int128", "1.5", "got 1.5"],
    [
      "array",
      "Array(Int32)",
      "[1, null, 3]",
      "element 1: expected a whole number from -2147483648 to 2147483647, got null",
    ],
    ["array", "Array(String)", "[null]", "element 0: expected text, got null"],
    ["array", "Array(Array(Int8))", "[[1], null]", "element 1: expected an array, got null"],
    ["array", "Array(Array(Int8))", "[[1, null]]", "element 0: element 1: expected a whole number"],
    ["array", "Array(Map(String, String))", "[{}, null]", "element 1: expected an object, got null"],
    ["array", "Array(Tuple(a Int8))", "[{}, null]", "element 1: expected an object, got null"],
    ["array", "Array(Tuple(Int8))", "[null]", "element 0: expected an array of length 1, got null"],
    ["array", "Array(JSON)", "[{}, null]", "element 1: expected a JSON object, got null"],
    ["array", "Array(LowCardinality(String))", '["a", null]', "element 1: expected text, got null"],
    ["array", "Tuple(Int8, String)", '[null, "a"]', "element 0: expected a whole number from -128 to 127, got null"],
    ["map", "Map(String, String)", '{"x": null}', 'key "x": expected text, got null'],
    ["int", "DateTime", "1717158645123", "(milliseconds since 1970? divide them by 1000 in a stateless transform)"],
    ["string", "DateTime64(3)", '"1717158645123456"', "(microseconds since 1970? divide them by 1000000"],
    ["string", "DateTime('Asia/Istanbul')", '"1970-01-01 00:00:00"', "from 1970-01-01T00:00:00Z"],
    ["float", "Decimal(18, 2)", "19.995", "round(x * 1e2) / 1e2 in a stateless transform cuts digits"],
    ["string", "Decimal(18, 2)", '"19.990000000000002"', "2 after the point"],
    ["int", "Enum8('a' = 1)", "2", "expected a member of Enum8('a' = 1), got 2"],
    ["float", "String", "1e400", "got a number beyond the range of 64-bit floats"],
    ["array", "String", "[12345678901234567890.5]", "expected text, or a value with its numbers written out in digits"],
    ["array", "String", `${"[".repeat(101)}${"]".repeat(101)}`, "expected a value of at most 100 levels, got [[["],
    ["array", "String", "[1,1e400]", "got [1,a number beyond the range of 64-bit floats]"],
    ["map", "Map(String, Int8)", '{"x": null}', 'key "x": expected a whole number from -128 to 127, got null'],
    ["map", "Map(String, Array(Int8))", '{"x": null}', 'key "x": expected an array, got null'],
    ["map", "Map(String, Array(Int8))", '{"x": [null]}', 'key "x": element 0: expected a whole number'],
    ["map", "Tuple(a Int8)", '{"a": null}', 'key "a": expected a whole number from -128 to 127, got null'],
    ["map", "JSON(a UInt8)", '{"a": null}', 'path "a": expected a whole number from 0 to 255, got null'],
    ["map", "JSON(a Array(UInt8))", '{"a": [null]}', 'path "a": element 0: expected a whole number'],
    ["array", "Tuple(Int8, String)", "[1]", "expected an array of length 2, got [1]"],
    ["array", "Tuple(Int8, String)", '[1, "a", 2]', 'expected an array of length 2, got [1,"a",2]'],
    ["array", "Tuple(Int8, String)", '[300, "a"]', "element 0: expected a whole number from -128 to 127, got 300"],
    ["array", "Tuple(Int8, UUID)", "[1, 2]", "element 1: expected a UUID, got 2"],
    ["array", "Tuple(Enum8('a' = 1))", "null", "expected a value or a Nullable column, got null"],
    ["map", "Tuple(a Int8, b String)", '{"a": 128}', 'key "a": expected a whole number from -128 to 127, got 128'],
    ["map", "Tuple(a Enum8('x' = 1))", "{}", "key \"a\": expected a member of Enum8('x' = 1), got nothing"],
    [
      "map",
      "Tuple(toString UInt8)",
      '{"toString": -1}',
      'key "toString": expected a whole number from 0 to 255 (the column holds no negative numbers, one of type Int does), got -1',
    ],
    [
      "map",
      "Tuple(__proto__ UInt8)",
      '{"__proto__": {}}',
      'key "__proto__": expected a whole number from 0 to 255, got {}',
    ],
    ["map", "Tuple(a Int8)", "[1]", "expected an object, got [1]"],
    [
      "array",
      "Array(Tuple(a Int8))",
      '[{}, {"a": 999}]',
      'element 1: key "a": expected a whole number from -128 to 127',
    ],
    ["map", "JSON", "[1]", "expected a JSON object, got [1]"],
    ["map", "JSON", "5", "expected a JSON object, got 5"],
    ["string", "JSON", '"[1]"', 'expected a JSON object, got "[1]"'],
    ["string", "JSON", '"{"', 'expected a JSON object, got "{"'],
    ["string", "JSON", '""', 'expected a JSON object, got ""'],
    [
      "map",
      "JSON",
      '{"a": 18446744073709551616}',
      'key "a": expected a whole number from -9223372036854775808 to 18446744073709551615',
    ],
    ["map", "JSON", '{"a": {"b": [-9223372036854775809]}}', "got -9223372036854775809"],
    ["map", "JSON", '{"a": 1e999}', 'key "a": expected a finite number'],
    ["map", "JSON", '{"a": "\\ud800"}', 'key "a": expected text of whole Unicode characters'],
    ["map", "JSON", '{"\\ud800": 1}', "expected text of whole Unicode characters"],
    ["map", "JSON", '{"a.b": 1, "a": {"b": 2}}', 'expected one value for each path, got two for "a.b"'],
    ["map", "JSON", '{"z": [{"a.b": {"c": 1}, "a": {"b.c": 1}}]}', 'got two for "a.b.c"'],
    ["map", "JSON", '{"a": [[9007199254740993], [1.5]]}', "whole numbers beyond 2^53, got 9007199254740993 and 1.5"],
    ["map", "JSON", `${'{"a":'.repeat(101)}1${"}".repeat(101)}`, "expected at most 100 levels of nesting"],
    ["map", "JSON", `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`, "expected at most 100 levels of nesting"],
    ["map", "JSON(`a.b` UInt8)", '{"a": {"b": 300}}', 'path "a.b": expected a whole number from 0 to 255, got 300'],
    ["map", "JSON(a UInt8)", '{"a": {"b": 1}}', 'path "a": expected a whole number from 0 to 255, got {"b":1}'],
    ["map", "JSON(a Enum8('x' = 1))", '{"a": null}', "path \"a\": expected a member of Enum8('x' = 1), got null"],
    ["map", "JSON", '{"a": [[null], [[1]]]}', 'key "a": expected an array without null beside arrays, got both'],
    ["map", "String", '{"a": {"b": 1e400}}', "with its numbers written out in digits"],
    ["array", "String", "[1, -1e999]", "with its numbers written out in digits"],
    ["map", "Map(String, String)", '{"a": 1e400}', "a number written out in digits"],
    ["float", "String", "1e400", "a number"],
    ["array", "Array(JSON)", "[{}, 1]", "element 1: expected a JSON object, got 1"],
  ])("%s into %s: %s", (type, column, value, error) => {
    expect(written(type, column, value)).toContain(`field "f" does not fit column "c" of type ${column}: `);
    expect(written(type, column, value)).toContain(error);
  });

  test("a long value is shown short", () => {
    const error = written("string", "UUID", JSON.stringify("x".repeat(5000)));
    expect(error).toBe(`field "f" does not fit column "c" of type UUID: expected a UUID, got "${"x".repeat(79)}…`);
  });
});

describe("null and missing values become", () => {
  test.each([
    ["bool", "Bool", "false"],
    ["int", "Int64", "0"],
    ["float", "Float32", "0"],
    ["string", "String", '""'],
    ["string", "LowCardinality(String)", '""'],
    ["string", "FixedString(2)", '""'],
    ["string", "UUID", '"00000000-0000-0000-0000-000000000000"'],
    ["string", "DateTime", '"1970-01-01T00:00:00Z"'],
    ["string", "DateTime64(3)", '"1970-01-01T00:00:00Z"'],
    ["string", "Date", '"1970-01-01"'],
    ["string", "Enum8('none' = 0, 'a' = 1)", '"none"'],
    ["string", "Decimal(5, 2)", "0"],
    ["string", "IPv4", '"0.0.0.0"'],
    ["string", "IPv6", '"::"'],
    ["map", "Map(String, String)", "{}"],
    ["array", "Array(String)", "[]"],
    ["int", "Int256", "0"],
    ["array", "Tuple(Int8, String)", '[0,""]'],
    ["map", "Tuple(a Int8, b Tuple(c String))", '{"a":0,"b":{"c":""}}'],
    ["array", "Nullable(Tuple(Int8, String))", "null"],
    ["map", "JSON", "{}"],
    ["map", "JSON(a UInt8)", "{}"],
    ["map", "Nullable(JSON)", "null"],
    ["string", "Nullable(String)", "null"],
    ["int", "LowCardinality(Nullable(Int32))", "null"],
    ["string", "Nullable(Enum8('a' = 1))", "null"],
  ] as const)("for a %s in %s: %s", (type, column, expected) => {
    expect(written(type, column, "null")).toBe(expected);
    expect(encode(type, column, "{}").body.toString()).toBe(`{"c":${expected}}\n`);
  });

  test("a rejection for an Enum without a member of value 0", () => {
    expect(written("string", "Enum8('a' = 1)", "null")).toContain("expected a value or a Nullable column, got null");
  });
});

describe("a table that differs from the mapping", () => {
  test.each([
    ["a Nullable column takes NULL", "string", "String", "Nullable(String)", "null", "null"],
    ["a wider column keeps the configured range", "int", "Int8", "Int64", "300", "from -128 to 127"],
    ["a narrower column brings its own range", "int", "Int64", "UInt8", "300", "from 0 to 255"],
    ["an Enum without members learns them", "string", "Enum8", "Enum8('x' = 1)", '"y"', "a member of Enum8('x' = 1)"],
    ["a value that fits both is written for the real column", "int", "Int64", "String", "5", '"5"'],
    [
      "a DateTime column cuts what DateTime64 would take",
      "string",
      "DateTime64(3)",
      "DateTime",
      '"1960-01-01"',
      "from 1970-01-01",
    ],
  ] as const)("%s", (_title, type, configured, real, value, expected) => {
    expect(written(type, configured, value, real)).toContain(expected);
  });

  test("a column that the field cannot feed is a fault of the mapping", () => {
    expect(() => encode("string", "String", "{}", "UInt8")).toThrow(
      'mapping of field "f" to column "c": a field of type string cannot feed a column of type UInt8: expected int, uint or bool',
    );
  });
});

function read(name: string, event: string): string {
  const mapping = [{ name, column_name: "c", column_type: "Nullable(String)" }];
  const encoder = new RowEncoder(mapping, [{ name, type: "string" }]);
  return encoded(encoder, [new Event(1, 0, Buffer.from(event))]).body.toString();
}

describe("names", () => {
  test.each([
    ["the whole name as one key", "a.b", '{"a.b":"x","a":{"b":"y"}}', '"x"'],
    ["a path where there is no such key", "a.b", '{"a":{"b":"y"}}', '"y"'],
    ["a path where the key is null", "a.b", '{"a.b":null,"a":{"b":"y"}}', '"y"'],
    ["a path that ends in a dotted key", "a.b.c", '{"a":{"b.c":"z"}}', '"z"'],
    ["no path into a text", "a.length", '{"a":"xyz"}', "null"],
    ["no path into an array", "a.0", '{"a":["x"]}', "null"],
    ["nothing that an object inherits", "constructor", "{}", "null"],
    ["nothing that a nested object inherits", "a.toString", '{"a":{}}', "null"],
    ["a key called __proto__ like any other", "__proto__", '{"__proto__":"p"}', '"p"'],
    ["characters with a meaning elsewhere", "a*?#|@", '{"a*?#|@":"q"}', '"q"'],
  ])("%s", (_title, name, event, expected) => {
    expect(read(name, event)).toBe(`{"c":${expected}}\n`);
  });

  test("an attribute of a map field is found by its literal key", () => {
    const encoder = new RowEncoder(
      [{ name: "attributes.service.name", column_name: "c", column_type: "String" }],
      [{ name: "attributes", type: "map" }],
    );
    const event = new Event(1, 0, Buffer.from('{"attributes":{"service.name":"shop"}}'));
    expect(encoded(encoder, [event]).body.toString()).toBe('{"c":"shop"}\n');
  });

  test("a field that the schema lacks is a fault of the mapping", () => {
    expect(() => new RowEncoder([{ name: "x", column_name: "c", column_type: "String" }], [])).toThrow(
      'mapping of field "x" to column "c": the schema that feeds the sink has no such field',
    );
  });
});

describe("a block", () => {
  const encoder = new RowEncoder(
    [
      { name: "id", column_name: "z", column_type: "UInt8" },
      { name: "s", column_name: 'a`"b', column_type: "String" },
      { name: "id", column_name: "m", column_type: "String" },
    ],
    [
      { name: "id", type: "uint" },
      { name: "s", type: "string" },
    ],
  );
  const texts = ['{"id":1,"s":"x"}', '{"id":999,"s":"bad"}', '{"s":"line\\nbreak","id":2}'];
  const block = encoded(
    encoder,
    texts.map((text, index) => new Event(index + 10, 0, Buffer.from(text))),
  );

  test("lists columns by name, one field in two of them", () => {
    expect(encoder.columnNames).toEqual(['a`"b', "m", "z"]);
    expect(block.body.toString()).toBe('{"a`\\"b":"x","m":"1","z":1}\n{"a`\\"b":"line\\nbreak","m":"2","z":2}\n');
  });

  test("keeps the events that became rows, in order", () => {
    expect([...block.events].map((event) => event.position)).toEqual([10, 12]);
  });

  test("rejects the event that does not fit, and only that", () => {
    expect(block.rejected).toEqual([
      {
        component: "sink",
        reason: "schema_mismatch",
        error: 'field "id" does not fit column "z" of type UInt8: expected a whole number from 0 to 255, got 999',
        original_message: texts[1],
        position: 11,
      },
    ]);
  });

  test.each([
    ["nesting", "array", `${"[".repeat(200_000)}${"]".repeat(200_000)}`],
    [
      "nesting with a number that was rounded",
      "array",
      `[12345678901234567890,${"[".repeat(9000)}${"]".repeat(9000)}]`,
    ],
    ["escapes", "int", `"${String.raw`\"`.repeat(3_000_000)}"`],
  ] as const)("survives an event built of %s", (_title, type, value) => {
    expect(encode(type, type === "int" ? "Int8" : "String", `{"f":${value}}`).rejected).toMatchObject([
      { position: 7 },
    ]);
  });

  test("of many megabytes comes out whole", () => {
    const big = Array.from(
      { length: 3000 },
      (_, id) => new Event(id, 0, Buffer.from(`{"id":1,"s":"${"é".repeat(1000)}"}`)),
    );
    const lines = encoded(encoder, big).body.toString().trimEnd().split("\n");
    expect(lines).toHaveLength(3000);
    expect(new Set(lines)).toEqual(new Set([`{"a\`\\"b":"${"é".repeat(1000)}","m":"1","z":1}`]));
  });
});

test("the zero that stands for null is not told as a value of the event", () => {
  const encoder = new RowEncoder(
    [{ name: "f", column_name: "c", column_type: "UUID" }],
    [{ name: "f", type: "string", required: false }],
  );
  const { rejected } = encoded(encoder, [new Event(1, 0, Buffer.from("{}")), new Event(2, 0, Buffer.from('{"f":""}'))]);
  expect(rejected.map(({ error }) => error.replace(/^.*: /, ""))).toEqual([
    "expected a value or a Nullable column, got null",
    'expected a UUID, got ""',
  ]);
});

test("a point without a recorded value is never a 0, where the table's column is not Nullable as the file says", () => {
  const mapping = [{ name: "f", column_name: "c", column_type: "Nullable(Float64)" }];
  const fields = [{ name: "f", type: "float" as const, isUnrecorded }];
  const encoder = new RowEncoder(mapping, fields, new Map([["c", { type: { kind: "Float", bits: 64 } }]]));
  const events = ['{"flags":2,"f":null}', '{"flags":3,"f":null}', '{"flags":1,"f":2}'];
  const { body, rejected } = encoded(
    encoder,
    events.map((json, at) => new Event(at, 0, Buffer.from(json))),
  );
  expect(body.toString()).toBe('{"c":0}\n{"c":2}\n');
  expect(rejected.map(({ position, error }) => [position, error])).toEqual([
    [
      1,
      'field "f" does not fit column "c" of type Float64: expected a Nullable column in the table, as in the mapping, for a data point without a recorded value, got null',
    ],
  ]);
});
