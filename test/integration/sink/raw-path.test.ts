import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bare } from "../../../engine/sinks/clickhouse/columns/column-type.ts";
import type { ColumnType } from "../../../engine/sinks/clickhouse/columns/column-type.ts";
import { isProblem, parseColumnType } from "../../../engine/sinks/clickhouse/columns/column-grammar.ts";
import { canFeed } from "../../../engine/sinks/clickhouse/columns/feeding.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { bothWays } from "./both-ways.ts";
import { days, farDays, fractions, largest, lastTimes, laterTimes, spellings, strings, times } from "./spellings.ts";
import { truths, uuids, wholes, wideWholes } from "./spellings.ts";
import { events, grouped, ownHeaders, patient, sinkOn } from "./support.ts";
import type { Field } from "./support.ts";
import { differing, isEveryCase } from "../../support/cases.ts";
import { encoded } from "../../support/encoded.ts";

let server: TestClickHouse;

beforeAll(async () => {
  server = await useClickHouse();
  await server.client.command({ query: "CREATE DATABASE d" });
});

afterAll(() => server.stop());

const fieldTypes: readonly FieldType[] = ["string", "bool", "int", "uint", "float", "array", "map"];

/** `undefined` stands for no key at all. The last key is not mapped, so it tells what is sent as it is from what is not. */
function eventOf(value: string | undefined): string {
  return `{"of":"another column",${value === undefined ? "" : `"c":${value},`}"~":0}`;
}

const within = (low: bigint, high: bigint): string[] =>
  [...wholes, ...wideWholes].filter((value) => BigInt(value) >= low && BigInt(value) <= high);
const ints = (bits: bigint): string[] => within(-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n);
const uints = (bits: bigint): string[] => within(0n, 2n ** bits - 1n);
/** Those of the values that a field of the type may have: one of type uint is not negative. */
const ofType = (type: "int" | "uint", values: readonly string[]): string[] =>
  values.filter((value) => type === "int" || !value.startsWith("-"));
const seconds = within(0n, 2n ** 32n - 1n);
const bytes = (most: number): string[] => strings.filter((text) => Buffer.byteLength(text) - 2 <= most);
const float32s = [...wholes, ...fractions, "9007199254740991"];
const float64s = [...float32s, largest];
const allTimes = [...times, ...laterTimes, ...lastTimes];

/** A type of field with a type of column that it may feed, and the values that are sent as they are. */
type Cell = [FieldType, string, readonly string[], string?];

