import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("trim", () => {
  test.each([
    [String.raw`trim("  a b ")`, "string a b"],
    [String.raw`trim("xxaxx", "x")`, "string a"],
    [String.raw`trim("héh", "h")`, "string é"],
    ["trim(nul)", "fails: trim expects a text, found nil"],
    ["trim(n)", "fails: trim expects a text, found float"],
    [String.raw`trimPrefix("abc", "ab")`, "string c"],
    [String.raw`trimPrefix(" abc")`, "string abc"],
    [String.raw`trimSuffix("abc", "bc")`, "string a"],
    [String.raw`trimSuffix("abc ")`, "string abc"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("case", () => {
  test.each([
    ["upper(s)", "string HÉLLO"],
    [String.raw`upper("straße")`, "string STRAßE"],
    [String.raw`upper("ŉ")`, "string ŉ"],
    [String.raw`lower("ÀÉİ")`, "string àéi"],
    [String.raw`lower("ΑΣ")`, "string ασ"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("split", () => {
  test.each([
    [String.raw`split("a,b,c", ",")`, "array [a b c]"],
    [String.raw`split("a,b,c", ",", 2)`, "array [a b,c]"],
    [String.raw`split("a,b,c", ",", 0)`, "array []"],
    [String.raw`split("a,b,c", ",", -1)`, "array [a b c]"],
    [String.raw`split("a,b,c", "", 2)`, "array [a ,b,c]"],
    [String.raw`split("abc", "")`, "array [a b c]"],
    [String.raw`split("", ",")`, "array []"],
    [String.raw`split("", "")`, "array []"],
    [String.raw`len(split("", ""))`, "int 0"],
    [String.raw`splitAfter("a,b,c", ",")`, "array [a, b, c]"],
    [String.raw`splitAfter("a,b,c", ",", 2)`, "array [a, b,c]"],
    [String.raw`splitAfter("abc", "")`, "array [a b c]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("replace", () => {
  test.each([
    [String.raw`replace("aaa", "a", "b")`, "string bbb"],
    [String.raw`replace("aaa", "a", "b", 2)`, "string bba"],
    [String.raw`replace("aaa", "a", "b", 0)`, "string aaa"],
    [String.raw`replace("aaa", "a", "b", -1)`, "string bbb"],
    [String.raw`replace("abc", "", "-")`, "string -a-b-c-"],
    [String.raw`replace("abc", "", "-", 2)`, "string -a-bc"],
    [String.raw`replace("abc", "", "-", 4)`, "string -a-b-c-"],
    [String.raw`replace("", "", "-")`, "string -"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("repeat", () => {
  test.each([
    [String.raw`repeat("ab", 3)`, "string ababab"],
    [String.raw`repeat("ab", 0)`, "string "],
    [String.raw`repeat("ab", -1)`, "fails: repeat expects a count of 0 or more, found a negative one"],
    [String.raw`repeat("ab", 1000001)`, "fails: the evaluation needs more time or memory than one record may use"],
    [String.raw`repeat("ab", 500000)`, "fails: the evaluation needs more time or memory than one record may use"],
    [String.raw`repeat("a", 999999) | len()`, "int 999999"],
    [
      String.raw`repeat("a", 1000000) | len()`,
      "fails: the evaluation needs more time or memory than one record may use",
    ],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("positions, prefixes and suffixes", () => {
  test.each([
    [String.raw`indexOf("héllo", "l")`, "int 3"],
    [String.raw`indexOf("abc", "x")`, "int -1"],
    [String.raw`indexOf("abc", "")`, "int 0"],
    [String.raw`lastIndexOf("héllol", "l")`, "int 6"],
    [String.raw`lastIndexOf("abc", "")`, "int 3"],
    [String.raw`hasPrefix("abc", "a")`, "bool true"],
    [String.raw`hasSuffix("abc", "c")`, "bool true"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
