import * as fc from "fast-check";
import { Inventory } from "../../../reconciler/actual/inventory.ts";
import { presentOf, snapshot } from "../../../reconciler/actual/snapshot.ts";
import type { ActualState } from "../../../reconciler/actual/state.ts";
import { carryOut } from "../../../reconciler/apply/carry-out.ts";
import { noteDeletions } from "../../../reconciler/apply/ownership.ts";
import { applied, begin } from "../../../reconciler/apply/ownership.ts";
import { load } from "../../../reconciler/desired/load.ts";
import { parseDeletionLimit } from "../../../reconciler/plan/budget.ts";
import type { Plan, WantedState } from "../../../reconciler/plan/change.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";

export const ids = ["alpha", "bravo", "charlie", "delta"] as const;

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
export const folder = fc
  .tuple(
    ...ids.map((_, index) =>
      fc.option(fc.oneof({ weight: 9, arbitrary: text(index) }, { weight: 1, arbitrary: fc.constant("{ broken") })),
    ),
  )
  .map((texts) => texts.map((one, index) => [`${ids[index]}.yaml`, one] as const).filter(([, one]) => one !== null));

export function read(files: readonly (readonly [string, PipelineText | string | null])[]): WantedState {
  const texts = files.map(([path, one]) => ({
    path,
    bytes: Buffer.from(typeof one === "string" ? one : pipelineText(one as PipelineText)),
  }));
  return { ...load(texts), skipped: [] };
}

/** The engine's world with an inventory, in which plans are carried out call by call. */
export class World {
  readonly engine = new ModelEngine();
  readonly inventory = Inventory.read("/nowhere");
  #now = Date.parse("2026-01-01T00:00:00Z");

  actual(revision = "", limit = "100%"): ActualState {
    const seen = snapshot(this.engine, this.inventory, new Map());
    const budget = { ...this.inventory.deletionsOf(revision), limit: parseDeletionLimit(limit) };
    return { ...seen, now: this.#now, budget };
  }

  /** Carries a plan out, and lets two hours pass. */
  async carryOut(made: Plan, { pipelines }: WantedState, revision = ""): Promise<void> {
    noteDeletions(this.inventory, made, revision);
    for (const change of made.changes) {
      const { pipeline_id, calls, kind, cause } = change;
      const desired = pipelines.find((one) => one.pipeline_id === pipeline_id);
      if (desired !== undefined) begin(this.inventory, desired, change, this.#now);
      for (const index of calls.keys()) await carryOut(this.engine, change, index, desired);
      if (kind === "delete") this.inventory.release(pipeline_id);
      else if (desired !== undefined && (calls.length > 0 || cause === "InSync"))
        applied(this.inventory, desired, change, revision, presentOf(this.engine, pipeline_id));
    }
    this.#now += 7_200_000;
  }

  /** What somebody does to a pipeline by hand; gives whether it could be done. */
  async byHand(pipeline_id: string, deed: Deed): Promise<boolean> {
    const { engine } = this;
    if (!engine.pipelines.has(pipeline_id)) return false;
    const status = engine.get(pipeline_id).status;
    if (deed === "rename") await engine.rename(pipeline_id, "By hand");
    else if (deed === "tag") await engine.tag(pipeline_id, ["by-hand"]);
    else if (deed === "delete") engine.pipelines.delete(pipeline_id);
    else if (deed === "stop" && status === "Running") await engine.stop(pipeline_id);
    else if (deed === "terminate" && status !== "Terminated") await engine.terminate(pipeline_id);
    else if (deed === "resume" && status !== "Running") await engine.resume(pipeline_id);
    else return false;
    return true;
  }
}

const deeds = ["rename", "tag", "stop", "terminate", "resume", "delete"] as const;
export type Deed = (typeof deeds)[number];

/** Some of the pipelines, with what is done to each. */
export const byHand = fc.uniqueArray(fc.tuple(fc.constantFrom(...ids), fc.constantFrom(...deeds)), {
  selector: ([id]) => id,
  minLength: 1,
});

/** A world in which a folder was carried out, and found in sync. */
export async function worldOf(wanted: WantedState): Promise<World> {
  const world = new World();
  for (let turn = 0; turn < 2; turn += 1) await world.carryOut(plan(world.actual(), wanted), wanted);
  return world;
}
