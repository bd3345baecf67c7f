import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("string", () => {
  test.each([
    ["string(1)", "string 1"],
    ["string(1.5)", "string 1.5"],
    ["string(1e6)", "string 1e+06"],
    ["string(100000.0)", "string 100000"],
    ["string(123456.7)", "string 123456.7"],
    ["string(1234567.5)", "string 1.2345675e+06"],
    ["string(1e20)", "string 1e+20"],
    ["string(big)", "string 1e+21"],
    ["string(1e-4)", "string 0.0001"],
    ["string(0.00001)", "string 1e-05"],
    ["string(nul)", "string <nil>"],
    ["string(true)", "string true"],
    ["string(a)", "string [3 1 2]"],
    ["string(sa)", "string [x y x]"],
    ["string(m)", "string map[k:1 n:map[d:[1 [2 [3]]]] z:q]"],
    ["string(ms)", "string [map[g:a k:1] map[g:b k:2] map[g:a k:3]]"],
    ["string(-0.0)", "string -0"],
    [String.raw`string({"b":1,"a":[1,"x"]})`, "string map[a:[1 x] b:1]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("type", () => {
  test.each([
    ["type(nul)", "string nil"],
    ["type(1)", "string int"],
    ["type(1.0)", "string float"],
    [String.raw`type("a")`, "string string"],
    ["type(a)", "string array"],
    ["type(m)", "string map"],
    ["type(true)", "string bool"],
    ["type(now())", "string time.Time"],
    [String.raw`type(duration("1s"))`, "string time.Duration"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("JSON", () => {
  test.each([
    [
      "toJSON(m)",
      String.raw`string {
  "k": 1,
  "n": {
    "d": [
      1,
      [
        2,
        [
          3
        ]
      ]
    ]
  },
  "z": "q"
}`,
    ],
    ["toJSON(a)", "string [\n  3,\n  1,\n  2\n]"],
    ["toJSON([])", "string []"],
    ["toJSON({})", "string {}"],
    [String.raw`toJSON("a<b>&\u2028")`, String.raw`string "a\u003cb\u003e\u0026\u2028"`],
    ["toJSON(1)", "string 1"],
    ["toJSON(1.0)", "string 1"],
    ["toJSON(1e21)", "string 1e+21"],
    ["toJSON(1e-7)", "string 1e-7"],
    ["toJSON(nul)", "string null"],
    ["toJSON(s)", String.raw`string "héllo"`],
    [String.raw`toJSON("\t\x01\"\\")`, String.raw`string "\t\u0001\"\\"`],
    [String.raw`fromJSON("{\"a\":[1,2]}")`, "map map[a:[1 2]]"],
    [String.raw`fromJSON("1")`, "float 1"],
    [String.raw`fromJSON("x")`, "fails: fromJSON expects a text that is JSON, found another text"],
    [String.raw`fromJSON("")`, "fails: fromJSON expects a text that is JSON, found another text"],
    [String.raw`fromJSON("1e400")`, "fails: fromJSON expects a text that is JSON, found another text"],
    [String.raw`fromJSON("{}").a`, "nil <nil>"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("base64", () => {
  test.each([
    [String.raw`toBase64("hé")`, "string aMOp"],
    [String.raw`fromBase64("aMOp")`, "string hé"],
    [String.raw`fromBase64("aGk")`, "fails: fromBase64 expects base64 with padding, found another text"],
    [String.raw`fromBase64("!!")`, "fails: fromBase64 expects base64 with padding, found another text"],
    [String.raw`fromBase64("")`, "string "],
    [String.raw`fromBase64("aGk=")`, "string hi"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("len", () => {
  test.each([
    ["len(s)", "int 5"],
    ["len(a)", "int 3"],
    ["len(m)", "int 3"],
    ["len(nul)", "fails: len expects a text, an array or a map, found nil"],
    ["len(n)", "fails: len expects a text, an array or a map, found float"],
    [String.raw`len("日本語")`, "int 3"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
