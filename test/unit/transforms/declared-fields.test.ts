import { isUtf8 } from "node:buffer";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { Event } from "../../../engine/event/event.ts";
import { textEnd, type RowWalks } from "../../../engine/event/raw-json.ts";
import { letterEvent } from "../../../engine/catalog/reprocess.ts";
import { DeclaredFields } from "../../../engine/transforms/declared-fields/declared-fields.ts";

function eventOf(text: string): Event {
  return new Event(7, 0, Buffer.from(text));
}

/** What becomes of an event, whether a walk over its bytes can tell, or its spaces leave that to a parse. */
function check(name: string, type: FieldType, text: string, isRequired = true): string {
  const field = { name, type, ...(!isRequired && { required: false as const }) };
  const outcomes = [text, text.replaceAll(/([:,]) /g, "$1"), ` ${text}`].map((spelled) => {
    const { passed, rejected } = new DeclaredFields([field]).apply([eventOf(spelled)]);
    return passed.length === 1 ? "passes" : rejected[0]!.error.replace("failed to validate data: ", "");
  });
  expect(new Set(outcomes).size).toBe(1);
  return outcomes[0]!;
}

describe("a declared field must be there, and of its kind", () => {
  test.each<[FieldType, string, string]>([
    ["string", '{"f": "a"}', "passes"],
    ["string", '{"f": ""}', "passes"],
    ["string", '{"f": 1}', "field f: expected string, found number"],
    ["string", '{"f": null}', "field f is missing: expected string, found null"],
    ["string", "{}", "field f is missing: expected string, found nothing"],
    ["string", '{"g": "a"}', "field f is missing: expected string, found nothing"],
    ["bool", '{"f": false}', "passes"],
    ["bool", '{"f": "true"}', "field f: expected bool, found string"],
    ["int", '{"f": 1}', "passes"],
    ["int", '{"f": 1.5}', "passes"],
    ["int", '{"f": 12345678901234567890}', "passes"],
    ["int", '{"f": "1"}', "field f: expected number, found string"],
    ["uint", '{"f": -1}', "passes"],
    ["float", '{"f": 1e300}', "passes"],
    ["float", '{"f": 1e400}', "field f: expected number, found number beyond the range of 64-bit floats"],
    ["int", '{"f": -1e400}', "field f: expected number, found number beyond the range of 64-bit floats"],
    ["array", '{"f": []}', "passes"],
    ["array", '{"f": {}}', "field f: expected array, found object"],
    ["map", '{"f": {}}', "passes"],
    ["map", '{"f": []}', "field f: expected object, found array"],
  ])("%s in %s: %s", (type, text, outcome) => {
    expect(check("f", type, text)).toBe(outcome);
  });
});

describe("a name with dots", () => {
  test.each([
    ["is the literal key first", '{"a.b": "x", "a": {"b": 1}}', "passes"],
    ["is a path where there is no such key", '{"a": {"b": "x"}}', "passes"],
    ["is a path where that key holds null", '{"a.b": null, "a": {"b": "x"}}', "passes"],
    ["finds nothing in what is no object", '{"a": "b"}', "field a.b is missing: expected string, found nothing"],
    ["finds no inherited property", '{"a": []}', "field a.b is missing: expected string, found nothing"],
  ])("%s", (_title, text, outcome) => {
    expect(check("a.b", "string", text)).toBe(outcome);
  });

  test("reaches no prototype", () => {
    expect(check("constructor.name", "string", "{}")).toContain("found nothing");
    expect(check("__proto__", "map", "{}")).toContain("found nothing");
  });
});

test("fields that are not declared are kept", () => {
  const event = new Event(1, 0, Buffer.from('{"f": 1, "more": {"x": [1e400]}}'));
  expect(new DeclaredFields([{ name: "f", type: "int" }]).apply([event]).passed).toEqual([event]);
});

