import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { InventoryEntry } from "../../../reconciler/actual/inventory.ts";
import { presentOf } from "../../../reconciler/actual/snapshot.ts";
import type { ActualState } from "../../../reconciler/actual/state.ts";
import { carryOut } from "../../../reconciler/apply/carry-out.ts";
import { load } from "../../../reconciler/desired/load.ts";
import type { Plan, WantedState } from "../../../reconciler/plan/change.ts";
import { plan } from "../../../reconciler/plan/plan.ts";
import { printPlan } from "../../../reconciler/plan/print.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";

const ids = ["alpha", "bravo", "charlie", "delta"] as const;

const limits = (max_age: string | undefined): string[] =>
  max_age === undefined ? [] : [`resources: { nats: { stream: { max_age: ${max_age} } } }`];

/** What a file may say of one pipeline. Dependencies go to the left only, so that there is no circle. */
const text = (index: number): fc.Arbitrary<PipelineText> =>
  fc
    .record({
      name: fc.constantFrom("One", "Two"),
      expression: fc.constantFrom("id > 1", "id > 2"),
      tags: fc.subarray(["a", "b"]),
      state: fc.constantFrom("Running", "Stopped", "Terminated"),
      topic: fc.constantFrom(undefined, undefined, undefined, "first", "second"),
      max_age: fc.constantFrom("24h", "48h", undefined),
      recreate: fc.boolean(),
      depends_on: fc.subarray(ids.slice(0, index)),
    })
    .map(({ state, max_age, depends_on, topic, recreate, ...rest }) => ({
      ...rest,
      ...(topic !== undefined && { topic }),
      id: ids[index] ?? "",
      sluice: [`state: ${state}`, `depends_on: [${depends_on.join(", ")}]`, `recreate: ${recreate}`],
      root: limits(max_age),
    }));

/** A folder: each pipeline is there, missing, or in a file that cannot be read. */
const folder = fc
  .tuple(
    ...ids.map((_, index) =>
      fc.option(fc.oneof({ weight: 9, arbitrary: text(index) }, { weight: 1, arbitrary: fc.constant("{ broken") })),
    ),
  )
  .map((texts) => texts.map((one, index) => [`${ids[index]}.yaml`, one] as const).filter(([, one]) => one !== null));

function read(files: readonly (readonly [string, PipelineText | string | null])[]): WantedState {
  const texts = files.map(([path, one]) => ({
    path,
    bytes: Buffer.from(typeof one === "string" ? one : pipelineText(one as PipelineText)),
  }));
  return { ...load(texts), skipped: [] };
}

/** The engine's world with an inventory, in which plans are carried out call by call. */
class World {
  readonly engine = new ModelEngine();
  readonly owned: Record<string, InventoryEntry> = {};

  actual(): ActualState {
    const pipelines = this.engine.list().flatMap(({ pipeline_id }) => presentOf(this.engine, pipeline_id) ?? []);
    return {
      pipelines: new Map(pipelines.map((one) => [one.pipeline_id, one])),
      owned: this.owned,
      busy: new Map(),
      now: 0,
    };
  }

  async carryOut({ changes }: Plan, { pipelines }: WantedState): Promise<void> {
    for (const change of changes) {
      const { pipeline_id, calls, kind } = change;
      const desired = pipelines.find((one) => one.pipeline_id === pipeline_id);
      for (const index of calls.keys()) await carryOut(this.engine, change, index, desired);
      if (kind === "delete") delete this.owned[pipeline_id];
      else if (desired !== undefined) this.owned[pipeline_id] = { file: desired.file, prune: true, suspend: false };
    }
  }
}

describe("a plan", () => {
  test("carried out, leaves nothing to do but what it refused or blocked, for any two folders in turn", async () => {
    await fc.assert(
      fc.asyncProperty(folder, folder, async (before, after) => {
        const world = new World();
        for (const files of [before, after]) {
          const wanted = read(files);
          await world.carryOut(plan(world.actual(), wanted), wanted);
          const rest = plan(world.actual(), wanted);
          expect(printPlan({ changes: rest.changes.filter(({ calls }) => calls.length > 0) })).toBe("nothing to do");
          for (const { pipeline_id, cause } of rest.changes.filter((one) => one.cause === "InSync")) {
            const state = wanted.pipelines.find((one) => one.pipeline_id === pipeline_id)?.directives.state;
            expect([world.engine.get(pipeline_id).status, cause]).toEqual([state, "InSync"]);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  test("deletes only what no file may still describe", async () => {
    await fc.assert(
      fc.asyncProperty(folder, folder, async (before, after) => {
        const world = new World();
        const first = read(before);
        await world.carryOut(plan(world.actual(), first), first);
        const wanted = read(after);
        const names = new Set(after.map(([path]) => path));
        const deleted = plan(world.actual(), wanted).changes.filter(({ kind }) => kind === "delete");
        for (const { pipeline_id } of deleted) expect(names).not.toContain(`${pipeline_id}.yaml`);
        if (wanted.pipelines.length === 0) expect(deleted).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test("is the same whatever the order in which the states are told", () => {
    fc.assert(
      fc.property(folder, fc.gen(), (files, generate) => {
        const wanted = read(files);
        const shuffled = {
          ...wanted,
          pipelines: generate(fc.shuffledSubarray, wanted.pipelines, { minLength: wanted.pipelines.length }),
        };
        const actual = new World().actual();
        expect(plan(actual, shuffled)).toEqual(plan(actual, wanted));
      }),
      { numRuns: 50 },
    );
  });
});
