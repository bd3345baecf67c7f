import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Inventory } from "../../../reconciler/actual/inventory.ts";
import { presentOf, snapshot } from "../../../reconciler/actual/snapshot.ts";
import type { ActualState } from "../../../reconciler/actual/state.ts";
import { carryOut } from "../../../reconciler/apply/carry-out.ts";
import { applied, begin, noteDeletions } from "../../../reconciler/apply/ownership.ts";
import { load } from "../../../reconciler/desired/load.ts";
import type { Plan, WantedState } from "../../../reconciler/plan/change.ts";
import { allowed, parseDeletionLimit } from "../../../reconciler/plan/budget.ts";
import { plan } from "../../../reconciler/plan/plan.ts";
import { printPlan } from "../../../reconciler/plan/print.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";

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
type Deed = (typeof deeds)[number];

/** Some of the pipelines, with what is done to each. */
const byHand = fc.uniqueArray(fc.tuple(fc.constantFrom(...ids), fc.constantFrom(...deeds)), {
  selector: ([id]) => id,
  minLength: 1,
});

/** A world in which a folder was carried out, and found in sync. */
async function worldOf(wanted: WantedState): Promise<World> {
  const world = new World();
  for (let turn = 0; turn < 2; turn += 1) await world.carryOut(plan(world.actual(), wanted), wanted);
  return world;
}

const busyOf = ({ changes }: Plan): Plan => ({ changes: changes.filter(({ calls }) => calls.length > 0) });

describe("a plan", () => {
  test("carried out, leaves nothing to do but what it refused or blocked, for any two folders in turn", async () => {
    await fc.assert(
      fc.asyncProperty(folder, folder, async (before, after) => {
        const world = new World();
        for (const files of [before, after]) {
          const wanted = read(files);
          await world.carryOut(plan(world.actual(), wanted), wanted);
          const rest = plan(world.actual(), wanted);
          expect(printPlan(busyOf(rest))).toBe("nothing to do");
          for (const { pipeline_id, cause } of rest.changes.filter((one) => one.cause === "InSync")) {
            const state = wanted.pipelines.find((one) => one.pipeline_id === pipeline_id)?.directives.state;
            expect([world.engine.get(pipeline_id).status, cause]).toEqual([state, "InSync"]);
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  test("puts back what somebody did to pipelines in sync, once, and calls it a drift", async () => {
    await fc.assert(
      fc.asyncProperty(folder, byHand, async (files, done) => {
        const wanted = read(files);
        const world = await worldOf(wanted);
        const settled = plan(world.actual(), wanted).changes.filter(({ cause }) => cause === "InSync");
        const inSync = new Set(settled.map(({ pipeline_id }) => pipeline_id));
        const did = new Set<string>();
        for (const [id, deed] of done) if (inSync.has(id) && (await world.byHand(id, deed))) did.add(id);
        const found = plan(world.actual(), wanted);
        const drifts = found.changes.filter(({ drift }) => drift !== undefined);
        for (const { pipeline_id } of drifts) expect(did).toContain(pipeline_id);
        for (const { pipeline_id, cause } of found.changes)
          if (did.has(pipeline_id)) expect(["Drifted", "DependencyNotReady", "InSync"]).toContain(cause);
        await world.carryOut(found, wanted);
        expect(printPlan(busyOf(plan(world.actual(), wanted)))).toBe("nothing to do");
      }),
      { numRuns: 20 },
    );
  });

  test("puts nothing back where files say report or ignore, whatever somebody does", async () => {
    await fc.assert(
      fc.asyncProperty(folder, byHand, fc.constantFrom("report", "ignore"), async (files, done, mode) => {
        const wanted = read(
          files.map(([path, one]) => {
            if (one === null || typeof one === "string") return [path, one] as const;
            return [path, { ...one, sluice: [...(one.sluice ?? []), `drift: ${mode}`] }] as const;
          }),
        );
        const world = await worldOf(wanted);
        const blocked = plan(world.actual(), wanted).changes.filter(({ cause }) => cause !== "InSync");
        const open = new Set(blocked.map(({ pipeline_id }) => pipeline_id));
        for (const [id, deed] of done) if (!open.has(id)) await world.byHand(id, deed);
        const touched = busyOf(plan(world.actual(), wanted)).changes;
        for (const { pipeline_id } of touched) expect(open).toContain(pipeline_id);
      }),
      { numRuns: 20 },
    );
  });

  test("deletes only what no file may still describe, and no more in one revision than it may", async () => {
    const sequence = fc.array(fc.tuple(folder, byHand), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(sequence, fc.constantFrom("0", "1", "2", "50%"), async (revisions, limit) => {
        const world = new World();
        for (const [index, [files, done]] of revisions.entries()) {
          const wanted = read(files);
          const names = new Set<string>(files.map(([path]) => path));
          const owned = Object.values(world.inventory.state.pipelines);
          const most = allowed(parseDeletionLimit(limit), owned.length);
          let deleted = 0;
          for (let turn = 0; turn < 3; turn += 1) {
            const actual = world.actual(`${index}`, limit);
            const made = plan(actual, wanted);
            for (const { pipeline_id, kind } of made.changes.filter((one) => one.kind === "delete")) {
              expect([names.has(`${pipeline_id}.yaml`), wanted.pipelines.length > 0, kind]).toEqual([
                false,
                true,
                "delete",
              ]);
              const { terminated } = actual.owned[pipeline_id] ?? {};
              const isFree = terminated === true && actual.pipelines.get(pipeline_id)?.status === "Terminated";
              if (!isFree) deleted += 1;
            }
            await world.carryOut(made, wanted, `${index}`);
            const [id, deed] = done[turn] ?? [];
            if (id !== undefined && deed !== undefined && deed !== "delete") await world.byHand(id, deed);
          }
          expect(deleted).toBeLessThanOrEqual(most);
        }
      }),
      { numRuns: 20 },
    );
  });

  test("is the same whatever the order in which the states are told", async () => {
    await fc.assert(
      fc.asyncProperty(folder, folder, fc.gen(), async (before, after, generate) => {
        const world = await worldOf(read(before));
        const [wanted, actual] = [read(after), world.actual("1", "1")];
        const shuffled = <Entry>(list: readonly Entry[]): Entry[] =>
          generate(fc.shuffledSubarray, [...list], { minLength: list.length });
        const other = { ...actual, pipelines: new Map(shuffled([...actual.pipelines])) };
        expect(plan(other, { ...wanted, pipelines: shuffled(wanted.pipelines) })).toEqual(plan(actual, wanted));
      }),
      { numRuns: 15 },
    );
  });
});
