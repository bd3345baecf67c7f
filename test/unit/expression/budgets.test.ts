import { describe, expect, test } from "vitest";
import { parse } from "../../../engine/expression/syntax/parser.ts";
import { inFilter, inTransform } from "./evaluate.ts";

const spent = "fails: the evaluation needs more time or memory than one record may use";

describe("one evaluation may make a million items and take a million steps", () => {
  test.each([
    "len(1..1000000)",
    `repeat("ab", 500000)`,
    `repeat("a", 1e18)`,
    "map(1..500000, [#])",
    "reduce(1..100, #acc + #acc, s)",
    `reduce(1..1000, concat(#acc, #acc), [1])`,
    `reduce(1..1000000, 1)`,
    `replace(repeat("a", 100000), "a", repeat("b", 1000))`,
  ])("%s is more", (expression) => {
    expect(inFilter(expression)).toBe(spent);
  });

  test.each([
    "any(1..2000, any(1..2000, false))",
    "map(1..900, uniq(map(1..900, [#])))",
    `map(1..200000, s matches "x") | map(upper(t)) | map(upper(t)) | map(upper(t)) | map(upper(t)) | len()`,
  ])("%s is more", { tags: ["rest"] }, (expression) => {
    expect(inFilter(expression)).toBe(spent);
  });

  test.each([
    ["len(1..999999)", "int 999999"],
    [`len(repeat("a", 999999))`, "int 999999"],
  ])("%s is not", (expression, expected) => {
    expect(inTransform(expression)).toBe(expected);
  });

  test("the budget of one record is not that of the next", () => {
    expect([1, 2].map(() => inFilter("len(1..600000)"))).toEqual(["int 600000", "int 600000"]);
  });
});

describe("an expression itself is bounded", () => {
  test.each([
    ["10,001 values", `[${Array.from({ length: 10_001 }, () => "1").join(",")}]`, "too long"],
    ["300 parentheses", "(".repeat(300) + "1" + ")".repeat(300), "nests too deep"],
    ["300 negations", "not ".repeat(300) + "true", "nests too deep"],
    ["a sum of 300 terms", Array.from({ length: 300 }, () => "1").join("+"), "nests too deep"],
    ["a chain of 300 members", `a${".b".repeat(300)}`, "nests too deep"],
    ["a million characters", `"${"x".repeat(1_000_000)}"`, "too long"],
  ])("%s", (_, expression, expected) => {
    expect(() => parse(expression)).toThrow(expected);
  });

  test.each([
    ["2,400 alternatives", Array.from({ length: 2400 }, (_, index) => `n == ${index}`).join(" or "), "bool true"],
    [
      "a list of 9,000 texts",
      `t in [${Array.from({ length: 9000 }, (_, index) => `"${index}"`).join(",")}]`,
      "bool false",
    ],
    ["3,000 comparisons in a chain", Array.from({ length: 3000 }, (_, index) => index).join(" < "), "bool true"],
  ])("%s are fine", (_, expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("numbers that no budget can count", () => {
  test.each([
    ["[1 / 0, nil][0]..n", "fails: the position does not fit 64 bits"],
    ["1..[1 / 0, nil][0]", "fails: the position does not fit 64 bits"],
    [`repeat("", 1 / 0)`, "fails: the position does not fit 64 bits"],
    ["a[0 / 0]", "fails: the position does not fit 64 bits"],
    [`int(repeat("9", 900000))`, "fails: int: the number in the text does not fit 64 bits"],
    [`int(repeat("0", 900000) + "7")`, "int 7"],
    [
      `duration(repeat("1", 100000) + "s")`,
      "fails: expected a duration such as 1h30m, found a text that is too long for one",
    ],
    [`date("1", repeat("2", 100000))`, "fails: the layout is too long for a date"],
    [`date(repeat("1", 99) + "x", repeat("2", 99))`, "fails: the text does not fit the layout"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

test("values that nest deep are an error of the language", () => {
  expect(inFilter(`toJSON(fromJSON(repeat("[", 20000) + repeat("]", 20000)))`)).toMatch(/^fails: /);
});
