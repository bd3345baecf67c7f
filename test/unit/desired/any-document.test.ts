import * as fc from "fast-check";
import { expect, test } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import { normalise, schemaErrors } from "../../../schemas/index.ts";
import { arbitraryPipeline } from "../schemas/arbitrary-pipeline.ts";
import { runsOf } from "../../support/cases.ts";
import { fileOf } from "../../support/pipeline-file.ts";

/** A copy of `value` in which the `at`-th part, counted from the top, is `by`. */
function withPart(value: unknown, at: number, by: unknown): unknown {
  let part = 0;
  const copy = (one: unknown): unknown => {
    part += 1;
    if (part === at) return by;
    if (Array.isArray(one)) return one.map(copy);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([key, member]) => [key, copy(member)]));
  };
  return copy(value);
}

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(
    "v2",
    "",
    "0",
    "-1s",
    "1e99",
    "99999999h",
    "${env:X}",
    "${",
    "a.b",
    "temporal",
    -1,
    0,
    1e300,
    "Array(",
    "Map(",
  ),
);

test("a document is refused with problems that have a place, or it is a pipeline: it never throws", () => {
  fc.assert(
    fc.property(arbitraryPipeline, fc.nat({ max: 80 }), odd, (document, at, by) => {
      const text = JSON.stringify(withPart(document, at, by));
      const { pipelines, refused, problems } = load([fileOf(text, "a.json")]);
      expect(pipelines.length + refused.length).toBe(1);
      expect(problems.some(({ severity }) => severity === "error")).toBe(refused.length === 1);
      for (const { line, column } of problems) expect(line >= 1 && column >= 1 && column <= text.length + 1).toBe(true);
      for (const { config, document: written } of pipelines) {
        expect(schemaErrors(config)).toEqual([]);
        expect(normalise(written, config)).toEqual(config);
      }
    }),
    { numRuns: runsOf(150) },
  );
});
