import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("numbers and kinds of arguments", () => {
  test.each([
    ["trim()", "refused: trim takes 1 to 2 arguments, found 0"],
    [String.raw`trim("a", "b", "c")`, "refused: trim takes 1 to 2 arguments, found 3"],
    ["len()", "refused: len takes 1 argument, found 0"],
    ["len(1, 2)", "refused: len takes 1 argument, found 2"],
    ["max()", "refused: max takes at least 1 argument, found 0"],
    ["now(1)", "refused: now expects a time zone, found int"],
    ["get(m)", "refused: get takes 2 arguments, found 1"],
    ["foo(1)", "refused: unknown function foo"],
    ["upper(1)", "refused: upper expects a text, found int"],
    [String.raw`upper("a", "b")`, "refused: upper takes 1 argument, found 2"],
    ["upper(s,)", "string HÉLLO"],
    ["filter(a)", "refused: filter takes 2 arguments, found 1"],
    ["filter(a, true, 1)", "refused: filter takes 2 arguments, found 3"],
    ["count()", "refused: count takes 1 to 2 arguments, found 0"],
    ["sum()", "refused: sum takes 1 to 2 arguments, found 0"],
    ["first(1)", "refused: first expects an array, found int"],
    [String.raw`keys("a")`, "refused: keys expects a map, found string"],
    [String.raw`sort("abc")`, "refused: sort expects an array, found string"],
    [String.raw`join("abc")`, "refused: join expects an array, found string"],
    ["abs(true)", "refused: abs expects a number, found bool"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("methods of what has none", () => {
  test.each([
    ["m.keys()", "fails: map has no method keys"],
    ["a.len()", "fails: array has no method len"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("literals of kinds that do not go together", () => {
  test.each([
    [String.raw`-"a"`, "refused: expected a number, found string"],
    ["not 1", "refused: `not` expects a bool, found int; it binds tighter than a comparison: write not (…)"],
    [String.raw`"a" - 1`, "refused: `-` cannot be applied to string and int"],
    [String.raw`"a" * 2`, "refused: `*` cannot be applied to string and int"],
    ["[1] + [2]", "refused: `+` cannot be applied to array and array"],
    [String.raw`{"a":1} + 1`, "refused: `+` cannot be applied to map and int"],
    ["true + 1", "refused: `+` cannot be applied to bool and int"],
    ["1 > true", "refused: `>` compares two numbers, texts, times or durations, found int and bool"],
    [String.raw`"a" > 1`, "refused: `>` compares two numbers, texts, times or durations, found string and int"],
    ["[1] > [2]", "refused: `>` compares two numbers, texts, times or durations, found array and array"],
    [String.raw`1 in "abc"`, "refused: `in` cannot be applied to int and string"],
    [String.raw`"a" in "abc"`, "refused: `in` cannot be applied to string and string"],
    [String.raw`"a".."b"`, "refused: `..` cannot be applied to string and string"],
    [String.raw`1 contains "a"`, "refused: `contains` cannot be applied to int and string"],
    [String.raw`"a" matches 1`, "refused: `matches` cannot be applied to string and int"],
    ["1 ? 2 : 3", "refused: a condition is a bool, found int"],
    [String.raw`"a"[0:1]`, "string a"],
    [String.raw`"abc"["x"]`, "refused: expected a map or an array before this, found string"],
    [String.raw`{"a":1}[1]`, "refused: the key of a map is a text, found int"],
    [String.raw`{"a":1}["a"]`, "int 1"],
    [String.raw`{"a":1}.a`, "int 1"],
    ["[1,2][0]", "int 1"],
    [String.raw`[1,2]["a"]`, "refused: an item of an array has a number, found string"],
    ["nil.x", "refused: expected a map or an array before this, found nil"],
    ["nil?.x", "refused: expected a map or an array before this, found nil"],
    ["nil[0]", "refused: expected a map or an array before this, found nil"],
    ["1 in nil", "refused: `in` cannot be applied to int and nil"],
    ["nil in [nil]", "bool true"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
