import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("every promise names tests that are there, or says that nothing shows it", () => {
  const rows = readFileSync("docs/delivery-guarantees.md", "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\| (-+|fault) /.test(line));
  expect(rows.length).toBeGreaterThan(30);
  for (const row of rows) {
    const shown = row.split(" | ").at(-1)!;
    const files = shown.match(/test\/[\w./-]+\.ts/g) ?? [];
    expect(
      files.filter((file) => !existsSync(file)),
      row,
    ).toEqual([]);
    expect(files.length > 0 || shown.includes("not "), row).toBe(true);
  }
});
