import { describe, expect, test } from "vitest";
import { inFilter } from "./evaluate.ts";

describe("what is no expression", () => {
  test.each([
    ["true.x", "refused: expected a map or an array before this, found bool"],
    ["1.5.x", "refused: expected a map or an array before this, found float"],
    ["#", "refused: expected a value, found this"],
    [".x", "refused: expected a value, found this"],
    ["a b", "refused: expected an operator or the end of the expression, found this"],
    ["a +", "refused: expected a value, the expression ends"],
    ["+", "refused: expected a value, the expression ends"],
    ["(", "refused: expected a value, the expression ends"],
    ["(1", "refused: expected `)`, the expression ends"],
    ["[1", "refused: expected `,`, the expression ends"],
    ["{a", "refused: expected `:`, the expression ends"],
    ["{a:}", "refused: expected a value, found this"],
    ["a.", "refused: expected the name of a field, the expression ends"],
    ["a?.", "refused: expected the name of a field, the expression ends"],
    ["a[", "refused: expected a value, the expression ends"],
    ["a[1", "refused: expected `]`, the expression ends"],
    ["a[1:2", "refused: expected `]`, the expression ends"],
    ["1 2", "refused: expected an operator or the end of the expression, found this"],
    ["let", "refused: expected the name of a variable, the expression ends"],
    ["let x", "refused: expected `=`, the expression ends"],
    ["let x =", "refused: expected a value, the expression ends"],
    ["let x = 1", "refused: expected `;`, the expression ends"],
    ["let x = 1;", "refused: expected a value, the expression ends"],
    ["if", "refused: expected a value, the expression ends"],
    ["else", "refused: expected a value, found this"],
    ["not", "refused: expected a value, the expression ends"],
    ["not in", "refused: expected a value, found this"],
    [
      "a not",
      "refused: expected an operator (`not` between two values needs in, contains, matches, startsWith or endsWith), found this",
    ],
    [
      "a not b",
      "refused: expected an operator (`not` between two values needs in, contains, matches, startsWith or endsWith), found this",
    ],
    [
      "a not == b",
      "refused: expected an operator (`not` between two values needs in, contains, matches, startsWith or endsWith), found this",
    ],
    ["1 ? 2", "refused: expected `:`, the expression ends"],
    ["1 ? 2 :", "refused: expected a value, the expression ends"],
    ["@", "refused: this character has no meaning here"],
    ["a @ b", "refused: this character has no meaning here"],
    ["\"a\" + 'b' + `c`", "string abc"],
    ["1 +/* x */2", "int 3"],
    ["é", "nil <nil>"],
    ["日本 == nil", "bool true"],
  ])("%s is %s", (expression, expected) => {
    expect(inFilter(expression)).toBe(expected);
  });
});
