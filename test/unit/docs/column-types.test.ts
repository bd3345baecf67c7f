import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { canFeed, isProblem, parseColumnType } from "../../../engine/language.ts";
import type { FieldType } from "../../../schemas/pipeline.ts";

const fields: readonly FieldType[] = ["string", "bool", "int", "uint", "float", "array", "map"];

/** Each type that the page lists, with the fields that it says feed it. */
const rows = [
  ...readFileSync("docs/reference/column-types.md", "utf8").matchAll(/^\| (`[^|]*) \| ([^|]*) \|/gm),
].flatMap(([, types = "", feeding = ""]) =>
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
