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

test("a table is as wide as the terminal: its widest columns are cut, and a pipe gets all", () => {
  const rows = [["a", "x".repeat(60), "y".repeat(30)]];
  const lines = (width?: number): string[] =>
    columns(["ID", "REASON", "ERROR"], rows, width === undefined ? {} : { width }).split("\n");
  expect(lines()[1]).toBe(`a   ${"x".repeat(60)}  ${"y".repeat(30)}`);
  expect(lines(200)).toEqual(lines());
  const [heading, row] = lines(50);
  expect(row).toBe(`a   ${"x".repeat(21)}…  ${"y".repeat(21)}…`);
  expect(row).toHaveLength(50);
  expect(heading).toBe(`ID  REASON${" ".repeat(18)}ERROR`);
  // A terminal that is narrower still wraps lines.
  expect(lines(10)[1]).toBe(`a   ${"x".repeat(15)}…  ${"y".repeat(15)}…`);
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
