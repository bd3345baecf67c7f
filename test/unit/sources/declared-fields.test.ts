import { describe, expect, test } from "vitest";
import type { FieldType } from "../../../schemas/pipeline.ts";
import { Event } from "../../../engine/core/batch.ts";
import { DeclaredFields } from "../../../engine/sources/declared-fields.ts";

function check(name: string, type: FieldType, text: string): string {
  const { passed, rejected } = new DeclaredFields([{ name, type }]).apply([new Event(7, 0, Buffer.from(text))]);
  return passed.length === 1 ? "passes" : rejected[0]!.error.replace("failed to validate data: ", "");
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
