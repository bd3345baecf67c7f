import { readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { stringify } from "yaml";
import { describe, expect, test } from "vitest";
import { parse } from "../../../reconciler/language/parse.ts";
import { convertDocument, isVersion2 } from "../../../reconciler/migrate/document.ts";
import { convert } from "../../../reconciler/migrate/convert.ts";
import { valueOf } from "../../../reconciler/migrate/part.ts";
import { yamlText } from "../../../reconciler/migrate/yaml-text.ts";
import type { MigrateOptions } from "../../../reconciler/migrate/migrate.ts";
import { tidy } from "../../../schemas/index.ts";
import { fileOf } from "../../support/pipeline-file.ts";
import { v2Documents } from "./arbitrary-version-2.ts";
import { v2Pipeline, v2Source, type V2 } from "../../support/version-2.ts";
import { runsOf } from "../../support/cases.ts";

/** The YAML of a file in v3, with the v2 fields whose comments were lost. */
function written(file: string, options: MigrateOptions = {}): { text: string; lost: string[] } {
  const roots = parse(fileOf(file)).documents.map((document) => {
    if (!isVersion2(document)) return undefined;
    const converted = convertDocument(document, options);
    if (Array.isArray(converted)) throw new Error(converted.map(({ message }) => message).join("\n"));
    return converted.marked;
  });
  const { text, lost } = yamlText(file, roots);
  return { text, lost: lost.flat().map((path) => path.join(".")) };
}

const folder = new URL("../../golden/migrate/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));

test.each(files)("%s in v3 is what is on record", async (name) => {
  const { text } = written(readFileSync(new URL(name, folder), "utf8"));
  await expect(text).toMatchFileSnapshot(new URL(`${name}.v3.txt`, folder).pathname);
});

test("comments stay where lines end in a carriage return alone", () => {
  const { text } = written("# top\rversion: v2\rpipeline_id: orders # the id\r# end\r");
  expect(text).toMatch(/^# top\nversion: v3\npipeline_id: orders # the id\n/);
  expect(text).toMatch(/\n# end\n$/);
});

const start = "version: v2\npipeline_id: orders\n";

describe("a comment", () => {
  test.each<[string, string, string]>([
    [
      "at the top stays at the top, also where its field goes",
      "# top\nexported_by: me\nversion: v2\n",
      "# top\nversion: v3\n",
    ],
    ["at the end stays at the end", `${start}# end\n`, "\n# end\n"],
    [
      "at the end of a block stays in it",
      `${start}metadata:\n  tags:\n    - a\n    # last\n  # of metadata\nname: x\n`,
      "    - a\n    # last\n  # of metadata\n",
    ],
    [
      "with less indentation stays above what follows",
      `${start}metadata:\n  tags:\n    - a\n    # last\n\n# name\nname: x\n`,
      "\n# name\nname: x\n",
    ],
    [
      "between entries stays between them",
      `${start}metadata:\n  tags:\n    - a\n    # b\n    - b\n`,
      "    - a\n    # b\n    - b\n",
    ],
    ["beside a text in quotes stays there, and so do the quotes", `${start}name: 'x' # y\n`, "name: 'x' # y\n"],
    [
      "in the block of a source is above its first entry",
      `${start}source: # s\n  # t\n  topics:\n    - name: a\n`,
      "sources:\n  # s\n  # t\n  - source_id: a\n",
    ],
  ])("%s", (_, file, expected) => {
    expect(written(file)).toEqual({ text: expect.stringContaining(expected), lost: [] });
  });

  test("of a field that v3 does not have is told", () => {
    const file = `${start}exported_by: me # a\nsource:\n  type: kafka\n  # b\n  provider: x\nsink:\n  # c\n  table: t\n`;
    expect(written(file).lost).toEqual(["exported_by", "source.provider"]);
    expect(written(file).text).toContain("# c");
  });
});

test("lines with Windows ends keep them", () => {
  const { text } = written(`${start}name: x # y\n`.replaceAll("\n", "\r\n"));
  expect(text).toContain("name: x # y\r\n");
  expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
});

test("JSON in a YAML file becomes YAML", () => {
  const { text } = written(
    JSON.stringify({ version: "v2", pipeline_id: "orders", metadata: { tags: ["a"] } }, undefined, 2),
  );
  expect(text).toMatch(/^version: v3\npipeline_id: "orders"\n/);
});

test("an expression that is negated with its comment is valid YAML", () => {
  const file = stringify(v2Pipeline({ filter: { enabled: true, expression: "amount < 0 // x" } }));
  const { text } = written(file, { keepBehaviour: true });
  expect(parse(fileOf(text)).documents[0]?.value).toMatchObject({
    transforms: [{ config: { expression: "!(amount < 0 // x\n)" } }],
  });
});

test("a document that was not converted stays to the letter", () => {
  const other = "version:   v3   # odd\npipeline_id: 'b-pipeline'\n";
  expect(written(`---\n${other}---\n${start}---\n${other}`).text.split("---\n")).toEqual([
    other,
    expect.any(String),
    other,
  ]);
});

const numbered = (yaml: string, where: "above" | "beside"): string => {
  let count = 0;
  const next = (): string => `# c${(count += 1)}.`;
  return where === "above"
    ? yaml.replaceAll(/^(?=[^\n])/gm, () => `${next()}\n`)
    : yaml.replaceAll(/(?<=[^\n])$/gm, () => ` ${next()}`);
};

describe("any v2 document, as YAML with comments on every line", () => {
  const texts = fc
    .tuple(v2Documents, fc.constantFrom<V2>({}, { source: v2Source([{ name: "a" }]) }))
    .map(([document, source]) =>
      // Texts on one line each, so that a comment stands between fields and not in one.
      stringify({ ...document, ...source, version: "v2" }, { defaultStringType: "QUOTE_DOUBLE", lineWidth: 0 }),
    );

  test("says the same in v3, and no comment goes without a word", () => {
    fc.assert(
      fc.property(texts, fc.constantFrom("above" as const, "beside" as const), (plain, where) => {
        const file = numbered(plain, where);
        const { text, lost } = written(file);
        const given = parse(fileOf(plain)).documents[0]?.value;
        expect(parse(fileOf(text)).documents.map(({ value }) => value)).toEqual([tidy(valueOf(convert(given).marked))]);
        const all = [...file.matchAll(/# c\d+\./g)].map(([comment]) => comment);
        const left = all.filter((comment) => !text.includes(`${comment}\n`));
        // A field may have had several.
        expect(left.length > 0).toBe(lost.length > 0);
        expect(left.length).toBeGreaterThanOrEqual(lost.length);
        expect(text.match(/# c\d+\./g)?.length ?? 0).toBe(all.length - left.length);
      }),
      { numRuns: runsOf(45) },
    );
  });
});
