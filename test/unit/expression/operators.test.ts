import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("arithmetic", () => {
  test.each([
    ["1 + 2", "int 3"],
    ["1 + 2.0", "float 3"],
    ["1.0 + 2.0", "float 3"],
    ["7 / 2", "float 3.5"],
    ["6 / 2", "float 3"],
    ["7 % 3", "int 1"],
    ["-7 % 3", "int -1"],
    ["7 % 0", "refused: the remainder of a division by zero"],
    [
      "n % 2",
      "fails: expected two integers, found float and int; the numbers of an event are floats: write int(…) around them",
    ],
    ["int(n) % 2", "int 1"],
    ["2 ** 3", "float 8"],
    ["2 ** 3 ** 2", "float 512"],
    ["-2 ** 2", "float -4"],
    ["2 ^ 10", "float 1024"],
    ["1 / 0", "float +Inf"],
    ["0 / 0", "float NaN"],
    ["-1 / 0", "float -Inf"],
    ["9223372036854775807 + 1", "int -9223372036854775808"],
    ["9223372036854775808", "refused: this integer is too large: the largest is 9223372036854775807"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("sums of texts and mixed kinds", () => {
  test.each([
    [String.raw`"a" + "b"`, "string ab"],
    [String.raw`"a" + 1`, "refused: `+` cannot be applied to string and int"],
    ["t + 1", "fails: expected two numbers, two texts, or a time and a duration, found string and int"],
    ["nil + 1", "refused: `+` cannot be applied to nil and int"],
    ["nul + 1", "fails: expected two numbers, two texts, or a time and a duration, found nil and int"],
    ["n + 1", "float 6"],
    ["n + 1.5", "float 6.5"],
    ["int(n) + 1", "int 6"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("equality", () => {
  test.each([
    ["1 == 1.0", "bool true"],
    ["n == 5", "bool true"],
    ["n == 5.0", "bool true"],
    ["[1] == [1.0]", "bool true"],
    [String.raw`{"a":1} == {"a":1.0}`, "bool false"],
    [String.raw`{"a":1} == {"a":1}`, "bool true"],
    ["1 in [1.0]", "bool true"],
    [String.raw`"a" == 1`, "refused: `==` cannot be applied to string and int"],
    ["t == 1", "bool false"],
    ["nil == nil", "bool true"],
    ["nul == nil", "bool true"],
    ["missing == nil", "bool true"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("order and chains", () => {
  test.each([
    [String.raw`t < "b"`, "bool true"],
    [String.raw`"a" < 1`, "refused: `<` compares two numbers, texts, times or durations, found string and int"],
    ["t < 1", "fails: expected two numbers, texts, times or durations, found string and int"],
    ["nul < 1", "fails: expected two numbers, texts, times or durations, found nil and int"],
    ["1 < 2 < 3", "bool true"],
    ["3 > 2 > 1", "bool true"],
    ["1 < 3 < 2", "bool false"],
    ["1 < 2 == true", "bool true"],
    ["true == 1 < 2", "refused: `==` cannot be applied to bool and int"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("not, and, or", () => {
  test.each([
    ["not true", "bool false"],
    ["not nul", "fails: `not` expects a bool, found nil"],
    ["!b", "bool false"],
    ["not b == no", "bool true"],
    ["not (b == no)", "bool true"],
    ["b ? b and 5 : b", "int 5"],
    ["b and 5", "refused: `and` expects a bool, found int"],
    ["b and n", "float 5"],
    ["no and n", "bool false"],
    ["nul and b", "nil <nil>"],
    ["missing and b", "nil <nil>"],
    ["b or n", "bool true"],
    ["no or n", "float 5"],
    ["nul or b", "fails: `or` expects a bool, found nil"],
    ["n and b", "fails: `and` expects a bool, found float"],
    ["true and 5", "refused: `and` expects a bool, found int"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("??", () => {
  test.each([
    ["missing ?? 5", "int 5"],
    ["n ?? 5", "float 5"],
    ["a ?? 0 > 1", "refused: ?? cannot be followed by another operator: put parentheses around one of the two"],
    ["(missing ?? 0) > 1", "bool false"],
    ["missing ?? nul ?? 7", "int 7"],
    ["1 + missing ?? 2 > 1", "bool true"],
    ["missing ?? 1 + 2", "refused: ?? cannot be followed by another operator: put parentheses around one of the two"],
    ["-missing ?? 3", "int -3"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("ranges", () => {
  test.each([
    ["1..3", "array [1 2 3]"],
    ["3..1", "array []"],
    ["1..1", "array [1]"],
    ["n..7", "array [5 6 7]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("in", () => {
  test.each([
    [String.raw`"x" in m`, "bool false"],
    [String.raw`"k" in m`, "bool true"],
    [String.raw`"x" in sa`, "bool true"],
    ["1 in a", "bool true"],
    [String.raw`"1" in a`, "bool false"],
    ["nul in a", "bool false"],
    ["nil in mixed", "bool true"],
    [String.raw`"x" in nul`, "bool false"],
    [String.raw`"x" in t`, "fails: expected an array or a map after `in`, found string"],
    [String.raw`"x" in n`, "fails: expected an array or a map after `in`, found float"],
    ["1 in m", "fails: the key of a map is a text, found int"],
    [String.raw`"x" not in sa`, "bool false"],
    [String.raw`not ("x" in sa)`, "bool false"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("tests of texts", () => {
  test.each([
    [String.raw`t contains "b"`, "bool true"],
    [String.raw`t not contains "b"`, "bool false"],
    [String.raw`t startsWith "ab"`, "bool true"],
    [String.raw`t endsWith "bc"`, "bool true"],
    [String.raw`t not startsWith "a"`, "bool false"],
    [String.raw`t matches "^a.c$"`, "bool true"],
    [String.raw`t matches "B"`, "bool false"],
    [String.raw`t not matches "^a"`, "bool false"],
    ["t matches nul", "bool false"],
    [String.raw`nul contains "a"`, "bool false"],
    ["t contains nul", "bool false"],
    [String.raw`n contains "a"`, "fails: `contains` expects two texts, found float and string"],
    ["t contains n", "fails: `contains` expects two texts, found string and float"],
    [String.raw`t matches "("`, "refused: this is not a pattern of RE2: error parsing regexp: missing closing ): `(`"],
    ["t matches t", "bool true"],
    [String.raw`s matches "h.llo"`, "bool true"],
    [String.raw`"a\nb" matches "a.b"`, "bool false"],
    [String.raw`s matches "\\p{L}+"`, "bool true"],
    [String.raw`"x" matches "(?i)X"`, "bool true"],
    [
      String.raw`"x" matches "(?=x)"`,
      "refused: this is not a pattern of RE2: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
    ],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("equality of arrays and maps", () => {
  test.each([
    ["a == [3,1,2]", "bool true"],
    ["a != [3,1,2]", "bool false"],
    ["m == m", "bool true"],
    [String.raw`ms[0] == {"k":1.0,"g":"a"}`, "bool true"],
    [String.raw`ms[0] == {"k":1,"g":"a"}`, "bool false"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("signs", () => {
  test.each([
    ["+n", "float 5"],
    ["-n", "float -5"],
    ["-t", "fails: expected a number, found string"],
    ["+t", "string abc"],
    ["--n", "float 5"],
    ["not not b", "bool true"],
    ["!!b", "bool true"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("combinations", () => {
  test.each([
    ["1 not in [2]", "bool true"],
    [String.raw`n == 5 && t == "abc" || false`, "bool true"],
    ["n > 3 and n < 10 or nul", "bool true"],
    [String.raw`n == 5 and t == "abc" and nul`, "nil <nil>"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("kinds that are never equal", () => {
  test.each([
    [String.raw`"abc" == ["abc"]`, "refused: `==` cannot be applied to string and array"],
    [String.raw`[1] == ["a"]`, "bool false"],
    ["[] == {}", "refused: `==` cannot be applied to array and map"],
    ["true == 1", "refused: `==` cannot be applied to bool and int"],
    ["1 == nil", "bool false"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("?? and empty texts", () => {
  test.each([[String.raw`"" ?? "x"`, "string "]])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("and and or with what is known", () => {
  test.each([
    ["n or true", "bool true"],
    ["true or n", "bool true"],
    ["(n and t) or 1 == 1", "bool true"],
    ["n and not true", "bool false"],
    ["nul and false", "bool false"],
    ["n and true", "float 5"],
    ["false or t", "string abc"],
    ["n and true and t", "fails: `and` expects a bool, found float"],
    ["false or false", "bool false"],
    ["true and (false or true)", "bool true"],
    [`n or "a" == "a"`, "bool true"],
    ["n or 1 < 2", "fails: `or` expects a bool, found float"],
    ["true or foobar(1)", "bool true"],
    ["no and foobar(t)", "bool false"],
    ["b and foobar(t)", "fails: unknown function foobar"],
    ["map([], foobar(#))", "array []"],
    ["map(a, foobar(#))", "fails: unknown function foobar"],
    ["map(a, foobar(# + true))", "refused: `+` cannot be applied to unknown and bool"],
    ["foobar(1) or true", "refused: unknown function foobar"],
    ["1 or true", "refused: `or` expects a bool, found int"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("bytes", () => {
  test.each([
    ["t[0] + 1", "int 98"],
    ["t[0] + t[0]", "int 194"],
    ["t[0] - 97.5", "float -0.5"],
    ["2 * t[0] % 10", "int 4"],
    ["t[0] / 2", "float 48.5"],
    ["t[0] ** 1", "float 97"],
    ["-t[0]", "int -97"],
    ["t[0] == 97", "bool true"],
    ["97.0 == t[0]", "bool true"],
    ["t[0] == t[0]", "bool true"],
    ["t[0] == t", "bool false"],
    ["t[0] < 98 and t[0] < t[1]", "bool true"],
    ["t[0] in [97]", "bool true"],
    ["t[0] in [1, 2]", "bool false"],
    ["a[t[0] - 97]", "float 3"],
    ["a[t[0]]", "fails: index 97 is outside an array of 3"],
    ["bitand(t[0], 1)", "int 1"],
    ["int(t[0])", "int 97"],
    ["float(t[0])", "float 97"],
    ["abs(t[0])", "int 97"],
    ["string(t[0])", "string 97"],
    ["toJSON([t[0]])", "string [\n  97\n]"],
    ["uniq([t[0], 97, t[1], 97.0])", "array [97 98]"],
    ["sum(t)", "int 294"],
    ["reduce(t, #acc + #)", "int 294"],
    ["sort([t[0], 1, 200.5])", "array [1 97 200.5]"],
    ["groupBy(t, #)[t[0]]", "array [97]"],
    ["keys(groupBy(t + t, #))", "array [97 98 99]"],
    ["type(map(t, #)[0])", "string uint"],
    ["t[0] + t", "fails: expected two numbers, two texts, or a time and a duration, found int and string"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});

describe("the kinds of operands that are known", () => {
  test.each([
    [
      "1..2.5",
      "refused: `..` cannot be applied to int and float: it takes integers, and the numbers of an event are floats: write int(…) around them",
    ],
    [
      "1..n / 2",
      "refused: `..` cannot be applied to int and float: it takes integers, and the numbers of an event are floats: write int(…) around them",
    ],
    ["1..a[0]", "array [1 2 3]"],
    ["min(1, 2)..2", "array [1 2]"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
