import * as fc from "fast-check";
import { expect, test } from "vitest";
import { presentOf } from "../../../reconciler/actual/snapshot.ts";
import type { ActualState } from "../../../reconciler/actual/state.ts";
import { load, Loader } from "../../../reconciler/desired/load.ts";
import type { SourceFile } from "../../../reconciler/language/source-text.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { fileOf } from "../../support/pipeline-file.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { runsOf } from "../../support/cases.ts";

const signal = new AbortController().signal;

/** What is done to a pipeline between two plans: its file says something else, or somebody does it to the engine. */
const step = fc.record({
  id: fc.constantFrom("alpha", "bravo"),
  by: fc.constantFrom("file", "engine"),
  expression: fc.constantFrom("id > 1", "id > 2"),
  name: fc.constantFrom("One", "Two"),
  create_table: fc.boolean(),
  status: fc.constantFrom("Running", "Stopped", "Failed"),
});

test("a plan says the same whether or not the same file was compared before", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
      const engine = new ModelEngine();
      const loader = new Loader();
      const files = new Map<string, SourceFile>();
      for (const { id, by, create_table, status, ...rest } of steps) {
        const file = fileOf(pipelineText({ id, ...rest, sluice: [`create_table: ${create_table}`] }), `${id}.yaml`);
        if (by === "file") files.set(id, file);
        else for (const { config, options } of load([file]).pipelines) engine.put(config, options, status);
        const all = [...files.values()];
        const known = plan(actualOf(engine), { ...(await loader.load(all, signal)), skipped: [] });
        expect(known).toEqual(plan(actualOf(engine), { ...load(all), skipped: [] }));
      }
    }),
    { numRuns: runsOf(24) },
  );
});

/** Every pipeline of the engine is ours. */
function actualOf(engine: ModelEngine): ActualState {
  const there = engine.list().flatMap(({ pipeline_id }) => presentOf(engine, pipeline_id) ?? []);
  return {
    pipelines: new Map(there.map((one) => [one.pipeline_id, one])),
    owned: Object.fromEntries(
      there.map(({ pipeline_id: id }) => [id, { file: `${id}.yaml`, prune: true, suspend: false }]),
    ),
    busy: new Map(),
    now: 0,
  };
}
