import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("all, any, none, one", () => {
  test.each([
    ["all(a, # > 0)", "bool true"],
    ["all(a, # > 1)", "bool false"],
    ["all([], # > 1)", "bool true"],
    ["any(a, # > 2)", "bool true"],
    ["none(a, # > 5)", "bool true"],
    ["one(a, # == 1)", "bool true"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("filter and map", () => {
  test.each([
    ["filter(a, # > 1)", "array [3 2]"],
    ["filter(ms, .k > 1)", "array [map[g:b k:2] map[g:a k:3]]"],
    ["filter(ms, {.k > 1})", "array [map[g:b k:2] map[g:a k:3]]"],
    ["len(filter(a, # > 1))", "int 2"],
    ["len(filter(m, b))", "int 3"],
    ["len(filter(m, no))", "int 0"],
    ["len(filter(n, b))", "fails: filter expects an array, found float"],
    ["len(filter(a, n))", "fails: the predicate of filter is a bool, found float"],
    ["len(filter(m, # == 1))", "fails: expected an array, found map: its values have no index; use values(…)"],
    ["filter(m, b)", "fails: filter expects an array, found map"],
    ["map(a, # + 1)", "array [4 2 3]"],
    ["map(ms, .g)", "array [a b a]"],
    ["map(a, #index)", "array [0 1 2]"],
    ["map(1..3, # * #index)", "array [0 2 6]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("find", () => {
  test.each([
    ["find(a, # < 3)", "float 1"],
    ["find(a, # > 5)", "nil <nil>"],
    ["findIndex(a, # < 3)", "int 1"],
    ["findIndex(a, # > 5)", "nil <nil>"],
    ["findLast(a, # < 3)", "float 2"],
    ["findLastIndex(a, # < 3)", "int 2"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("count", () => {
  test.each([
    ["count(a, # > 1)", "int 2"],
    ["count([true, false, true])", "int 2"],
    ["count(a)", "fails: the predicate of count is a bool, found float"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("groupBy and sortBy", () => {
  test.each([
    ["groupBy(ms, .g)", "map map[a:[map[g:a k:1] map[g:a k:3]] b:[map[g:b k:2]]]"],
    ["groupBy([1, 1.0, 2], #)", "map map[1:[1] 2:[2] 1:[1]]"],
    ["groupBy(ms, .g).a", "array [map[g:a k:1] map[g:a k:3]]"],
    [String.raw`groupBy(ms, .g)["b"]`, "array [map[g:b k:2]]"],
    ["len(groupBy(ms, .g))", "int 2"],
    ["groupBy(a, [#])", "fails: the key of a group is a text, number or bool, found array"],
    [String.raw`sortBy(ms, .k, "desc")`, "array [map[g:a k:3] map[g:b k:2] map[g:a k:1]]"],
    ["sortBy(ms, -.k)", "array [map[g:a k:3] map[g:b k:2] map[g:a k:1]]"],
    [String.raw`sortBy(ms, .g, "x")`, String.raw`fails: expected "asc" or "desc" as the order, found another string`],
    ["sortBy(mixed, #)", "fails: expected two numbers, texts, times or durations, found string and float"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("reduce", () => {
  test.each([
    ["reduce(a, #acc + #)", "float 6"],
    ["reduce(a, #acc + #, 10)", "float 16"],
    ["reduce([], #acc + #)", "fails: reduce of an empty array needs a first value"],
    ["reduce([], #acc + #, 1)", "int 1"],
    ["reduce(a, #acc + #index, 0)", "int 3"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("collections that are no arrays", () => {
  test.each([
    ["map(m, 1)", "array [1 1 1]"],
    ["count(m, true)", "int 3"],
    ["all(m, true)", "bool true"],
    ["any(m, # == 1)", "fails: expected an array, found map: its values have no index; use values(…)"],
    ["none(em, true)", "bool true"],
    ["filter(m, true)", "fails: filter expects an array, found map"],
    ["filter(em, true)", "array []"],
    ["map(nul, 1)", "fails: map expects an array, found nil"],
    ["map(n, 1)", "fails: map expects an array, found float"],
    [String.raw`map("abc", #)`, "array [97 98 99]"],
    [`reduce("é", #acc + #)`, "int 364"],
    [`sum(t)`, "int 294"],
    [`filter("", true)`, "array []"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("predicates in predicates", () => {
  test.each([
    ["map(a, map(sa, #))", "array [[x y x] [x y x] [x y x]]"],
    ["map(a, let x = #; x + 1)", "array [4 2 3]"],
    [String.raw`filter(ms, .k > 1 and .g == "a")`, "array [map[g:a k:3]]"],
    [String.raw`ms | filter(.k > 1) | map(.g) | join(",")`, "string b,a"],
    ["map(ms, .k)[0]", "float 1"],
    ["filter(a, # > 1)[0]", "float 3"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("predicates that are no bool", () => {
  test.each([
    ["filter(a, 1)", "refused: the predicate of filter is a bool, found int"],
    ["all(a, nil)", "refused: the predicate of all is a bool, found nil"],
    ["any(mixed, #)", "fails: the predicate of any is a bool, found float"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("combinations", () => {
  test.each([
    [String.raw`find(ms, .g == "b").k`, "float 2"],
    ["any(ms, any([1], # == 1))", "bool true"],
    ["map(filter(ms, .k > 1), .k + 1)", "array [3 4]"],
    ["reduce(1..5, #acc * #)", "int 120"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("over ranges", () => {
  test.each([
    ["sum(1..1000)", "int 500500"],
    ["1..n | len()", "int 5"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
