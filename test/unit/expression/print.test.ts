import { expect, test } from "vitest";
import { parse } from "../../../engine/expression/syntax/parser.ts";
import { print } from "../../../engine/expression/syntax/print.ts";

test.each([
  ["1+2*3", "1 + 2 * 3"],
  ["(1+2)*3", "(1 + 2) * 3"],
  ["a - (b - c)", "a - (b - c)"],
  ["(a - b) - c", "a - b - c"],
  ["2 ** (3 ** 2)", "2 ** 3 ** 2"],
  ["(2 ^ 3) ^ 2", "(2 ** 3) ** 2"],
  ["-2 ** 2", "-2 ** 2"],
  ["(-2) ** 2", "(-2) ** 2"],
  ["not a == b", "not a == b"],
  ["!(a == b)", "not (a == b)"],
  ["a not in b", "not (a in b)"],
  ["a && (b || c) && d", "a and (b or c) and d"],
  ["(a and b) and c", "a and b and c"],
  ["1 < x <= 5", "1 < x <= 5"],
  ["(a < b) == c", "a < b == c"],
  ["(a == b) < c", "(a == b) < c"],
  ["(a ?? 0) > 1", "(a ?? 0) > 1"],
  ["a ?? b ?? c", "a ?? b ?? c"],
  ["a ? b : (c ? d : e)", "a ? b : (c ? d : e)"],
  ["a ?: b", "a ?: b"],
  ["if a {1} else {2}", "a ? 1 : 2"],
  ["if a {1} else if b {2} else {3}", "a ? 1 : (b ? 2 : 3)"],
  ["let x = 1; x; 2", "let x = 1; x; 2"],
  ["a | filter(.k > 1) | map(#.g)", "map(filter(a, {#.k > 1}), {#.g})"],
  ["a?.b?.[0].c['d'][1:]", `a?.b?.[0].c["d"][1:]`],
  ["{a: 1, 'b': 2, (c): 3,}", `{"a": 1, "b": 2, (c): 3}`],
  ["[0x10, 1_000, .5, 1e3]", "[16, 1000, 0.5, 1000.0]"],
  ['`a"b` // comment', `"a\\"b"`],
  ["nil == true /* c */ or false", "nil == true or false"],
])("%s is printed as %s", (expression, expected) => {
  expect(print(parse(expression))).toBe(expected);
});
