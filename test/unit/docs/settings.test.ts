import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { corrections, reviewedVersion, shown } from "../../../engine/sinks/clickhouse/insert/reviewed-settings.ts";

const page = readFileSync("docs/delivery-protocol.md", "utf8");
const section = page.split("### Settings of the server")[1]!.split("\n### ")[0]!;
const table = [...section.matchAll(/^\| (`\w+`[^|]*) \|[^|]*\| ([^|]*?) *\|$/gm)].flatMap(([, names = "", done = ""]) =>
  [...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => [name, done] as const),
);

test("the table of settings has those that are corrected, with their values, and those that are shown", () => {
  const expected = [
    ...Object.entries(corrections).map(([name, value]) => [name, value === "0" ? "sent as 0" : `sent as \`${value}\``]),
    ...Object.keys(shown).map((name) => [name, "`ProfileSettings`"]),
  ];
  expect(new Set(table.map((row) => row.join(": ")))).toEqual(new Set(expected.map((row) => row.join(": "))));
  expect(section).toContain(`ClickHouse ${reviewedVersion}`);
});
