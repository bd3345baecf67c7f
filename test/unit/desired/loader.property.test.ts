import { setImmediate as later } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DesiredPipeline, DesiredState } from "../../../reconciler/desired/desired-state.ts";
import { load, Loader } from "../../../reconciler/desired/load.ts";
import type { SourceFile } from "../../../reconciler/language/source-text.ts";
import { runsOf } from "../../support/cases.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { v2Text } from "../../support/version-2.ts";

const signal = new AbortController().signal;
const ids = ["alpha", "bravo", "charlie"];

/** Few ids and tables, so that documents meet. */
const document = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        id: fc.constantFrom(...ids),
        table: fc.constantFrom("one", "two"),
        expression: fc.constantFrom("id > 1", "id > 2", "no > 1"),
        topic: fc.constantFrom(undefined, "orders"),
        depends_on: fc.subarray([...ids, "nobody"]),
      })
      .map(({ topic, depends_on, ...rest }) =>
        pipelineText({
          ...rest,
          ...(topic !== undefined && { topic }),
          sluice: [`depends_on: [${depends_on.join(", ")}]`],
        }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "{ broken", "a: 1", "- x", "pipeline_id: alpha\n\tx: y", v2Text("alpha")),
  },
);
const content = fc.array(document, { minLength: 1, maxLength: 2 }).map((documents) => documents.join("\n---\n"));
const path = fc.constantFrom("a.yaml", "b.yaml", "team/c.yaml", "d.json", ".hidden/e.yaml");

/** A revision after another one: each file that is named gets a content, or goes. */
const edits = fc.array(fc.tuple(path, fc.option(content)), { maxLength: 3 });

const fields = [
  [],
  ["pipeline_id"],
  ["sink", "table"],
  ["transforms", 0, "config", "expression"],
  ["name"],
  ["x-sluice"],
];

/** All that a desired state says, the places of fields included. */
function told({ pipelines, ...rest }: DesiredState): unknown {
  return {
    pipelines: pipelines.map((one) => ({
      ...one,
      place: placesOf(one),
      variables: fields.map((field) => one.variables(field)),
    })),
    ...rest,
  };
}

function placesOf(pipeline: DesiredPipeline): unknown[] {
  return fields.map((field) => pipeline.place(field));
}

describe("a revision after others", () => {
  test("asks for the same as if it were the first", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(edits, { minLength: 1, maxLength: 6 }), async (revisions) => {
        const loader = new Loader();
        const folder = new Map<string, string>();
        for (const revision of revisions) {
          for (const [name, text] of revision) {
            if (text === null) folder.delete(name);
            else folder.set(name, text);
          }
          const files = [...folder].map(([name, text]): SourceFile => fileOf(text, name));
          expect(told(await loader.load(files, signal))).toEqual(told(load(files)));
        }
      }),
      { numRuns: runsOf(36) },
    );
  });

  test("gives the same object for a file that stayed", async () => {
    const loader = new Loader();
    const other = goodPipeline.replace("orders-eu", "orders-us").replace("table: orders", "table: orders_us");
    const first = await loader.load([fileOf(goodPipeline, "a.yaml"), fileOf(other, "b.yaml")], signal);
    const changed = other.replace("amount > 0", "amount > 1");
    const second = await loader.load([fileOf(goodPipeline, "a.yaml"), fileOf(changed, "b.yaml")], signal);
    expect(second.pipelines[0]).toBe(first.pipelines[0]);
    expect(second.pipelines[1]).not.toBe(first.pipelines[1]);
    expect(second.pipelines[1]?.config.transforms).toMatchObject([{ config: { expression: "amount > 1" } }]);
  });
});

test.each([
  ["v3", `# mine\n\n${goodPipeline}`],
  ["the second of a file", `${pipelineText({ id: "first" })}---\n${goodPipeline}`],
  ["v2", v2Text("orders-eu")],
])("a field is found in its text when the document is not in memory any more: %s", async (_title, text) => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const places = load([fileOf(text)]).pipelines.map(placesOf);
  const { pipelines } = load([fileOf(text)]);
  await later();
  collectGarbage();
  expect(pipelines.map(placesOf)).toEqual(places);
});
