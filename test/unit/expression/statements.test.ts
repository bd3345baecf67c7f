import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("conditions", () => {
  test.each([
    ["b ? 1 : 2", "int 1"],
    ["nul ? 1 : 2", "fails: a condition is a bool, found nil"],
    ["n ? 1 : 2", "fails: a condition is a bool, found float"],
    ["b ?: 2", "bool true"],
    ["no ?: 2", "int 2"],
    ["true ? 1 : false ? 2 : 3", "int 1"],
    ["false ? 1 : false ? 2 : 3", "int 3"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("let", () => {
  test.each([
    ["let x = 5; x + 1", "int 6"],
    ["let x = 5; let y = x * 2; y - x", "int 5"],
    ["let n2 = n; n2 == 5", "bool true"],
    ["let x = 5; let x = 6; x", "refused: the name x is already a variable: choose another for the variable"],
    ["let t = 1; t", "int 1"],
    ["let len = 1; len", "refused: the name len is already a function: choose another for the variable"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("if and sequences", () => {
  test.each([
    ["if b {1} else {2}", "int 1"],
    ["if no {1} else {2}", "int 2"],
    ["if b {1; 2} else {3}", "int 2"],
    ["if no {1} else if b {2} else {3}", "int 2"],
    ["if no {1} else if no {2} else if no {3} else {4}", "int 4"],
    ["if nul {1} else {2}", "fails: a condition is a bool, found nil"],
    ["1; 2; 3", "int 3"],
    ["1; 2;", "int 2"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("pipes", () => {
  test.each([
    ["t | upper()", "string ABC"],
    ["t | upper() | lower()", "string abc"],
    ["a | sort() | first()", "float 1"],
    [String.raw`"a,b" | split(",")`, "array [a b]"],
    ["a | map(# * 2)", "array [6 2 4]"],
    ["n | int() + 1", "int 6"],
    ["1 + t | len()", "fails: expected two numbers, two texts, or a time and a duration, found int and string"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

test("a long chain of else if is refused before it is read to its end", () => {
  expect(inFilter(`${"if no {1} else ".repeat(5_000)}{2}`)).toMatch(/nests too deep/);
});
