import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("first, last, take", () => {
  test.each([
    ["first(a)", "float 3"],
    ["first([])", "nil <nil>"],
    [String.raw`first("abc")`, "refused: first expects an array, found string"],
    ["first(nul)", "nil <nil>"],
    ["first(m)", "nil <nil>"],
    ["last(a)", "float 2"],
    ["last([])", "nil <nil>"],
    [String.raw`last("abc")`, "refused: last expects an array, found string"],
    ["take(a, 2)", "array [3 1]"],
    ["take(a, 10)", "array [3 1 2]"],
    ["take(a, 0)", "array []"],
    ["take(a, -1)", "fails: take expects a count of 0 or more, found a negative one"],
    ["take(a, n)", "fails: take expects an integer, found float"],
    ["take(a, int(n))", "array [3 1 2]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("reverse, uniq, concat, flatten", () => {
  test.each([
    ["reverse(a)", "array [2 1 3]"],
    [String.raw`reverse("abc")`, "refused: reverse expects an array, found string"],
    ["reverse(nul)", "fails: reverse expects an array, found nil"],
    [String.raw`uniq([1, 1.0, 2, "a", "a", [1], [1.0]])`, "array [1 2 a [1]]"],
    ["uniq(sa)", "array [x y]"],
    ["concat(a, sa)", "array [3 1 2 x y x]"],
    ["concat([], [])", "array []"],
    ["concat(a, nul)", "fails: concat expects an array, found nil"],
    ["flatten(m.n.d)", "array [1 2 3]"],
    ["flatten([[1,[2]],3])", "array [1 2 3]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("sort and join", () => {
  test.each([
    ["sort(a)", "array [1 2 3]"],
    [String.raw`sort(a, "desc")`, "array [3 2 1]"],
    ["sort([3, 1.5, 2])", "array [1.5 2 3]"],
    ["sort(sa)", "array [x x y]"],
    ["sort(mixed)", "fails: expected two numbers, texts, times or durations, found string and float"],
    [String.raw`sort(a, "x")`, String.raw`fails: expected "asc" or "desc" as the order, found another string`],
    ["join(sa)", "string xyx"],
    [String.raw`join(sa, "-")`, "string x-y-x"],
    ["join(a)", "fails: join expects an array of texts, found float in it"],
    [String.raw`join([], ",")`, "string "],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("first, last, sort, take of other kinds", () => {
  test.each([
    ["first(n)", "nil <nil>"],
    ["last(m)", "nil <nil>"],
    ["first(mean(a))", "nil <nil>"],
    ["first(t)", "uint 97"],
    [`first("abc")`, "refused: first expects an array, found string"],
    ["sort(n)", "array []"],
    ["sort(m)", "array []"],
    ["sort(t)", "array []"],
    [`sort(n, "down")`, `fails: expected "asc" or "desc" as the order, found another string`],
    ["sort(1)", "refused: sort expects an array, found int"],
    ["take(a, date(ts).Month())", "array [3 1 2]"],
    ["take(a, n)", "fails: take expects an integer, found float"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
