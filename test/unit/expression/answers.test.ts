import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compileTransforms } from "../../../engine/expression/index.ts";

interface Answers {
  sample: Record<string, unknown>;
  cases: { class: string; expression: string; answer: unknown }[];
}

const { sample, cases } = JSON.parse(readFileSync(new URL("answers.json", import.meta.url), "utf8")) as Answers;

/** The output_type that leaves an answer as it is. */
function typeOf(answer: unknown): string {
  if (Array.isArray(answer)) return "array";
  return { boolean: "bool", number: "float64", string: "string" }[typeof answer as string] ?? "map";
}

describe("expressions have the answers of the service whose pipelines Sluice runs", () => {
  test.each(cases)("$class: $expression", ({ expression, answer }) => {
    const output = { expression, output_name: "o", output_type: typeOf(answer) };
    expect(compileTransforms([output], undefined).apply(sample, 0)).toEqual({ o: answer });
  });
});
