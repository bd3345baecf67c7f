import { describe, expect, test } from "vitest";
import { indexIn, isQuickSearch, lastIndexIn } from "../../../engine/expression/values/search.ts";
import { readers } from "../../../engine/sinks/clickhouse/encode/values.ts";
import { inTransform } from "./evaluate.ts";
import { Random } from "../../support/random.ts";

test("a search in long texts finds what JavaScript's own finds", () => {
  const random = new Random(3);
  const letters = (count: number): string => Array.from({ length: count }, () => random.pick("a", "a", "b")).join("");
  for (let round = 0; round < 50; round += 1) {
    const part = letters(33 + random.below(40));
    const texts = [
      letters(31_000 + random.below(3_000)),
      part.slice(0, random.below(part.length)),
      random.pick(part, ""),
      letters(random.below(50)),
    ];
    const text = [...random.shuffled(texts), random.pick(part, "")].join("");
    expect(isQuickSearch(text, part)).toBe(false);
    const from = random.pick(0, random.below(text.length));
    expect(indexIn(text, part, from)).toBe(text.indexOf(part, from));
    expect(lastIndexIn(text, part)).toBe(text.lastIndexOf(part));
  }
});

/** Of texts like these each place is like the beginning of the part, up to its middle. */
const text = "a".repeat(1_000_000);
const part = `${"a".repeat(250_000)}b${"a".repeat(250_000)}`;

describe("takes a time that grows with the text, whoever wrote it:", () => {
  const event = {
    text,
    part,
    zeros: `${"0".repeat(1_000_000)}x`,
    nines: `${"9".repeat(1_000_000)}x`,
    hex: `0x${"f".repeat(1_000_000)}`,
  };
  const title = "%s";
  const ends = (expression: string, expected: string): void =>
    expect(inTransform(expression, event)).toContain(expected);

  test.each([
    ["text contains part", "bool false"],
    ["lastIndexOf(text, part)", "int -1"],
    ["toInt(zeros)", "int 0"],
    ["float(nines)", "fails"],
  ])(title, ends);

  test.each([
    ["containsStr(text, part)", "bool false"],
    ["indexOf(text, part)", "int -1"],
    ["len(split(text, part))", "int 1"],
    ["len(replace(text, part, ''))", "int 1000000"],
    ["int(zeros)", "fails"],
    ["toFloat(hex)", "float 0"],
  ])(title, { tags: ["rest"] }, ends);

  test("a text of digits that is no number, in an array of numbers", () => {
    expect(readers.float(event.nines)).toBeUndefined();
    expect(readers.float(`${"9".repeat(300)}.${"0".repeat(1_000_000)}x`)).toBeUndefined();
  });
});