const cells: Cell[] = [
  ["bool", "Bool", truths],
  ...(["int", "uint"] as const).flatMap((type): Cell[] => [
    ...[8n, 16n, 32n, 64n].flatMap((bits): Cell[] => [
      [type, `Int${bits}`, ofType(type, ints(bits))],
      [type, `UInt${bits}`, uints(bits)],
    ]),
    [type, "LowCardinality(Int64)", ofType(type, ints(64n))],
    [type, "Nullable(Int32)", ofType(type, ints(32n))],
    [type, "LowCardinality(Nullable(UInt8))", uints(8n)],
    [type, "Int128", ofType(type, wholes)],
    [type, "UInt256", ofType("uint", wholes)],
    [type, "Float32", ofType(type, wholes)],
    [type, "Float64", ofType(type, wholes)],
    [type, "DateTime", seconds],
    [type, "DateTime('Asia/Tokyo')", seconds],
    [type, "LowCardinality(DateTime)", seconds],
    [type, "DateTime64(3)", []],
    [type, "Decimal(12, 2)", []],
    [type, "String", []],
  ]),
  ["float", "Float32", float32s],
  ["float", "Float64", float64s],
  ["float", "LowCardinality(Float64)", float64s],
  ["float", "Nullable(Float64)", float64s],
  ["float", "DateTime", seconds],
  ["float", "DateTime64(9)", []],
  ["float", "Decimal(12, 2)", []],
  ["float", "String", []],
  ["string", "String", strings],
  ["string", "LowCardinality(String)", strings],
  ["string", "LowCardinality(Nullable(String))", strings],
  ["string", "FixedString(5)", bytes(5)],
  ["string", "LowCardinality(FixedString(3))", bytes(3)],
  ["string", "UUID", uuids],
  ["string", "Nullable(UUID)", uuids],
  ["string", "Enum8('a' = 1, 'é😀' = -2, '' = 0)", ['""', '"a"', '"é😀"']],
  ["string", "Enum16('b c' = 1000)", ['"b c"']],
  ["string", "DateTime", times],
  ["string", "DateTime('America/New_York')", times],
  ["string", "LowCardinality(DateTime)", times],
  ...[0, 3, 6].map((digits): Cell => ["string", `DateTime64(${digits})`, allTimes]),
  ["string", "DateTime64(9, 'Asia/Tokyo')", [...times, ...laterTimes]],
  ["string", "Nullable(DateTime64(3))", allTimes],
  ["string", "Date", days],
  ["string", "Date32", [...days, ...farDays]],
  ["string", "Decimal(12, 2)", []],
  ["string", "IPv4", []],
  ["string", "IPv6", []],
  ["string", "JSON", []],
  ["bool", "String", []],
  ["bool", "Int64", []],
  ["bool", "UInt8", []],
  ["int", "Enum8('a' = 1, 'é😀' = -2, '' = 0)", []],
  ["array", "String", []],
  ["map", "String", []],
  ["map", "Map(String, String)", ["{}", '{"a":"1"}']],
  ["map", "Map(LowCardinality(String), Nullable(Int64))", []],
  ["map", "JSON", []],
  ["map", "Tuple(a Int8, b String)", []],
  ["array", "Tuple(Int8, String)", []],
  ["array", "Array(Map(String, String))", []],
  ["array", "Array(Int32)", []],
  ["array", "Array(Nullable(String))", []],
  ["array", "Array(DateTime)", []],
];

/** Where the table has another type than the mapping says. */
const otherTypes: Cell[] = [
  ["int", "Int8", ints(8n), "Int64"],
  ["int", "Int64", uints(8n), "UInt8"],
  ["int", "UInt8", within(0n, 127n), "Int8"],
  ["int", "Int64", [], "String"],
  ["int", "Int64", seconds, "DateTime"],
  ["uint", "Int32", ofType("uint", ints(32n)), "SimpleAggregateFunction(max, Int32)"],
  ["float", "Float64", float32s, "Float32"],
  ["string", "String", strings, "LowCardinality(Nullable(String))"],
  ["string", "String", bytes(4), "FixedString(4)"],
  ["string", "FixedString(4)", bytes(4), "String"],
  ["string", "Enum8", ['"a"'], "Enum8('a' = 1)"],
  ["string", "DateTime64(3)", times, "DateTime"],
  ["string", "DateTime", times, "DateTime64(6)"],
  ["string", "DateTime64(3)", allTimes, "String"],
];

