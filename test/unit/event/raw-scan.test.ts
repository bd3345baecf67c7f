import { describe, expect, test } from "vitest";
import { FieldNotes } from "../../../engine/event/fields.ts";
import { textEnd, type RowWalks } from "../../../engine/event/raw-json.ts";
import type { JsonKind } from "../../../engine/event/raw-keys.ts";
import { RawScan } from "../../../engine/event/scan.ts";

const declared = new Map<string, JsonKind>([
  ["id", "number"],
  ["name", "string"],
]);
const more = "a text that is longer than all of the rest of it, by far";

/** What a scan says: `false` where it cannot tell. */
function look(text: string, rows?: RowWalks, scan = new RawScan({ declared, noted: [], rows })): boolean | string {
  const bytes = Buffer.from(text);
  if (!scan.look(bytes, 0, bytes.length)) return false;
  return [scan.hasDeclared ? "declared" : "incomplete", ...(scan.isRow ? ["row"] : [])].join(", ");
}

describe("every declared key, of its kind", () => {
  test.each([
    ["alone", '{"id":1,"name":"a"}', "declared"],
    ["in another order", '{"name":"a","id":1}', "declared"],
    ["with spaces behind commas and colons", '{"id": 1, "name": "a"}', "declared"],
    ["among others", '{"x":[1,{"id":"y"}],"id":-1.5e3,"y":null,"name":"\\u00e9","z":{"name":7}}', "declared"],
    ["among others that come twice", '{"x":1,"id":1,"x":2,"name":""}', "declared"],
    ["but one", '{"id":1}', "incomplete"],
    ["but all", '{"x":{}}', "incomplete"],
    ["beside a key in another case", '{"id":1,"name":"a","ID":"x"}', "declared"],
  ])("%s", (_title, text, outcome) => {
    expect(look(text)).toBe(outcome);
  });
});