test.each(["", "null", "[]", "1", "{", '{"f":1}{"f":1}', '{"f":1', "\ufeff{}"])("%j is no event", (text) => {
  const { passed, rejected } = new DeclaredFields([{ name: "f", type: "int" }]).apply([eventOf(text)]);
  expect(passed).toEqual([]);
  expect(rejected).toMatchObject([{ reason: "parse_error", original_message: text, position: 7 }]);
});

const twice = (one: FieldType, other: FieldType): number =>
  new DeclaredFields([one, other].map((type) => ({ name: "f", type }))).apply([eventOf('{"f":1}')]).passed.length;

test("a field that is declared twice has to be of both kinds", () => {
  expect([twice("int", "float"), twice("int", "string"), twice("string", "int")]).toEqual([1, 0, 0]);
});

test("a tombstone is a dead letter without a text", () => {
  const tombstone = new Event(7, 0, Buffer.from('{"f":1}'), 0, -1);
  expect(new DeclaredFields([{ name: "f", type: "int" }]).apply([tombstone]).rejected).toEqual([
    {
      component: "ingestor",
      reason: "parse_error",
      error: "failed to validate data: expected a JSON object, found a tombstone (null value)",
      original_message: "",
      position: 7,
    },
  ]);
});

describe("what those behind want to know", () => {
  const fields = [{ name: "f", type: "string" as const }];
  test("is noted on the events that a walk can tell of", () => {
    const wanted = { keys: ["f", "g"], rows: () => undefined };
    const events = [eventOf('{"f":"a","g":2}'), eventOf(' {"f":"b"}'), eventOf('{"f":"c"}')];
    expect(new DeclaredFields(fields, wanted).apply(events).passed).toEqual(events);
    expect(events.map(({ notes }) => notes?.names)).toEqual([["f", "g"], undefined, ["f", "g"]]);
    expect(events.map(({ place }) => place)).toEqual([0, 0, 2]);
  });

  test("is found out by the walks of the moment", () => {
    const none = { optional: new Set<string>(), nullable: new Set<string>() };
    const strict: RowWalks = { walks: new Map([["f", () => 0]]), ...none };
    const lax: RowWalks = { walks: new Map([["f", textEnd]]), ...none };
    let rows = strict;
    const ingestor = new DeclaredFields(fields, { keys: [], rows: () => rows });
    const events = [eventOf('{"f":"a"}'), eventOf('{"f":"b"}')];
    ingestor.apply(events.slice(0, 1));
    rows = lax;
    ingestor.apply(events.slice(1));
    expect(events.map((event) => [event.isRowBy(strict), event.isRowBy(lax)])).toEqual([
      [false, undefined],
      [undefined, true],
    ]);
  });

  test("is found out of hardly any event after a hundred that no walk could tell of", () => {
    const ingestor = new DeclaredFields(fields, { keys: ["f"], rows: () => undefined });
    const events = Array.from({ length: 350 }, (_, index) => eventOf(`${index < 120 ? " " : ""}{"f":"a"}`));
    expect(ingestor.apply(events).passed).toHaveLength(350);
    const seen = events.flatMap(({ notes }, index) => (notes === undefined ? [] : [index]));
    expect(seen).toEqual(Array.from({ length: 150 }, (_, index) => index + 200));
  });
});

const latin = (text: string): Buffer => Buffer.from(text, "latin1");

