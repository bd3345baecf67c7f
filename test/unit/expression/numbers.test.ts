import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("rounding", () => {
  test.each([
    ["abs(-5)", "int 5"],
    ["abs(-5.5)", "float 5.5"],
    ["abs(neg)", "float 3.7"],
    [String.raw`abs("a")`, "refused: abs expects a number, found string"],
    ["abs(nul)", "fails: abs expects a number, found nil"],
    ["ceil(1.2)", "float 2"],
    ["ceil(1)", "float 1"],
    ["floor(neg)", "float -4"],
    ["round(2.5)", "float 3"],
    ["round(-2.5)", "float -3"],
    ["round(0.49999999999999994)", "float 0"],
    ["round(1)", "float 1"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("max, min, mean, median, sum", () => {
  test.each([
    ["max(1, 2, 3.5)", "float 3.5"],
    ["max(a)", "float 3"],
    ["max(a, 10)", "int 10"],
    ["max([1,[5]])", "int 5"],
    ["min(a)", "float 1"],
    ["min(1)", "int 1"],
    [String.raw`min("a")`, "refused: min expects a number or an array of numbers, found string"],
    [String.raw`min("a", 1)`, "refused: min expects a number or an array of numbers, found string"],
    ["max(nul)", "nil <nil>"],
    ["max([])", "nil <nil>"],
    ["min([])", "nil <nil>"],
    ["mean([])", "float 0"],
    ["mean(a)", "float 2"],
    ["mean(1,2)", "float 1.5"],
    ["median([])", "float 0"],
    ["median([1,2,3,4])", "float 2.5"],
    ["median(a)", "float 2"],
    ["sum([])", "int 0"],
    ["sum(a)", "float 6"],
    ["sum([1,2])", "int 3"],
    ["sum([1,2.5])", "float 3.5"],
    ["sum(ms, .k)", "float 6"],
    [String.raw`sum(["a"])`, "fails: expected two numbers, two texts, or a time and a duration, found string and int"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("int and float", () => {
  test.each([
    [String.raw`int("42")`, "int 42"],
    [String.raw`int("-42")`, "int -42"],
    [String.raw`int("+42")`, "int 42"],
    [String.raw`int("4.2")`, "fails: int expects a text of digits, found another text"],
    [String.raw`int(" 42")`, "fails: int expects a text of digits, found another text"],
    [String.raw`int("")`, "fails: int expects a text of digits, found another text"],
    [String.raw`int("x")`, "fails: int expects a text of digits, found another text"],
    ["int(2.9)", "int 2"],
    ["int(-2.9)", "int -2"],
    ["int(n)", "int 5"],
    ["int(true)", "refused: int expects a number, a text or a duration, found bool"],
    ["int(nul)", "fails: int expects a number, a text or a duration, found nil"],
    [String.raw`int("9223372036854775808")`, "fails: int: the number in the text does not fit 64 bits"],
    [String.raw`int("0x10")`, "fails: int expects a text of digits, found another text"],
    [String.raw`int("1_000")`, "fails: int expects a text of digits, found another text"],
    [String.raw`float("1.5")`, "float 1.5"],
    [String.raw`float("1e3")`, "float 1000"],
    [String.raw`float("x")`, "fails: float expects a text that is a number, found another text"],
    [String.raw`float("")`, "fails: float expects a text that is a number, found another text"],
    [String.raw`float("inf")`, "float +Inf"],
    [String.raw`float("NaN")`, "float NaN"],
    [String.raw`float("0x1p4")`, "float 16"],
    [String.raw`float("1_0")`, "float 10"],
    ["float(1)", "float 1"],
    ["float(nul)", "fails: float expects a number, a text or a duration, found nil"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("bits", () => {
  test.each([
    ["bitand(6, 3)", "int 2"],
    ["bitor(6, 3)", "int 7"],
    ["bitxor(6, 3)", "int 5"],
    ["bitnand(6, 3)", "int 4"],
    ["bitnot(6)", "int -7"],
    ["bitshl(1, 63)", "int -9223372036854775808"],
    ["bitshl(1, 64)", "int 0"],
    ["bitshl(1, 100)", "int 0"],
    ["bitshl(1, -1)", "fails: a shift by a negative number of bits"],
    ["bitshr(-8, 1)", "int -4"],
    ["bitshr(-8, 70)", "int -1"],
    ["bitushr(-8, 1)", "int 9223372036854775804"],
    ["bitushr(-8, 70)", "int 0"],
    ["bitand(n, 1)", "fails: bitand expects an integer, found float"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("max, min, mean, median of other kinds", () => {
  test.each([
    [`min(duration("3s"), duration("2s"))`, "duration 2s"],
    [`max([duration("3s"), duration("2s")])`, "duration 3s"],
    [`max(duration("3s"), 2)`, "fails: expected two numbers, texts, times or durations, found int and duration"],
    [`mean(duration("1s"), duration("3s"))`, "float 2e+09"],
    [`median([duration("1s"), 1])`, "float 5.000000005e+08"],
    ["mean(date(ts).Weekday())", "float 5"],
    ["min(date(ts).Month())", "month March"],
    ["max([date(ts).Month(), 4])", "int 4"],
    ["max(t)", "string abc"],
    ["min(b)", "bool true"],
    ["min([date(ts), 1][0])", "time 2024-03-01 10:20:30 +0000 UTC"],
    ["min(date(ts))", "refused: min expects a number or an array of numbers, found time"],
    ["min([date(ts), 1][0], 1)", "fails: min expects numbers and arrays of numbers, found time"],
    ["mean([date(ts)])", "fails: mean expects numbers and arrays of numbers, found time"],
    ["mean(1, t)", "fails: mean expects numbers and arrays of numbers, found string"],
    ["max(map(t, #))", "uint 99"],
    ["mean(map(t, #))", "float 98"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
