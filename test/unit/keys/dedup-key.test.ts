import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Event } from "../../../engine/event/event.ts";
import { Fingerprints } from "../../../engine/keys/fingerprint.ts";
import { badDedupKey, dedupKeyText, keyReader } from "../../../engine/keys/key-reader.ts";

/** The value of `id`, as an event reads it from its bytes. */
function valueOf(text: string): unknown {
  return new Event(1, 0, Buffer.from(text)).value["id"];
}

describe("a key is the text of its value", () => {
  test.each([
    ['"order-1"', "order-1"],
    ['" "', " "],
    ['"\\u0000"', "\u0000"],
    ['"\\ud800"', "\ud800"],
    ["1", "1"],
    ["0", "0"],
    ["-0", "0"],
    ["-0.0", "0"],
    ["1.0", "1"],
    ["1e0", "1"],
    ["1234567", "1234567"],
    ["-5", "-5"],
    ["0.1", "0.1"],
    ["-2.50", "-2.5"],
    ["1e-7", "1e-7"],
    ["9007199254740991", "9007199254740991"],
    ["9007199254740993", "9007199254740993"],
    ["18446744073709551615", "18446744073709551615"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["1152921504606846976", "1152921504606846976"],
    ["1152921504606846976.0", "1152921504606846976"],
    ["1e21", "1000000000000000000000"],
    ["1000000000000000000000", "1000000000000000000000"],
    ["true", "true"],
    ["false", "false"],
  ])("%s has the key %j", (json, text) => {
    expect(dedupKeyText(valueOf(`{"id": ${json}}`))).toBe(text);
  });

  test("numbers that are equal have one text, others have another", () => {
    const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.bigInt(-(2n ** 70n), 2n ** 70n));
    fc.assert(
      fc.property(number, number, (one, other) => {
        // oxlint-disable-next-line eqeqeq -- A number and a bigint are compared by what they are worth.
        expect(dedupKeyText(one) === dedupKeyText(other)).toBe(one == other);
        if (typeof one === "bigint") expect(dedupKeyText(Number(one))).toBe(String(BigInt(Number(one))));
      }),
    );
  });
});

describe("several fields are one key together", () => {
  const prints = new Fingerprints(Buffer.alloc(16, 1));
  const reader = keyReader(["a", "b.c"], prints);

  /** The fingerprint of an event; undefined where it has no key. */
  function printOf(text: string): string | undefined {
    return reader.makePrint(new Event(1, 0, Buffer.from(text))) ? reader.print.join(" ") : undefined;
  }

  test.each([
    ['{"a": 1, "b": {"c": "x"}}', '{"b.c": "x", "a": "1"}'],
    ['{"a": "é", "b": {"c": true}}', '{"b": {"c": "true"}, "a": "\\u00e9"}'],
  ])("%s and %s have one", (one, other) => {
    expect(printOf(one)).toBeDefined();
    expect(printOf(one)).toBe(printOf(other));
  });

  test.each([
    ['{"a": 1, "b": {"c": 23}}', '{"a": 12, "b": {"c": 3}}'],
    ['{"a": "1", "b": {"c": "2"}}', '{"a": "2", "b": {"c": "1"}}'],
    ['{"a": "1:1", "b": {"c": "2"}}', '{"a": "1", "b": {"c": "1:2"}}'],
  ])("%s and %s have two", (one, other) => {
    expect(printOf(one)).toBeDefined();
    expect(printOf(one)).not.toBe(printOf(other));
  });

  test.each([
    ['{"b": {"c": 1}}', "dedup key a is missing: "],
    ['{"a": 1, "b": {"d": 1}}', "dedup key b.c is missing: "],
    ['{"a": 1, "b": {"c": []}}', "dedup key b.c: "],
  ])("%s has none, and says which field lacks", (text, problem) => {
    expect(printOf(text)).toBeUndefined();
    expect(badDedupKey(...reader.missing(new Event(1, 0, Buffer.from(text))))).toContain(problem);
  });
});

describe("what is no key says what it is", () => {
  const expected = "expected a string with text, a number or a bool";
  test.each([
    ["{}", ` is missing: ${expected}, found nothing`],
    ['{"id": null}', ` is missing: ${expected}, found null`],
    ['{"id": ""}', `: ${expected}, found an empty string`],
    ['{"id": []}', `: ${expected}, found an array`],
    ['{"id": [1]}', `: ${expected}, found an array`],
    ['{"id": {"a": 1}}', `: ${expected}, found an object`],
    ['{"id": 1e400}', `: ${expected}, found a number beyond the range of 64-bit floats`],
    ['{"id": -1e400}', `: ${expected}, found a number beyond the range of 64-bit floats`],
  ])("%s", (text, problem) => {
    const value = valueOf(text);
    expect(dedupKeyText(value)).toBeUndefined();
    expect(badDedupKey("id", value)).toBe(`failed to validate data: dedup key id${problem}`);
  });
});
