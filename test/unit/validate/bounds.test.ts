import { describe, expect, test } from "vitest";
import { validate } from "../../../reconciler/desired/load.ts";
import { isEveryCase } from "../../support/cases.ts";
import { fileOf, goodPipeline, kafkaPipeline } from "../../support/pipeline-file.ts";

function repeated(count: number, line: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => line(n)).join("");
}

const json = (value: object) => JSON.stringify({ version: "v3", pipeline_id: "orders-eu", ...value });

/** Files with which work that grows with the square of a file would not end within the time of a test. */
const costly: [title: string, content: () => string][] = [
  [
    "thousands of columns of fields that are not there",
    () =>
      json({
        sources: [
          {
            type: "webhook",
            source_id: "o",
            schema_fields: Array.from({ length: 9000 }, (_, n) => ({ name: `field_${n}`, type: "int" })),
          },
        ],
        sink: { mapping: Array.from({ length: 9000 }, (_, n) => ({ name: `feild_${n}`, column_type: "Int" })) },
      }),
  ],
  [
    "thousands of sources and transforms",
    () =>
      json({
        sources: Array.from({ length: 9000 }, (_, n) => ({ type: "otlp.logs", source_id: `s${n}` })),
        transforms: Array.from({ length: 9000 }, (_, n) => ({ type: "filter", source_id: `t${n}` })),
      }),
  ],
  [
    "a long expression that is repeated very often",
    () =>
      kafkaPipeline
        .replace("- { expression: id, output_name", `- { expression: &e "${"id + ".repeat(9000)}id", output_name`)
        .replace(
          "sink:\n",
          `${repeated(9000, (n) => `        - { expression: *e, output_name: o${n}, output_type: int }\n`)}sink:\n`,
        ),
  ],
  [
    "hundreds of documents that wait for a hundred others each",
    () =>
      repeated(
        500,
        (n) =>
          `pipeline_id: pipe-${n}\nx-sluice: { depends_on: [${repeated(99, (m) => `pipe-${(n + m) % 500}, `)}] }\n---\n`,
      ),
  ],
  [
    "thousands of keys that nobody knows",
    () => json(Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`sourcs${n}`, n]))),
  ],
  [
    "a long type that is repeated very often",
    () =>
      `${goodPipeline.replace("column_type: Int64", `column_type: &t "Enum8(${"'a' = 1, ".repeat(5000)}'b' = 2)"`)}${repeated(9000, (n) => `    - { name: id, column_name: c${n}, column_type: *t }\n`)}`,
  ],
  [
    "a megabyte of references to a secret",
    () => kafkaPipeline.replace(/password: .*/, () => `password: "${"${env:A}".repeat(100_000)}"`),
  ],
];

const cases: [title: string, content: string][] = [
  [
    "a megabyte of references to variables that are not set",
    goodPipeline.replace("sink:", `name: "${"${var:A}".repeat(125_000)}"\nsink:`),
  ],
  [
    "thousands of uses of a long text with references to variables that are not set",
    kafkaPipeline.replace(
      "sink:",
      `metadata: { tags: [&t "${"${var:A}".repeat(10_000)}", ${"*t, ".repeat(20_000)}] }\nsink:`,
    ),
  ],
  ["a field of very many levels", goodPipeline.replace("name: id", `name: "${"a.".repeat(400_000)}a"`)],
  ["an expression of brackets", goodPipeline.replace("amount > 0", `"${"(".repeat(60_000)}"`)],
  ["a type of brackets", goodPipeline.replace("Int64", `"${"Array(".repeat(100_000)}"`)],
];

function isBounded(content: string): void {
  const path = content.startsWith("{") ? "a.json" : "a.yaml";
  const problems = validate([fileOf(content, path)]);
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.filter(({ message }) => message.length >= 1000)).toEqual([]);
}

describe("is read in bounded time, and its problems are too:", () => {
  test.each(cases)("a file with %s", (_, content) => isBounded(content));

  test.each(isEveryCase ? costly : costly.slice(0, 3))("a file with %s", { tags: ["rest"] }, (_, content) =>
    isBounded(content()),
  );
});
