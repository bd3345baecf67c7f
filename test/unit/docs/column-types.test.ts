import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { canFeed, isProblem, parseColumnType } from "../../../engine/language.ts";
import { parseSeconds, parseTime } from "../../../engine/sinks/clickhouse/encode/times.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";

const fields: readonly FieldType[] = ["string", "bool", "int", "uint", "float", "array", "map"];

const page = readFileSync("docs/reference/column-types.md", "utf8");

/** Each type that the page lists, with the fields that it says feed it. */
const rows = [...(page.split("\n## ")[0] ?? "").matchAll(/^\| (`[^|]*) \| ([^|]*) \|/gm)].flatMap(
  ([, types = "", feeding = ""]) =>
    [...types.matchAll(/`([^`]+)`/g)].map(([, type = ""]) => [type, feeding.trim()] as const),
);

test("the page of column types says what feeds each of them", () => {
  const feeding = rows.map(([type]) => {
    const column = parseColumnType(type);
    return [
      type,
      isProblem(column) ? column.problem : fields.filter((one) => canFeed(one, column) === true).join(", "),
    ];
  });
  expect(feeding).toEqual(rows);
});

test("the page has each type that the error of an unsupported one lists", () => {
  const { problem } = parseColumnType("Nope") as { problem: string };
  const [, listed = ""] = /expected (.*), or some of them in/.exec(problem) ?? [];
  const names = listed
    .replaceAll(/\([^)]*\)/g, "")
    .split(", ")
    .flatMap((type) => type.split(".."));
  const described = rows.map(([type]) => type.replace(/\(.*/, ""));
  expect(names.length).toBeGreaterThan(25);
  expect(names.filter((name) => !described.includes(name))).toEqual([]);
});

test("the page lists layouts of times that are read, and dates that are refused", () => {
  const [, section = ""] = page.split(/^## (?:Dates and times|Nested)$/m);
  const [table = "", refused = ""] = section.split("The names of zones");
  const layouts = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = ""]) => cell.split(", `"));
  const texts = layouts.map((cell) => cell.replaceAll("`", "").trim());
  expect(texts.length).toBeGreaterThan(12);
  expect(texts.filter((text) => parseTime(text) === undefined && parseSeconds(text) === undefined)).toEqual([]);
  const dates = [...refused.matchAll(/`(\d\d[^`:]*\d{4})`/g)].map(([, date = ""]) => date);
  expect(dates.map((date) => parseTime(date))).toEqual([undefined, undefined, undefined]);
});
