import { expect, test } from "vitest";
import { codes, type Code } from "../../../reconciler/language/codes.ts";
import { nearest, pathText, printable, problem } from "../../../reconciler/language/problem.ts";

test("codes are upper snake case", () => {
  for (const code of Object.keys(codes)) expect(code).toMatch(/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/);
});

test("a problem has its code and the severity of the table", () => {
  for (const [code, { severity }] of Object.entries(codes)) {
    const place = { file: "a.yaml", line: 1, column: 2 };
    expect(problem(code as Code, place, { expected: "a", found: "b" })).toMatchObject({ ...place, code, severity });
  }
});

test.each([
  [["sink", "mapping", 0, "column_type"], "sink.mapping[0].column_type"],
  [[], ""],
  [["a\nb"], "a\\u000ab"],
])("the path %j is written %s", (path, text) => {
  expect(pathText(path)).toBe(text);
});

test("text of a stranger stays on one line and short", () => {
  expect(printable("a\r\nb\u001b[31m\u202e")).toBe("a\\u000d\\u000ab\\u001b[31m\\u202e");
  expect(printable("x".repeat(100))).toBe(`${"x".repeat(60)}…`);
});

test.each([
  ["tranforms", "transforms"],
  ["soruces", "sources"],
  ["SINK", "sink"],
  ["zebra", undefined],
  ["x".repeat(1000), undefined],
])("the word nearest to %s is %s", (word, near) => {
  expect(nearest(word, ["sources", "transforms", "sink"])).toBe(near);
});
