import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mayHoldWide, parseExactly, writeExactly } from "../../../engine/event/exact-json.ts";

const parsed = (text: string): unknown => (mayHoldWide(Buffer.from(text)) ? parseExactly(text) : JSON.parse(text));

describe("a whole number keeps its digits", () => {
  test.each<[string, unknown]>([
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740992", -9007199254740992n],
    ["-9007199254740991", -9007199254740991],
    ["1717000000000000", 1717000000000000],
    ["18446744073709551615", 18446744073709551615n],
    ["9".repeat(76), 10n ** 76n - 1n],
    ['{"a":12345678901234567}', { a: 12345678901234567n }],
    ['{ "a" : 12345678901234567 }', { a: 12345678901234567n }],
    ["[1,12345678901234567 , -12345678901234567\n]", [1, 12345678901234567n, -12345678901234567n]],
    [
      '{"a":{"b":[[12345678901234567]]},"c":12345678901234568}',
      { a: { b: [[12345678901234567n]] }, c: 12345678901234568n },
    ],
    ['{"a\\"":12345678901234567}', { 'a"': 12345678901234567n }],
    ['{"a\\\\":12345678901234567}', { "a\\": 12345678901234567n }],
    [`["${"x".repeat(31)}",12345678901234567]`, ["x".repeat(31), 12345678901234567n]],
  ])("%s", (text, value) => {
    expect(parsed(text)).toEqual(value);
  });
});

describe("anything else is what JSON.parse makes of it", () => {
  test.each([
    "12345678901234567.5",
    "0.12345678901234567890",
    "1e20",
    "1.2345678901234567890e5",
    "1E+0000000000000000001",
    "12345678901234567e2",
    '"12345678901234567"',
    '" 12345678901234567 "',
    '"a,12345678901234567,b"',
    '"\\",12345678901234567,\\""',
    '{"12345678901234567":1}',
    `["${"\\\\".repeat(9)}",1,"12345678901234567"]`,
    "9".repeat(400),
    "{}",
    "null",
  ])("%s", (text) => {
    expect(parseExactly(text)).toEqual(JSON.parse(text));
    expect(parsed(text)).toEqual(JSON.parse(text));
  });

  test.each([
    "{12345678901234567:1}",
    "{12345678901234567 :1}",
    "[012345678901234567]",
    "[-012345678901234567]",
    "[--12345678901234567]",
    "[+12345678901234567]",
    "[12345678901234567",
    '["12345678901234567]',
    "12345678901234567 12345678901234567",
    '12345678901234567"a"',
    '"a"12345678901234567',
    "x12345678901234567",
    "12345678901234567x",
    "\\12345678901234567",
    "",
  ])("%j is no JSON", (text) => {
    expect(() => parseExactly(text)).toThrow(SyntaxError);
  });

  test("a key is a key, whatever its name", () => {
    const value = parsed('{"__proto__":12345678901234567,"constructor":{"__proto__":[12345678901234567]}}');
    expect(writeExactly(value)).toBe('{"__proto__":12345678901234567,"constructor":{"__proto__":[12345678901234567]}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});

/** JSON texts with wide and narrow numbers, texts that look like them, and white space between the tokens. */
const texts = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom("", "", " ", "\n", "\t ");
  const digits = fc.stringMatching(/^-?[1-9]\d{13,22}$/);
  const spaced = (inner: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.tuple(space, inner, space).map((parts) => parts.join(""));
  const string = fc
    .oneof(fc.string(), digits, fc.constantFrom('"', "\\", '\\"', ",12345678901234567,", ": 12345678901234567 "))
    .map((text) => JSON.stringify(text));
  return {
    value: spaced(
      fc.oneof(
        { depthSize: "small" },
        digits,
        digits.map((text) => `${text}.5`),
        digits.map((text) => `${text}e-3`),
        string,
        fc.constantFrom("null", "true", "0", "-1.5"),
        fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
        fc
          .array(fc.tuple(spaced(string), tie("value")), { maxLength: 4 })
          .map((pairs) => `{${pairs.map(([key, value]) => `${key}:${value}`).join(",")}}`),
      ),
    ),
  };
}).value;

/** What JSON.parse would have made of it. */
function rounded(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]));
}

/** How many numbers of a text are whole and outside the safe range, counted token by token. */
function wideNumbers(text: string): number {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|-?[\d.eE+-]+/g) ?? [];
  return tokens.filter((token) => /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))).length;
}

function bigints(value: unknown): number {
  if (typeof value === "bigint") return 1;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + bigints(inner), 0);
}

describe("for any JSON", () => {
  test("the value is that of JSON.parse, but for the digits", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(rounded(parsed(text))).toEqual(JSON.parse(text));
      }),
      { numRuns: 2000 },
    );
  });

  test("the look at the bytes misses no wide number", () => {
    fc.assert(
      fc.property(texts, (text) => {
        if (wideNumbers(text) > 0) expect(mayHoldWide(Buffer.from(text))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test("what is written is read back as it was", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const value = parsed(text);
        // A float that is whole and large is written as its digits, so it comes back as an integer.
        expect(rounded(parsed(writeExactly(value)))).toEqual(rounded(value));
        if (!/"(?:[^"\\]|\\.)*"\s*:/.test(text)) expect(bigints(value)).toBe(wideNumbers(text));
      }),
      { numRuns: 2000 },
    );
  });

  test("a text with pieces cut out is JSON for both or for neither", () => {
    fc.assert(
      fc.property(texts, fc.nat(40), fc.nat(4), (text, from, count) => {
        const cut = text.slice(0, from) + text.slice(from + count);
        const isJson = (parse: (text: string) => unknown): boolean => {
          try {
            parse(cut);
            return true;
          } catch (error) {
            expect(error).toBeInstanceOf(SyntaxError);
            return false;
          }
        };
        expect(isJson(parseExactly)).toBe(isJson(JSON.parse));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("hostile texts", () => {
  test.each([
    ["a deep nesting", `${"[".repeat(200_000)}12345678901234567${"]".repeat(200_000)}`],
    ["a million backslashes", `["${"\\".repeat(1_000_000)}",12345678901234567]`],
    ["a long run of digits", `["${"1".repeat(1_000_000)}",12345678901234567,1${"2".repeat(1_000_000)}.5]`],
    ["many wide numbers", `[${"12345678901234567,".repeat(50_000)}1]`],
    ["many quotes in a string", `["${'\\"'.repeat(300_000)}",12345678901234567]`],
    ["wide numbers before much white space", `[${`12345678901234567${" ".repeat(2000)},`.repeat(300)}1]`],
  ])("%s is read", (_title, text) => {
    expect(JSON.stringify(Object.keys(parsed(text) as object))).toBe(
      JSON.stringify(Object.keys(JSON.parse(text) as object)),
    );
  });
});
