import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import { EventScan } from "../../../engine/event/scan.ts";
import { FieldNotes, FieldPick } from "../../../engine/event/fields.ts";

/** An event whose fields of these names are noted. */
function noted(text: string, names: readonly string[]): Event {
  const event = new Event(1, 0, Buffer.from(`...${text}...`), 3, 3 + Buffer.byteLength(text));
  const notes = new FieldNotes(names, 4);
  const scan = new EventScan({ declared: new Map(), noted: names, rows: undefined });
  if (!scan.passes(event, notes, 2)) throw new Error(`expected the walk to tell of ${text}`);
  return event;
}

describe("a noted value is that of a parse", () => {
  test.each([
    ..."0 -0 1 -1 12 1.5 -0.25 0.1 100.00 123456789012345 -123456789012345 1234567890.12345 0.000000000000001".split(
      " ",
    ),
    ..."1234567890123456 9007199254740991 9007199254740992 9007199254740993 -9007199254740993 18446744073709551615".split(
      " ",
    ),
    ..."1e3 1E-3 1.5e+10 -2.5E2 1e99 0.30000000000000004 1.7976931348623157e30 5e-99 0e0".split(" "),
    '""',
    '"a"',
    '"a text"',
    '"é"',
    '"😀"',
    '"\\u00e9"',
    '"\\"\\\\\\/"',
    `"${"x".repeat(500)}"`,
    '"\u007f"',
    "true",
    "false",
    "null",
    "{}",
    "[]",
    '{"a":{"b":[1,"é",9007199254740993]}}',
    "[1e2, {}]",
    '{"__proto__":1}',
    '{"a":1,"a":2}',
    "[9007199254740993]",
  ])("%s", (value) => {
    const [event, plain] = [noted(`{"x":0,"f":${value}}`, ["f"]), new Event(1, 0, Buffer.from(`{"f":${value}}`))];
    const pick = new FieldPick(["f"]);
    for (let turn = 0; turn < 20; turn += 1) {
      const found = pick.of(event)!["f"];
      expect(found).toEqual(plain.value["f"]);
      expect(Object.is(found, -0)).toBe(Object.is(plain.value["f"], -0));
    }
  });
});

describe("a field", () => {
  test("that the event lacks is undefined", () => {
    const record = new FieldPick(["f", "g"]).of(noted('{"g":1}', ["g", "f"]))!;
    expect([record["f"], record["g"]]).toEqual([undefined, 1]);
  });

  test.each(["constructor", "toString", "__proto__"])("called %s is none that objects inherit", (name) => {
    expect(new FieldPick([name]).of(noted('{"a":1}', [name]))![name]).toBe(undefined);
    expect(new FieldPick([name]).of(noted(`{"${name}":1}`, [name]))![name]).toBe(1);
  });

  test("is read of the next event anew", () => {
    const pick = new FieldPick(["f"]);
    const values = ['{"f":"a"}', '{"f":"b"}', '{"g":1}'].map((text) => pick.of(noted(text, ["f"]))!["f"]);
    expect(values).toEqual(["a", "b", undefined]);
  });
});

describe("the whole event is parsed", () => {
  test("where nothing is noted", () => {
    expect(new FieldPick(["f"]).of(new Event(1, 0, Buffer.from('{"f":1,"g":2}')))).toEqual({ f: 1, g: 2 });
  });

  test("where a field is not among the noted ones", () => {
    expect(new FieldPick(["f", "g"]).of(noted('{"f":1,"g":2}', ["f"]))).toEqual({ f: 1, g: 2 });
  });

  test("where any field may be asked for", () => {
    expect(new FieldPick(undefined).of(noted('{"f":1,"g":2}', ["f"]))).toEqual({ f: 1, g: 2 });
  });

  test.each(["[1]", "1", "{", ""])("and %j is no object", (text) => {
    expect(new FieldPick(["f"]).of(new Event(1, 0, Buffer.from(text)))).toBe(undefined);
  });
});

describe("the spelling of a field is", () => {
  test.each([
    ['"abc"', '"abc"'],
    ["12", "12"],
    ['{"a":1}', '{"a":1}'],
    ['"é"', undefined],
    ['"\\n"', undefined],
  ])("of %s: %s", (value, spelled) => {
    const event = noted(`{"f":${value}}`, ["f"]);
    const { start, end } = new FieldPick(["f"]).spelling(event, 0);
    expect(end === 0 ? undefined : event.within!.toString("utf8", start, end)).toBe(spelled);
  });

  test("unknown where the event has no such field, or nothing is noted", () => {
    const pick = new FieldPick(["f"]);
    expect(pick.spelling(noted('{"g":1}', ["f"]), 0).end).toBe(0);
    expect(pick.spelling(new Event(1, 0, Buffer.from('{"f":1}')), 0).end).toBe(0);
  });
});
