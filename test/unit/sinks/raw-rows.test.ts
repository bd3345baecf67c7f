import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import { parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import type { ColumnType } from "../../../engine/sinks/clickhouse/columns/column-type.ts";
import { textEnd } from "../../../engine/event/raw-json.ts";
import { RawScan } from "../../../engine/event/scan.ts";
import { wholeWithin } from "../../../engine/sinks/clickhouse/encode/raw-numbers.ts";
import { RowEncoder } from "../../../engine/sinks/clickhouse/encode/row-encoder.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { encoded } from "../../support/encoded.ts";

function rowsOf(...names: string[]): RawScan {
  const walks = new Map(names.map((name) => [name, name.startsWith("n") ? wholeWithin("9", "99") : textEnd]));
  const rows = { walks, optional: new Set<string>(), nullable: new Set<string>() };
  return new RawScan({ declared: new Map(), noted: [], rows });
}

function isRow(rows: RawScan, event: string): boolean {
  const bytes = Buffer.from(event);
  return rows.look(bytes, 0, bytes.length);
}

const long = "a text that is longer than all of the rest";

describe("an event is a row as it is, with", () => {
  test.each([
    ["the mapped keys alone", '{"n":1,"text":"a"}'],
    ["them in another order", '{"text":"a","n":1}'],
    ["a space behind commas and colons", '{"n": 1, "text": "a"}'],
    ["other keys before, between and behind", `{"x":1,"n":1,"y":null,"text":"${long}","z":false}`],
    ["another key twice", `{"x":1,"n":1,"text":"${long}","x":2}`],
    ["arrays and objects behind other keys", `{"n":1,"text":"${long}","x":[1,{"a":[]},"]}"],"y":{}}`],
    ["the same, with spaces", `{"n": 1, "text": "${long}", "x": {"a": [1, 2]}}`],
    ["numbers of every form behind other keys", `{"n":1,"text":"${long}","x":[-0,1.50,1e-9,2E+5]}`],
    ["a key in other letters", `{"n":1,"text":"${long}","ключ":1}`],
    ["a mapped name within another key", `{"n":1,"text":"${long}","nn":1}`],
    ["a mapped name within a value", `{"n":1,"text":"${long}","x":{"n":2,"text":3}}`],
  ])("%s", (_title, event) => {
    const rows = rowsOf("n", "text");
    expect([isRow(rows, event), isRow(rows, event)]).toEqual([true, true]);
  });
});

describe("an event is no row as it is, with", () => {
  const deep = `${"[".repeat(33)}${"]".repeat(33)}`;
  test.each([
    ["a mapped key missing", '{"n":1}'],
    ["no key", "{}"],
    ["a mapped key twice", '{"n":1,"text":"a","n":1}'],
    ["a mapped key twice and another not at all", '{"n":1,"n":2}'],
    ["a mapped key twice at once", '{"n":1,"n":1,"text":"a"}'],
    ["a mapped key in another case beside", `{"n":1,"N":2,"text":"${long}"}`],
    ["a mapped key in another case alone", '{"N":1,"text":"a"}'],
    ["an escape in a mapped key", '{"\\u006e":1,"text":"a"}'],
    ["an escape in another key", `{"n":1,"text":"${long}","a\\n":1}`],
    ["null behind a mapped key", '{"n":null,"text":"a"}'],
    ["a value that does not fit", '{"n":100,"text":"a"}'],
    ["most of its bytes behind other keys", `{"n":1,"text":"a","x":"${long}"}`],
    ["a line break between tokens", '{"n":1,\n"text":"a"}'],
    ["a line break behind it", '{"n":1,"text":"a"}\n'],
    ["a tab between tokens", '{"n":1,\t"text":"a"}'],
    ["two spaces between tokens", '{"n":  1,"text":"a"}'],
    ["a space before a colon", '{"n" :1,"text":"a"}'],
    ["a space before a comma", '{"n":1 ,"text":"a"}'],
    ["a space within the braces", '{ "n":1,"text":"a" }'],
    ["a space before or behind it", ' {"n":1,"text":"a"} '],
    ["a byte order mark", '\ufeff{"n":1,"text":"a"}'],
    ["another event behind it", '{"n":1,"text":"a"}{"n":1,"text":"a"}'],
    ["its end missing", '{"n":1,"text":"a"'],
    ["a comma too many", '{"n":1,"text":"a",}'],
    ["a comma too few", '{"n":1"text":"a"}'],
    ["a colon too few", '{"n"1,"text":"a"}'],
    ["a key without quotes", '{n:1,"text":"a"}'],
    ["a closed array instead", '["n",1]'],
    ["nothing at all", ""],
    ["nesting that is deep", `{"n":1,"text":"${long.repeat(4)}","x":${deep}}`],
    ["nesting that does not close", `{"n":1,"text":"${long}","x":[1,{"a":2]}`],
    ["nesting that closes otherwise", `{"n":1,"text":"${long}","x":[1}}`],
    ["an array with a comma too many", `{"n":1,"text":"${long}","x":[1,]}`],
    ["an object without a colon", `{"n":1,"text":"${long}","x":{"a"}}`],
    ["a lone surrogate behind another key", `{"n":1,"text":"${long}","x":"\\ud800"}`],
    ["a number that is none behind another key", `{"n":1,"text":"${long}","x":01}`],
    ["a number with nothing behind the point", `{"n":1,"text":"${long}","x":1.}`],
    ["a number with nothing behind the e", `{"n":1,"text":"${long}","x":1e}`],
    ["a number beyond all doubles behind another key", `{"n":1,"text":"${long}","x":1e999}`],
    ["a word that is none", `{"n":1,"text":"${long}","x":nil}`],
    ["more than a megabyte", `{"n":1,"text":"${"x".repeat(2 ** 20)}"}`],
  ])("%s", (_title, event) => {
    const rows = rowsOf("n", "text");
    expect(isRow(rows, '{"n":1,"text":"a"}')).toBe(true);
    expect(isRow(rows, event)).toBe(false);
    expect(isRow(rows, '{"n":1,"text":"a"}')).toBe(true);
  });
});

test("keys that no event has twice are forgotten, and mapped ones stay known", () => {
  const rows = rowsOf("n", "text");
  for (let index = 0; index < 5000; index += 1) {
    expect(isRow(rows, `{"n":1,"key ${index}":0,"text":"${long}"}`)).toBe(true);
  }
});

test("an order of keys is found again after each other one", () => {
  const rows = rowsOf("a", "b", "c");
  const orders = ["abc", "acb", "bac", "bca", "cab", "cba"];
  for (const keys of [...orders, ...orders.toReversed()]) {
    expect(
      isRow(
        rows,
        `{${keys
          .split("")
          .map((key) => `"${key}":"${key}"`)
          .join(",")}}`,
      ),
    ).toBe(true);
  }
});

interface Field {
  name: string;
  type: FieldType;
  column_type: string;
  column_name?: string;
  real?: string;
}

/** Columns with a real type have no DEFAULT. */
function encoderOf(...fields: Field[]): RowEncoder {
  const real = fields.map(({ name, column_name = name, real: type }): [string, ColumnType | undefined] => [
    column_name,
    type === undefined ? undefined : (parseColumnType(type) as ColumnType),
  ]);
  const known = real.filter((entry): entry is [string, ColumnType] => entry[1] !== undefined);
  return new RowEncoder(
    fields.map(({ name, column_type, column_name = name }) => ({ name, column_name, column_type })),
    fields,
    new Map(known.map(([column, of]) => [column, { type: of, hasDefault: false }])),
  );
}

function bodyOf(encoder: RowEncoder, ...events: Event[]): string {
  const { body, rejected } = encoded(encoder, events);
  return `${body.toString()}${rejected.map(({ position }) => `rejected ${position}\n`).join("")}`;
}

const event = (text: string, position = 1): Event => new Event(position, 0, Buffer.from(text));

describe("the encoder sends an event as it is", () => {
  const id: Field = { name: "id", type: "int", column_type: "Int64" };
  const text: Field = { name: "text", type: "string", column_type: "String" };
  const odd = '{"text":"\\u00e9","id":1,"x":0}';

  test.each<[string, Field[], boolean]>([
    ["where it can", [id, text], true],
    ["not where a field is called otherwise than its column", [id, { ...text, column_name: "t" }], false],
    [
      "not where two are called after each other",
      [
        { ...id, column_name: "text" },
        { ...text, column_name: "id" },
      ],
      false,
    ],
    ["not where a field is in two columns", [id, text, { ...text, column_name: "t" }], false],
    ["not where one column cannot take bytes", [id, { ...text, column_type: "Decimal(9, 2)" }], false],
    ["where the table has the type in a wrapper", [id, { ...text, real: "LowCardinality(Nullable(String))" }], true],
    ["where the table has a wider type", [{ ...id, column_type: "Int8", real: "Int64" }, text], true],
    ["not where the table has a type that needs another spelling", [{ ...id, real: "String" }, text], false],
  ])("%s", (_title, fields, expected) => {
    expect(bodyOf(encoderOf(...fields), event(odd)).startsWith(`${odd}\n`)).toBe(expected);
  });

  test("without a key whose column has no DEFAULT, and is filled as if it were encoded", () => {
    const lacking = '{"id":123456789,"x":0}';
    expect(bodyOf(encoderOf(id, text), event(lacking))).toBe('{"id":123456789,"text":""}\n');
    for (const type of ["String", "LowCardinality(String)", "Nullable(UUID)", "Map(String, String)"]) {
      const known: Field = { ...text, column_type: type, real: type, ...(type.startsWith("Map") && { type: "map" }) };
      expect(bodyOf(encoderOf(id, known), event(lacking))).toBe(`${lacking}\n`);
    }
    for (const type of ["Enum8('a' = 0, 'b' = 1)", "DateTime"]) {
      const known: Field = { ...text, column_type: type, real: type };
      expect(bodyOf(encoderOf(id, known), event(lacking)).startsWith(lacking)).toBe(false);
    }
  });

  test("with null where the table's column takes it", () => {
    const without = '{"id":1,"text":null,"x":0}';
    const taking = encoderOf(id, { ...text, column_type: "String", real: "LowCardinality(Nullable(String))" });
    expect(bodyOf(taking, event(without))).toBe(`${without}\n`);
    const refusing = encoderOf(id, { ...text, column_type: "Nullable(String)", real: "String" });
    expect(bodyOf(refusing, event(without))).toBe('{"id":1,"text":""}\n');
  });

  test("not where the value fits only one of the types", () => {
    const narrow = encoderOf({ ...id, column_type: "Int8", real: "Int64" }, text);
    expect(bodyOf(narrow, event('{"id":128,"text":""}'))).toBe("rejected 1\n");
    const wide = encoderOf({ ...id, column_type: "Int64", real: "Int8" }, text);
    expect(bodyOf(wide, event('{"id":128,"text":""}'))).toBe("rejected 1\n");
  });

  test("not where a name has a dot, which is a path too", () => {
    const dotted = encoderOf({ ...text, name: "a.b" });
    expect(bodyOf(dotted, event('{"a.b":"\\u00e9"}'))).toBe('{"a.b":"é"}\n');
  });

  test("not where a transform made it", () => {
    const made = event(odd).with({ id: 2, text: "é" });
    expect(bodyOf(encoderOf(id, text), made)).toBe('{"id":2,"text":"é"}\n');
    expect([made.bytes.length, bodyOf(encoderOf(id, text), made)]).toEqual([20, '{"id":2,"text":"é"}\n']);
  });

  test("between events that are encoded, in their order", () => {
    const events = [odd, '{"id":2}', odd, odd, '{"id":"3","text":4}', '{"id":[]}', '{"id":5,"text":"é"}'].map(event);
    expect(bodyOf(encoderOf(id, text), ...events)).toBe(
      `${odd}\n{"id":2,"text":""}\n${odd}\n${odd}\n{"id":3,"text":"4"}\n{"id":5,"text":"é"}\nrejected 5\n`,
    );
  });

  test("less often after a hundred others, and again after one", () => {
    const encoder = encoderOf(id, text);
    const others = Array.from({ length: 101 }, () => event('{"id":1}'));
    encoded(encoder, others);
    const lines = bodyOf(encoder, ...Array.from({ length: 103 }, () => event(odd))).split("\n");
    expect(lines.findIndex((line) => line === odd)).toBe(99);
    expect(lines.slice(99, 103)).toEqual([odd, odd, odd, odd]);
  });

  test("of many megabytes, whole", () => {
    const encoder = encoderOf(id, text);
    const texts = Array.from({ length: 3000 }, (_, index) =>
      index % 3 === 0 ? `{"id":"${index}","text":"${"é".repeat(500)}"}` : `{"text":"${"é".repeat(500)}","id":${index}}`,
    );
    const lines = bodyOf(encoder, ...texts.map(event))
      .trimEnd()
      .split("\n");
    expect(lines).toEqual(
      texts.map((line, index) => (index % 3 === 0 ? `{"id":${index},"text":"${"é".repeat(500)}"}` : line)),
    );
  });
});