describe("a parse has to tell of", () => {
  test.each([
    ["another kind", '{"id":"1","name":"a"}'],
    ["null", '{"id":null,"name":"a"}'],
    ["a declared key twice", '{"id":1,"name":"a","id":2}'],
    ["an escape in a key", '{"id":1,"\\u006eame":"a"}'],
    ["an empty key", '{"":1,"id":1,"name":"a"}'],
    ["an object without keys", "{}"],
    ["other spaces", '{ "id":1,"name":"a" }'],
    ["more lines", '{"id":1,\n"name":"a"}'],
    ["something behind it", '{"id":1,"name":"a"} '],
    ["no end", '{"id":1,"name":"a"'],
    ["no end of a text", '{"id":1,"name":"a'],
    ["no JSON", '{"id":1,"name":a}'],
    ["a number with a zero before it", '{"id":01,"name":"a"}'],
    ["a number beyond floats", '{"id":1e400,"name":"a"}'],
    ["half a surrogate", '{"id":1,"name":"\\ud800"}'],
    ["deep nesting", `{"id":1,"name":"a","x":${"[".repeat(33)}${"]".repeat(33)}}`],
    ["more than a megabyte", `{"id":1,"name":"${"x".repeat(2 ** 20)}"}`],
    ["an array", '["id",1,"name","a"]'],
    ["nothing", ""],
  ])("%s", (_title, text) => {
    expect(look(text)).toBe(false);
  });

  test.each([
    ["a byte that is no UTF-8", [0xff]],
    ["half a character", [0xc3]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a control character", [0x01]],
  ])("%s", (_title, inner) => {
    const bytes = Buffer.concat([Buffer.from('{"id":1,"name":"'), Buffer.from(inner), Buffer.from('"}')]);
    expect(new RawScan({ declared, noted: [], rows: undefined }).look(bytes, 0, bytes.length)).toBe(false);
  });
});

describe("rows", () => {
  const rows: RowWalks = { walks: new Map([["name", textEnd]]), optional: new Set(), nullable: new Set() };

  test.each([
    ["as they are", `{"id":1,"name":"${more}"}`, "declared, row"],
    ["not where most is not mapped", `{"id":1,"name":"a","x":"${more}"}`, "declared"],
    ["not where a key is mapped in another case", `{"id":1,"name":"${more}","NAME":"x"}`, "declared"],
    ["also where a declared key is missing", `{"name":"${more}"}`, "incomplete, row"],
  ])("%s", (_title, text, outcome) => {
    expect(look(text, rows)).toBe(outcome);
  });

  test("not where a value does not fit its column, though it is of its kind", () => {
    expect(look('{"id":1,"name":"abcd"}', { ...rows, walks: new Map([["name", () => 0]]) })).toBe("declared");
  });

  test("with null, or without a key, where the column takes that", () => {
    const [optional, nullable] = [new Set(["name"]), new Set(["name"])];
    const plan = { declared: new Map(), noted: ["id"] };
    const outcomes = (of: RowWalks): (boolean | string)[] =>
      ['{"name":null}', '{"name":nil}', '{"id":1,"name":"x"}', '{"name":"x","name":null}', '{"id":""}'].map((text) =>
        look(text, of, new RawScan({ ...plan, rows: of })),
      );
    expect(outcomes(rows)).toEqual(["declared", false, "declared, row", false, "declared"]);
    expect(outcomes({ ...rows, nullable })).toEqual(["declared, row", false, "declared, row", false, "declared"]);
    expect(outcomes({ ...rows, optional })).toEqual(["declared", false, "declared, row", false, "declared"]);
  });

  test("not with null where the key is declared", () => {
    expect(look('{"id":1,"name":null}', { ...rows, nullable: new Set(["name"]) })).toBe(false);
  });

  test("not where a key is asked for that may be taken for a mapped one", () => {
    const plan = { declared, noted: ["NAME"], rows };
    expect(look(`{"id":1,"name":"${more}","NAME":"x"}`, rows, new RawScan(plan))).toBe("declared");
  });
});

describe("an event among others", () => {
  const event = '{"id":1,"name":"abc"}';

  test.each([
    ["", ""],
    ["", "}"],
    ["{", '"'],
    ["1,", "bcdef"],
    ['{"id":2,"name":"', 'de"}'],
    ["x".repeat(5000), "\n"],
  ])("between %j and %j is read alone, and nothing is changed", (before, behind) => {
    const bytes = Buffer.from(`${before}${event}${behind}`);
    const scan = new RawScan({ declared, noted: [], rows: undefined });
    const [start, end] = [before.length, before.length + event.length];
    for (let turn = 0; turn < 3; turn += 1) expect(scan.look(bytes, start, end)).toBe(true);
    for (let cut = 1; cut < 9; cut += 1) expect(scan.look(bytes, start, end - cut)).toBe(false);
    expect(bytes.toString()).toBe(`${before}${event}${behind}`);
  });
});

describe("notes", () => {
  const noted = ["name", "missing", "id"];

  test("tell where the fields of each event lie, and which texts are spelled letter by letter", () => {
    const bytes = Buffer.from('{"id":1,"name":"abc"}{"name": "\\n","id": 22}{"id":3,"name":"é"}');
    const scan = new RawScan({ declared, noted, rows: undefined });
    const notes = new FieldNotes(noted, 3);
    expect([scan.look(bytes, 0, 21, notes, 0), scan.look(bytes, 21, 44, notes, 1)]).toEqual([true, true]);
    expect(scan.look(bytes, 44, bytes.length, notes, 2)).toBe(true);
    expect([0, 1, 2].map((place) => [...notes.places.subarray(notes.at(place, 0), notes.at(place + 1, 0))])).toEqual([
      [15, 20, 0, 0, 6, 7],
      [-9, 13, 0, 0, 20, 22],
      [-15, 19, 0, 0, 6, 7],
    ]);
  });
});

test("keys that some events lack are found again", () => {
  const scan = new RawScan({ declared: new Map([["c", "number"]]), noted: [], rows: undefined });
  for (const keys of ["abcd", "abcd", "acd", "abcd", "bcd", "abc", "c", "dcba", "abcd"]) {
    const members = keys.split("").map((key, index) => `"${key}":${index}`);
    expect(look(`{${members.join(",")}}`, undefined, scan)).toBe("declared");
  }
});
