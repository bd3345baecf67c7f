import { describe, expect, test } from "vitest";
import { columns, facts, printable, printableLines } from "../../../reconciler/cli/invocation/terminal.ts";

describe("what a terminal would obey is made visible", () => {
  test.each([
    ["a colour", "\u001b[31mred", "\\u001b[31mred"],
    ["a window title", "\u001b]0;x\u0007", "\\u001b]0;x\\u0007"],
    ["a C1 control", "\u009b2J", "\\u009b2J"],
    ["a carriage return", "good\rbad", "good\\u000dbad"],
    ["a direction mark", "abc\u202Etxt", "abc\\u202etxt"],
    ["a line end", "a\nb", "a\\nb"],
    ["a tab", "a\tb", "a\\tb"],
    ["a tag character of two units", "\u{E0041}", "\\udb40\\udc41"],
    ["letters of any language stay", "žluťoučký 馬 🐎", "žluťoučký 馬 🐎"],
  ])("%s", (_, text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  test("lines stay lines where a text has several", () => {
    expect(printableLines("a\nb\u001b[2J")).toBe("a\nb\\u001b[2J");
  });
});

test("columns are as wide as their widest cell, without blanks at the end", () => {
  expect(
    columns(
      ["ID", "NAME"],
      [
        ["a", "Long name"],
        ["long-id", "b\u001b"],
      ],
    ),
  ).toBe(["ID       NAME", "a        Long name", "long-id  b\\u001b"].join("\n"));
});

test("facts without a value are left out", () => {
  expect(
    facts([
      ["status", "Running"],
      ["failed because", undefined],
      ["rows", 0],
      ["seen", null],
      ["text", ""],
    ]),
  ).toBe(["status: Running", "rows:   0"].join("\n"));
});