describe("bytes that are not UTF-8", () => {
  test.each<[string, Buffer]>([
    ["in a declared field", latin('{"f":"caf\xe9"}')],
    ["in a field that nobody asks for", latin('{"f":"a","g":"\xff"}')],
    ["in a key", latin('{"f":"a","\xc3(":1}')],
    ["deep within a value", latin('{"f":"a","g":{"h":["\xf0\x9f\x98"]}}')],
    ["longer than a character needs", latin('{"f":"\xc0\xaf"}')],
    ["half of a pair of surrogates", latin('{"f":"\xed\xa0\x80"}')],
    ["behind spaces, which leave the event to a parse", latin('  {"f": "\xff"}')],
    ["outside of any text", latin('{"f":"a"}\xff')],
  ])("%s make a dead letter that loses none of them", (_where, bytes) => {
    const { passed, rejected } = new DeclaredFields([{ name: "f", type: "string" }]).apply([new Event(7, 0, bytes)]);
    expect(passed).toEqual([]);
    const [letter] = rejected;
    expect(letter).toMatchObject({ component: "ingestor", reason: "parse_error", encoding: "base64", position: 7 });
    expect(letter!.error).toContain("expected a JSON object in UTF-8, found bytes that are not UTF-8");
    expect(Buffer.from(letter!.original_message, "base64")).toEqual(bytes);
  });

  test("pass in no event, wherever they are", () => {
    const event = Buffer.from('{"f":"é😀x","g":{"ключ":["\u2028",1,"z"]},"h":null}');
    const fields = new DeclaredFields([{ name: "f", type: "string" }]);
    fc.assert(
      fc.property(fc.nat(event.length - 1), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(event);
        changed[at] = byte;
        const { passed } = fields.apply([new Event(1, 0, Buffer.from(changed))]);
        expect(passed.length === 0 || isUtf8(changed)).toBe(true);
      }),
      { numRuns: 3_000, seed: 1 },
    );
  });

  test("are sent again as they were", () => {
    const bytes = latin('{"f":"\xff"}');
    const letter = {
      ...new DeclaredFields([{ name: "f", type: "string" }]).apply([new Event(7, 0, bytes)]).rejected[0]!,
      message_id: "3",
      received_at: "2026-01-01T00:00:00.000Z",
    };
    const { text, encoding } = letterEvent(letter);
    expect(Buffer.from(text, encoding)).toEqual(bytes);
  });
});

describe("a field that is not required", () => {
  test.each([
    ["f", '{"f":"a"}', "passes"],
    ["f", '{"f":null}', "passes"],
    ["f", "{}", "passes"],
    ["f", '{"f":1}', "field f: expected string, found number"],
    ["a.b", '{"a":{"b":"x"}}', "passes"],
    ["a.b", '{"a":{"b":null}}', "passes"],
    ["a.b", '{"a":{"b":[]}}', "field a.b: expected string, found array"],
  ])("%s in %s: %s", (name, text, outcome) => {
    expect(check(name, "string", text, false)).toBe(outcome);
  });
});

function errorOf(text: string): string | undefined {
  return new DeclaredFields([{ name: "id", type: "int" }]).apply([eventOf(text)]).rejected[0]?.error;
}

describe("what is no JSON object is told", () => {
  test.each([
    ['[{"id":1},{"id":2}]', "found an array: send its items one by one"],
    ['\0\0\0\0\u0007{"id":1}', "found the magic byte of a schema registry before a value of schema 7"],
    ['{"id":9,}', "found text that is not JSON: "],
    ['"id"', "found a string"],
    ["null", "found null"],
    ["", "found nothing"],
  ])("%j", (text, said) => {
    expect(errorOf(text)).toContain(said);
  });

  test("a byte order mark is no reason to lose an event", () => {
    expect(errorOf('\ufeff{"id":3}')).toBeUndefined();
  });
});

test("null is no event, whether or not a field is required", () => {
  const fields = [{ name: "id", type: "int" as const, required: false as const }];
  const [rejection] = new DeclaredFields(fields).apply([eventOf("null")]).rejected;
  expect(rejection?.error).toBe("failed to validate data: expected a JSON object, found null");
});

test("a tombstone is a dead letter, or skipped and counted", () => {
  const tombstone = new Event(7, 0, Buffer.alloc(0), 0, -1);
  const fields = [{ name: "id", type: "int" as const }];
  expect(new DeclaredFields(fields).apply([tombstone])).toMatchObject({ dropped: 0, rejected: [{ position: 7 }] });
  const skipping = new DeclaredFields(fields, undefined, { skipsTombstones: true });
  expect(skipping.apply([tombstone, eventOf('{"id":1}')])).toMatchObject({ dropped: 1, passed: [{}], rejected: [] });
});
