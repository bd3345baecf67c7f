import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import type { ColumnType } from "../../../engine/sinks/clickhouse/columns/column-type.ts";
import { converterFor } from "../../../engine/sinks/clickhouse/encode/converter.ts";
import { directWrite } from "../../../engine/sinks/clickhouse/encode/direct-write.ts";
import { canFeed } from "../../../engine/sinks/clickhouse/columns/feeding.ts";
import { RowBody, constantOf } from "../../../engine/sinks/clickhouse/encode/row-body.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { runsOf } from "../../support/cases.ts";
import { anyCharacter } from "../../support/any-character.ts";

const fieldTypes: readonly FieldType[] = ["string", "bool", "int", "uint", "float", "array", "map"];
const columns =
  "Bool; Int8; UInt8; Int32; UInt32; Int64; UInt64; Int256; Float32; Float64; Nullable(Int16); LowCardinality(String); Nullable(String); String; FixedString(5); UUID; Enum8('a' = 1); Date; Date32; DateTime; DateTime64(0); DateTime64(3); Decimal(12, 2); IPv4; JSON; Array(Int32)".split(
    "; ",
  );
const pairs = columns
  .map((text): [string, ColumnType] => [text, typeOf(text)])
  .flatMap(([text, column]) =>
    fieldTypes
      .filter((type) => canFeed(type, column) === true)
      .map((type): [FieldType, string, ColumnType] => [type, text, column]),
  );

function typeOf(text: string): ColumnType {
  const parsed = parseColumnType(text);
  if (isProblem(parsed)) throw new Error(parsed.problem);
  return parsed;
}

const edges = [7, 8, 15, 16, 31, 32, 53].flatMap((bits) => [-2, -1, 0, 1].map((by) => 2 ** bits + by));
const times =
  "1969-12-31T23:59:59 1970-01-01T00:00:00 2024-05-31T12:30:45 2024-05-31T24:00:00 2200-01-01T00:00:00".split(" ");
const values = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, true, false, -0, 0, 0.5, 1e21, NaN, Infinity, 10n, [], {}, "", "a", "é"),
  fc.constantFrom<unknown>('"', "\\", "\n", "\u007f", "\ud800", "a".repeat(64), "a".repeat(65), "1", "true"),
  fc.constantFrom(...edges, ...edges.map((edge) => -edge)),
  fc.constantFrom(...Array.from({ length: 11 }, (_, digits) => 10 ** digits).flatMap((power) => [power, power - 1])),
  fc.constantFrom(..."2024-05-31 1969-12-31 1970-01-01 2149-06-06 2150-01-01 2024-02-30 2024-5-31".split(" ")),
  fc.constantFrom(...times.flatMap((time) => ["", "Z", ".5Z", ".123Z", ".1234Z", "+02:00"].map((end) => time + end))),
  fc.uuid(),
  fc.uuid().map((text) => text.toUpperCase()),
  fc.uuid().map((text) => text.replaceAll("-", "")),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.tuple(fc.integer(), fc.nat({ max: 9 })).map(([digits, behind]) => digits / 10 ** behind),
  fc.tuple(fc.maxSafeInteger(), fc.nat({ max: 9 })).map(([digits, behind]) => digits / 10 ** behind),
  fc.double({ min: -1000, max: 1000, noNaN: true }),
  fc.double(),
  fc.string({ unit: anyCharacter, maxLength: 70 }),
  fc.string({ unit: "binary-ascii", maxLength: 70 }),
);

describe("what is written directly is what the converter writes", () => {
  test.each(pairs)("%s into %s", (type, _text, column) => {
    const [write, converter] = [directWrite(type, column), converterFor(type, column)];
    fc.assert(
      fc.property(values, fc.nat({ max: 2 }), (value, before) => {
        const body = new RowBody(0);
        body.addJson(" ".repeat(before));
        const isWritten = write(value, body);
        expect(body.toBytes().toString()).toBe(" ".repeat(before) + (isWritten ? converter.convert(value) : ""));
      }),
      { numRuns: runsOf(1000), seed: 1 },
    );
  });

  test.each<[FieldType, string, unknown]>([
    ["string", "LowCardinality(String)", "a text"],
    ["bool", "Nullable(Bool)", false],
    ["int", "Int64", -1234567890],
    ["uint", "UInt8", 255],
    ["int", "Int64", 9_007_199_254_740_991],
    ["float", "Float64", 12],
    ["float", "Float64", -1234.567891],
    ["float", "Float32", 0.000001],
    ["string", "UUID", "5f0c0000-5cb3-11e7-907b-a6006ad3dba0"],
    ["string", "Enum8('a' = 1)", "a"],
    ["string", "FixedString(5)", "abc"],
    ["string", "Date", "2024-05-31"],
    ["string", "DateTime", "2024-05-31T12:30:45Z"],
    ["string", "Nullable(DateTime64(3))", "2024-05-31T12:30:45.120Z"],
  ])("and so is a usual %s for %s", (type, text, value) => {
    expect(directWrite(type, typeOf(text))(value, new RowBody(0))).toBe(true);
  });
});

describe("the body of an insert", () => {
  test("holds all that was added, however much it is", () => {
    const body = new RowBody(0);
    const texts = fc.sample(fc.string({ unit: "grapheme", maxLength: 200 }), { numRuns: 2000, seed: 1 });
    let expected = "";
    for (const [index, text] of texts.entries()) {
      body.addJson(text);
      body.addBytes(Buffer.from(`<${text}>`), 1);
      body.addConstant(constantOf("abcdefg".slice(0, index % 8)));
      body.addWhole(-index);
      body.endRow();
      expected += `${text}${text}>${"abcdefg".slice(0, index % 8)}${index === 0 ? 0 : -index}\n`;
    }
    expect(body.toBytes().toString()).toBe(expected);
    expect(body.length).toBe(Buffer.byteLength(expected));
  });

  test("takes back what was added last", () => {
    const body = new RowBody(0);
    body.addJson("1");
    const { length } = body;
    body.addJson("é".repeat(10_000));
    body.cutTo(length);
    body.endRow();
    expect(body.toBytes().toString()).toBe("1\n");
  });
});
