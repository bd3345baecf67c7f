import { describe, expect, test } from "vitest";
import { type Part, requestOf, rowOf, rowTexts, wireOf } from "./requests.ts";

const text = (stringValue: string): Part => ({ stringValue });
const list = (...values: Part[]): Part => ({ arrayValue: { values } });
const pairs = (...values: [string, Part?][]): Part => ({
  kvlistValue: { values: values.map(([key, value]) => ({ key, value })) },
});

const kinds: [string, Part | undefined, string][] = [
  ["a text", text("a"), "a"],
  ["an empty text", text(""), ""],
  ["a text that JSON escapes", text('say "x" \\ \n\t\u0001\u007f/'), 'say "x" \\ \n\t\u0001\u007f/'],
  ["a text beyond ASCII", text("größe 語 \u{1f600}"), "größe 語 \u{1f600}"],
  ["a text of 127 bytes", text("x".repeat(127)), "x".repeat(127)],
  ["a text of 128 bytes", text("x".repeat(128)), "x".repeat(128)],
  ["a text of 20,000 bytes", text("x".repeat(20_000)), "x".repeat(20_000)],
  ["true", { boolValue: true }, "true"],
  ["false", { boolValue: false }, "false"],
  ["zero", { intValue: "0" }, "0"],
  ["a negative integer", { intValue: "-1" }, "-1"],
  ["an integer beyond 2^53", { intValue: "9007199254740993" }, "9007199254740993"],
  ["a negative integer beyond 2^53", { intValue: "-9007199254740993" }, "-9007199254740993"],
  ["-2^32", { intValue: "-4294967296" }, "-4294967296"],
  ["the greatest integer", { intValue: "9223372036854775807" }, "9223372036854775807"],
  ["the least integer", { intValue: "-9223372036854775808" }, "-9223372036854775808"],
  ["a double", { doubleValue: 1.5 }, "1.5"],
  ["a whole double", { doubleValue: 3 }, "3"],
  ["a negative zero", { doubleValue: -0 }, "-0"],
  ["a great double, without an exponent", { doubleValue: 1e21 }, "1000000000000000000000"],
  ["a great double of many digits", { doubleValue: -1.2345e25 }, "-12345000000000000000000000"],
  ["a small double, without an exponent", { doubleValue: 1.5e-7 }, "0.00000015"],
  ["NaN", { doubleValue: NaN }, "NaN"],
  ["infinity", { doubleValue: Infinity }, "+Inf"],
  ["minus infinity", { doubleValue: -Infinity }, "-Inf"],
  ["bytes", { bytesValue: "AAH/" }, "0001ff"],
  ["no bytes", { bytesValue: "" }, ""],
  ["an array", list(text("a")), '["a"]'],
  ["an empty array", list(), "[]"],
  [
    "an array of all kinds",
    list(
      text('"'),
      { boolValue: true },
      { intValue: "9007199254740993" },
      { doubleValue: 1e21 },
      { bytesValue: "/w==" },
      {},
    ),
    '["\\"",true,9007199254740993,1000000000000000000000,"ff",null]',
  ],
  ["numbers that JSON has not, in an array", list({ doubleValue: NaN }, { doubleValue: -Infinity }), '["NaN","-Inf"]'],
  ["a list of pairs", pairs(["k", { intValue: "1" }]), '{"k":1}'],
  ["an empty list of pairs", pairs(), "{}"],
  ["a list whose pair has no value", pairs(["k"]), '{"k":null}'],
  ["pairs with one key: the last counts", pairs(["k", text("a")], ["l", {}], ["k", text("b")]), '{"k":"b","l":null}'],
  ["pairs and arrays inside one another", pairs(["k", list(pairs(["l", list(text("ü"))]))]), '{"k":[{"l":["ü"]}]}'],
  ["a value that is not set", {}, ""],
  ["no value", undefined, ""],
];

describe("a value becomes the same text as a body, and as an attribute of everything that has some", () => {
  test.each(kinds)("%s", (_title, value, expected) => {
    const attributes = [{ key: "k", value }];
    const log = rowOf("logs", { body: value, attributes }, { attributes }, { attributes });
    expect(log["body"]).toBe(expected);
    expect(log["attributes"]).toEqual({ k: expected });
    expect(log["resource_attributes"]).toEqual({ k: expected });
    expect(log["scope_attributes"]).toEqual({ k: expected });
    const span = rowOf("traces", { attributes, events: [{ attributes }], links: [{ attributes }] });
    expect(span["attributes"]).toEqual({ k: expected });
    expect(span["events"]).toEqual([expect.objectContaining({ attributes: { k: expected } })]);
    expect(span["links"]).toEqual([expect.objectContaining({ attributes: { k: expected } })]);
    expect(rowOf("metrics", { gauge: { dataPoints: [{ attributes }] } })["attributes"]).toEqual({ k: expected });
  });
});

/** The text of the attributes of a log record. */
function attributesText(attributes: readonly Part[]): string {
  const [row = ""] = rowTexts("logs", wireOf("logs", requestOf("logs", [{ attributes }])));
  return row.slice(row.indexOf(',"attributes":') + ',"attributes":'.length, -1);
}

const pair = (key: string, value: string) => ({ key, value: text(value) });

describe("of attributes with one key the last counts, in the place of the first", () => {
  const many = Array.from({ length: 40 }, (_, index) => pair(`k${index}`, "v"));
  test.each([
    ["two of three", [pair("a", "1"), pair("b", "2"), pair("a", "3")], '{"a":"3","b":"2"}'],
    ["all", [pair("a", "1"), pair("a", "2"), pair("a", "3")], '{"a":"3"}'],
    ["empty keys", [pair("", "1"), pair("", "2")], '{"":"2"}'],
    ["keys beyond ASCII", [pair("ä", "1"), pair("b", "2"), pair("ä", "3")], '{"ä":"3","b":"2"}'],
    ["keys that are no keys of plain objects", [pair("__proto__", "1"), pair("1", "2")], '{"__proto__":"1","1":"2"}'],
  ])("%s", (_title, attributes, expected) => {
    expect(attributesText(attributes)).toBe(expected);
  });

  test("more than are compared each with each", () => {
    const found = JSON.parse(attributesText([...many, pair("k0", "last")])) as Record<string, string>;
    expect(Object.keys(found)).toEqual(many.map(({ key }) => key));
    expect(found["k0"]).toBe("last");
    expect(found["k39"]).toBe("v");
  });
});
