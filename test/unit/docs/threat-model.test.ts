import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("behind each attack there are tests, and each test of an attack is named", () => {
  const [, table = ""] = readFileSync("docs/threat-model.md", "utf8").split("## What they cannot do");
  const rows = table.split("\n").filter((line) => line.startsWith("|") && !/^\| (-+|who +\|)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  const files = readdirSync("test/security").filter((name) => name.endsWith(".test.ts"));
  const named = rows.map((row) => row.match(/test\/security\/[\w-]+\.test\.ts/g) ?? []);
  expect(rows.filter((_row, index) => named[index]!.length === 0)).toEqual([]);
  expect([...new Set(named.flat())].toSorted()).toEqual(files.map((name) => `test/security/${name}`).toSorted());
});
