import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("pairs", () => {
  test.each([
    [String.raw`toPairs({"a": 1})`, "array [[a 1]]"],
    [String.raw`fromPairs([["a", 1]])`, "map map[a:1]"],
    [String.raw`fromPairs([["a", 1]])["a"]`, "int 1"],
    ["fromPairs([[1, 2]])[1]", "int 2"],
    ["fromPairs([1])", "fails: fromPairs expects arrays of two, found int"],
    ["fromPairs([[1]])", "fails: fromPairs expects arrays of two, found array"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("keys, values, get", () => {
  test.each([
    [String.raw`keys({"a": 1})`, "array [a]"],
    [String.raw`values({"a": 1})`, "array [1]"],
    ["keys(nul)", "fails: keys expects a map, found nil"],
    ["keys(a)", "fails: keys expects a map, found array"],
    [String.raw`get(m, "k")`, "float 1"],
    [String.raw`get(m, "nope")`, "nil <nil>"],
    ["get(a, 1)", "float 1"],
    ["get(a, 9)", "nil <nil>"],
    ["get(a, -1)", "float 2"],
    [String.raw`get(nul, "a")`, "nil <nil>"],
    ["get(t, 0)", "uint 97"],
    ["get(n, 0)", "nil <nil>"],
    [`get(b, "k")`, "nil <nil>"],
    [`get(duration("1s"), 0)`, "refused: get expects an array or a map, found duration"],
    [`get(a[0], {})`, "nil <nil>"],
    [`get("abc", 0)`, "refused: get expects an array or a map, found string"],
    [`get([date(ts), 1][0], 0)`, "fails: get expects an array or a map, found time"],
    [`get([date(ts), 1][0], "Year")`, "nil <nil>"],
    [`get(t, "k")`, "fails: expected a number as a position, found string"],
    [String.raw`get(a, "x")`, "fails: expected a number as a position, found string"],
    ["get(m, 1)", "fails: the key of a map is a text, found int"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
