import { RE2JS } from "re2js";
import { describe, expect, test } from "vitest";
import { CompileBudget, MOST_INSTRUCTIONS } from "../../../engine/expression/values/compile-budget.ts";
import { patternSize } from "../../../engine/expression/values/pattern-size.ts";
import { LARGEST_PATTERN, LONGEST_PATTERN } from "../../../engine/expression/values/patterns.ts";
import { inFilter } from "./evaluate.ts";

describe("the size of a pattern is about that of its program", () => {
  test.each([
    "a".repeat(3000),
    ".{1000}".repeat(20),
    "(ab){500}",
    "((a{10}b){10}c){10}",
    "(?:x|yy){1,300}",
    "(?i:k){30}",
    "(?P<name>ab){30}",
    "[[:alpha:]]{100}",
    "[]a]{100}",
    "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$",
    String.raw`\Qa{1000}b\E{30}`,
    String.raw`\x{1F600}{50}\.{50}`,
    "(?i)ab{40}",
    "a{2,}b{0,40}",
  ])("%s", (source) => {
    const program = RE2JS.compile(source).programSize();
    expect(patternSize(source)).toBeGreaterThan(0.6 * program - 10);
    expect(patternSize(source)).toBeLessThan(6 * program);
  });
});

test.each([
  ["Unicode classes", String.raw`\pL`.repeat(1000)],
  ["Unicode classes in a class", String.raw`[^\pL\p{Nd}]`.repeat(500)],
  ["ranges without case", `(?i)[${"B-\u{1e942}".repeat(15)}]`],
  ["ranges in hex without case", String.raw`(?i)[\x{42}-\x{1e942}]`.repeat(15)],
  ["nested repetitions", "(?:(?:(?:.{9}){9}){9}){1}".repeat(70)],
])("%s weigh more than their instructions", (_, source) => {
  expect(patternSize(source)).toBeGreaterThan(LARGEST_PATTERN);
});

test("what is no pattern has a size too", () => {
  for (const source of ["", ")", "(((", "[", "[^", "{3}", "a{", "\\", "(?", "\\Q", "*", "a{99999999999999999999}"]) {
    expect(patternSize(source)).toBeGreaterThan(0);
  }
});

test("the longest texts that are no patterns are measured at once", () => {
  for (const part of ["(", "[", "\\p{", "a{", "(?i", "[a-", "\\Q"])
    patternSize(part.repeat(LONGEST_PATTERN / part.length));
});

describe("patterns that are ordinary", () => {
  test.each([
    `s matches "^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+[.][a-zA-Z]{2,}$"`,
    String.raw`s matches "^\\p{L}{1,255}$"`,
    `s matches "^.{1,1000}$"`,
    `s matches "(?i)${Array.from({ length: 1200 }, (_, n) => `word${n}`).join("|")}"`,
  ])("%s compile", (expression) => {
    expect(inFilter(expression)).toMatch(/^bool /);
  });
});

describe("a pattern beyond the limit", () => {
  const large = ".{1000}".repeat(60);

  test("is refused where it is written", () => {
    expect(inFilter(`s matches "${large}"`)).toMatch(/^refused: the pattern is too large: expected at most 50000/);
  });

  test("fails where an event makes it", () => {
    expect(inFilter(`s matches repeat(".{1000}", 60)`)).toMatch(/^fails: the pattern is too large/);
  });

  test("counts against the budget of the evaluation", () => {
    expect(inFilter(`any(1..10, s matches repeat(".{1000}", 10) + string(#))`)).toBe(
      "fails: the evaluation needs more time or memory than one record may use",
    );
  });
});

test("the patterns of a file have a limit together", () => {
  const budget = new CompileBudget();
  for (let spent = 0; spent < MOST_INSTRUCTIONS; spent += LARGEST_PATTERN) {
    expect(budget.spend(LARGEST_PATTERN)).toBeUndefined();
  }
  expect(budget.spend(1)).toContain("too large together");
});
