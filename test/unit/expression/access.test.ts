import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("names", () => {
  test.each([["missing", "nil <nil>"]])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("members and optional chains", () => {
  test.each([
    ["missing?.x", "nil <nil>"],
    ["missing.x", "fails: expected a map or an array before a key, found nil; ?. yields nil instead"],
    ["missing?.x.y", "nil <nil>"],
    ["missing?.x.y.z", "nil <nil>"],
    ["m.k", "float 1"],
    ["m.missing", "nil <nil>"],
    ["m.missing.x", "fails: expected a map or an array before a key, found nil; ?. yields nil instead"],
    ["m.missing?.x", "nil <nil>"],
    [String.raw`m["k"]`, "float 1"],
    [String.raw`m?.["k"]`, "float 1"],
    [String.raw`missing?.["k"]`, "nil <nil>"],
    ["missing?.[0]", "nil <nil>"],
    ["missing?.a[0]", "fails: expected a map or an array before an index, found nil; ?. yields nil instead"],
    ["m.n.d[1][1][0]", "float 3"],
    ["m.n?.d?.[0]", "float 1"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("indexes", () => {
  test.each([
    ["a[0]", "float 3"],
    ["a[-1]", "float 2"],
    ["a[3]", "fails: index 3 is outside an array of 3"],
    ["a[-4]", "fails: index -4 is outside an array of 3"],
    ["a[1.9]", "float 1"],
    ["a[n]", "fails: index 5 is outside an array of 3"],
    [String.raw`a["x"]`, "fails: expected a number as a position, found string"],
    ["s[0]", "uint 104"],
    ["s[1]", "uint 195"],
    ["t[1]", "uint 98"],
    ["t[5]", "fails: index 5 is outside the text"],
    [String.raw`"abc"[1]`, "refused: expected a map or an array before this, found string"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("slices", () => {
  test.each([
    ["a[1:]", "array [1 2]"],
    ["a[:1]", "array [3]"],
    ["a[1:2]", "array [1]"],
    ["a[:-1]", "array [3 1]"],
    ["a[-2:]", "array [1 2]"],
    ["a[5:]", "array []"],
    ["a[2:1]", "array []"],
    ["a[:]", "array [3 1 2]"],
    ["s[1:3]", "string é"],
    ["s[0:1]", "string h"],
    ["t[1:]", "string bc"],
    ["t[-2:]", "string bc"],
    ["t[1:1]", "string "],
    ["n[1:2]", "fails: expected an array or a text to slice, found float"],
    ["nul[1:2]", "fails: expected an array or a text to slice, found nil"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("the whole record", () => {
  test.each([
    [String.raw`$env["k"]`, "nil <nil>"],
    [String.raw`$env["t"]`, "string abc"],
    ["$env.t", "string abc"],
    [String.raw`"t" in $env`, "bool true"],
    [String.raw`"nope" in $env`, "bool false"],
    ["len($env)", "int 21"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("members of what has none", () => {
  test.each([
    ["a.x", "fails: expected a number as a position, found string"],
    ["t.x", "fails: expected a number as a position, found string"],
    ["n.x", "fails: expected a map or an array before a key, found float"],
    ["b.x", "fails: expected a map or an array before a key, found bool"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("operators as names of members", () => {
  test.each([
    ["m.in", "nil <nil>"],
    ["m.not", "nil <nil>"],
    ["x.y.z", "fails: expected a map or an array before a key, found nil; ?. yields nil instead"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("unknown functions and names", () => {
  test.each([
    ["foo()", "refused: unknown function foo"],
    ["foo", "nil <nil>"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("functions without a call", () => {
  test.each([["len", "nil <nil>"]])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
