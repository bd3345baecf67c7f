import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("numbers", () => {
  test.each([
    ["0x2A", "int 42"],
    ["0o52", "int 42"],
    ["0b101", "int 5"],
    ["1_000", "int 1000"],
    [".5", "float 0.5"],
    ["1e3", "float 1000"],
    ["1.5e-7", "float 1.5e-07"],
    ["0.5.5", "refused: expected an operator or the end of the expression, found this"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("arrays and maps", () => {
  test.each([
    ["[1, 2, 3,]", "array [1 2 3]"],
    [String.raw`{a: 1, "b": 2, 3: 4}`, "map map[3:4 a:1 b:2]"],
    ["{a: 1, a: 2}", "map map[a:1]"],
    ["{(t): 1}", "map map[abc:1]"],
    ["{(n): 1}", "fails: the key of a map is a text, found float"],
    ["{}", "map map[]"],
    ["[]", "array []"],
    [String.raw`[1, 2.0, "a", nil, true]`, "array [1 2 a <nil> true]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("comments", () => {
  test.each([
    ["// comment", "refused: expected a value, the expression ends"],
    ["1 // comment", "int 1"],
    ["/* c */ 1 /* d */ + 2", "int 3"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("texts", () => {
  test.each([
    ["`raw\\n`", String.raw`string raw\n`],
    ["'it''s'", "refused: expected an operator or the end of the expression, found this"],
    [String.raw`'it\'s'`, "string it's"],
    [String.raw`"tab\tx"`, "string tab\tx"],
    [String.raw`"\u00e9"`, "string é"],
    [String.raw`"\ud83d\ude00"`, "string ��"],
    [String.raw`"\x41\101"`, "string AA"],
    [
      String.raw`"\q"`,
      String.raw`refused: unknown escape: expected \n \t \\ \" or another one-letter escape, \x41, \u0041, \U00000041 or \101`,
    ],
    [String.raw`"unclosed`, "refused: this text is not closed: expected the same quote at its end"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("names and more numbers", () => {
  test.each([
    ["_x", "nil <nil>"],
    ["$x", "nil <nil>"],
    ["a$b", "nil <nil>"],
    ["1__0", "int 10"],
    ["0x", "refused: this is not a number"],
    ["0b2", "refused: this is not a number"],
    ["1e", "refused: this is not a number"],
    ["1e+", "refused: this is not a number"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