/** Columns of these types may lack their key in a row, and those that hold NULL may have null. */
const nullable = /^(LowCardinality\()?Nullable/;
const zeroed = /^(LowCardinality\(|SimpleAggregateFunction\(max, )?(Nullable|Bool|U?Int|Float|String|Map)/;

/** Fields of type uint are written as those of type int are. */
const kindOf = ([type, column]: readonly [FieldType, string, ...unknown[]]): string =>
  `${type === "uint" ? "int" : type} into ${bare(typeOf(column)).kind}`;
/** One cell of each kind of field and column, or every case. */
const chosen = isEveryCase ? cells : differing(cells, (cell) => [kindOf(cell)]);
/** One for each type of field whose events are sent as they are. */
const first = differing(
  chosen.filter(([, , asTheyAre]) => asTheyAre.length > 0),
  ([type]) => [type],
);

async function bothWaysAlike(...[type, column, asTheyAre, real = column]: Cell): Promise<void> {
  const values = [...spellings, undefined];
  const sent: (string | undefined)[] = [];
  // After a hundred events that had to be encoded, hardly any would be looked at.
  for (let start = 0; start < values.length; start += 80) {
    const part = values.slice(start, start + 80);
    const fields: Field[] = [
      ["of", "string", "String"],
      ["c", type, column],
    ];
    const found = await bothWays(server, fields, part.map(eventOf), ["String", real]);
    expect(found.received).toEqual(found.encoded);
    expect(found.received.answer).toEqual({ kind: "ok" });
    expect(found.received.rows.length + found.received.rejected.length).toBe(part.length);
    sent.push(...found.sentAsTheyAre.map((position) => part[position]));
  }
  const also =
    asTheyAre.length === 0 ? [] : [...(zeroed.test(real) ? [undefined] : []), ...(nullable.test(real) ? ["null"] : [])];
  expect(new Set(sent)).toEqual(new Set([...asTheyAre, ...also]));
}

describe("one value in every spelling: the same row, or the same rejection, both ways", () => {
  const [otherType, ...otherTypesStill] = isEveryCase
    ? otherTypes
    : differing(otherTypes, ([type, , , real]) => [`${type} into ${/[A-Za-z]+/.exec(real!)![0]}`]);
  const left = chosen.filter((cell) => !first.includes(cell));
  const alwaysEncoded = left.filter(([, , asTheyAre]) => asTheyAre.length === 0);
  const others = [
    ...left.filter((cell) => !alwaysEncoded.includes(cell)),
    ...(isEveryCase ? alwaysEncoded : differing(alwaysEncoded, ([type]) => [type])),
    ...otherTypesStill,
  ];
  test.each([...first, otherType!])("%s into %s", bothWaysAlike);
  test.each(others)("%s into %s", { tags: ["rest"] }, bothWaysAlike);

  const kinds =
    "Bool; Int8; UInt8; Float64; Decimal(12, 2); String; FixedString(5); UUID; Enum8('a' = 1); Date; Date32; DateTime; DateTime64(3); IPv4; IPv6; JSON; Array(Int32); Map(String, String); Tuple(Int8, String); Tuple(a Int8, b String)".split(
      "; ",
    );
  const pairs = kinds.flatMap((column) => fieldTypes.map((type): [FieldType, string] => [type, column]));
  const tried = new Set(chosen.map(kindOf));

  test("each pair that may be is among them, and no other gets as far", () => {
    for (const [type, column] of pairs) {
      if (canFeed(type, typeOf(column)) === true) expect([...tried]).toContain(kindOf([type, column]));
      else {
        const open = (): unknown => sinkOn(server, { fields: [["c", type, column]], table: "t" });
        expect(open, `${type} into ${column}`).toThrow("cannot feed a column");
      }
    }
  });
});

function typeOf(column: string): ColumnType {
  const parsed = parseColumnType(column);
  if (isProblem(parsed)) throw new Error(`${column} ${parsed.problem}`);
  return parsed;
}

describe("the same row both ways, whatever the keys", () => {
  const id: Field = ["id", "int", "Int64"];
  const text: Field = ["text", "string", "Nullable(String)"];
  const long = "a text that is longer than all of the rest together";
  const list = '[1, {"id": 5, "text": "]}"}, "\\u00e9", -0.5e-3, null, true]';

  const cases: [title: string, fields: Field[], event: string, isSent: boolean][] = [
    ["the mapped keys in another order", [id, text], '{"text":"x","id":1}', true],
    ["spaces behind commas and colons", [id, text], '{"id": 1, "text": "x"}', true],
    ["spaces elsewhere", [id, text], ' { "id" : 1 , "text" : "x" } ', false],
    ["more than one line", [id, text], '{\n\t"id": 1,\r\n\t"text": "x"\n}\n', false],
    ["a mapped key twice", [id, text], '{"id":1,"text":"x","id":2}', false],
    ["a mapped key twice, first as something else", [id, text], '{"id":"x","text":"x","id":2}', false],
    ["a key in another case behind", [id, text], `{"id":1,"text":"${long}","ID":2}`, false],
    ["a key in another case before", [id, text], `{"ID":2,"id":1,"text":"${long}"}`, false],
    ["a key in another case alone", [id, text], '{"ID":2,"text":"x"}', false],
    ["two names that differ in their case", [id, ["ID", "int", "Int64"]], '{"ID":2,"id":1}', true],
    ["two such names, and a third such key", [id, ["ID", "int", "Int64"]], '{"Id":3,"ID":2,"id":1}', false],
    [
      "letters that fold otherwise",
      [["straße", "int", "Int64"], text],
      `{"straße":1,"text":"${long}","STRASSE":2}`,
      true,
    ],
    ["an escape in a mapped key", [id, text], '{"\\u0069d":1,"text":"x"}', false],
    ["an escape in a second one", [id, text], `{"id":1,"text":"${long}","\\u0069d":2}`, false],
    [
      "other keys of every kind before",
      [id, text],
      `{"x":${list},"y":{"id":2},"z":1.50,"id":1,"text":"${long.repeat(3)}"}`,
      true,
    ],
    [
      "other keys of every kind behind",
      [id, text],
      `{"id":1,"text":"${long.repeat(3)}","x":${list},"-":{"id":2},"z":-0}`,
      true,
    ],
    ["an empty key", [id, text], `{"":1,"id":1,"text":"${long}"}`, false],
    ["a key with a dot that begins like a name", [id, text], `{"id.x":7,"id":1,"text":"${long}"}`, true],
    ["an object under a name in another case", [id, text], `{"Id":{"x":7},"id":1,"text":"${long}"}`, false],
    ["half a surrogate under another key", [id, text], `{"x":"\\ud800","id":1,"text":"${long}"}`, false],
    ["a number beyond all doubles under another key", [id, text], `{"x":1e999,"id":1,"text":"${long}"}`, false],
    [
      "deep nesting under another key",
      [id, text],
      `{"x":${"[".repeat(90)}${"]".repeat(90)},"id":1,"text":"${long.repeat(9)}"}`,
      false,
    ],
    ["more under other keys than under mapped ones", [id, text], `{"x":"${long}","id":1,"text":"x"}`, false],
    ["a dotted name as one key", [["a.b", "string", "String"]], '{"a.b":"x","a":{"b":"y"}}', false],
    ["a dotted name as one key that is null", [["a.b", "string", "String"]], '{"a.b":null,"a":{"b":"y"}}', false],
    ["a dotted name as a path", [["a.b", "string", "String"]], '{"a":{"b":"y"}}', false],
    ["a dotted name that is nowhere", [["a.b", "string", "String"]], "{}", false],
    ["the name __proto__", [["__proto__", "int", "Int64"]], '{"__proto__":1}', true],
    ["a name of other letters", [["ключ 😀", "int", "Int64"]], '{"ключ 😀":1}', true],
    ["a name of signs", [["a*?#|@' ;", "int", "Int64"]], `{"a*?#|@' ;":1}`, true],
    ["a name with a quote", [['a"b', "int", "Int64"]], '{"a\\"b":1}', false],
  ];
  const alike = grouped(cases, ([, fields]) => fields.map(([name]) => name).join(", "));

  test.each(alike)("of the fields %s", async (_names, group) => {
    const fields = group[0]![1];
    const texts = group.map(([, , event]) => event);
    const found = await bothWays(server, fields, texts);
    expect(found.received).toEqual(found.encoded);
    expect(found.received.answer).toEqual({ kind: "ok" });
    expect(found.received.rows.length + found.received.rejected.length).toBe(texts.length);
    // An event that its encoding happens to equal was sent as it is either way.
    const encoding = `{${fields.map(([name]) => `${JSON.stringify(name)}:1`).join(",")}}`;
    const sent = group.filter(([, , event, isSent]) => isSent || event === encoding);
    const title = (position: number): string => group[position]![0];
    expect(found.sentAsTheyAre.map(title)).toEqual(sent.map(([of]) => of));
  });
});

test("ClickHouse is asked to read over keys that are not mapped", async () => {
  const asked: string[] = [];
  const listener = createServer((request, response) => {
    asked.push(request.url ?? "");
    request.resume().on("end", () => response.writeHead(200, ownHeaders(request.url)).end());
  });
  await new Promise<void>((resolve) => void listener.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const sink = sinkOn({ url, username: "u", password: "p" }, { fields: [["id", "int", "Int64"]], table: "t" });
  expect(await sink.insert(encoded(sink, events({ id: 1 })), "t", patient)).toEqual({ kind: "ok" });
  await sink.close();
  listener.close();
  expect(asked.at(-1)).toContain("input_format_skip_unknown_fields=1");
});
