import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allowed, parseDeletionLimit } from "../../../reconciler/plan/budget.ts";
import type { Plan } from "../../../reconciler/plan/change.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { printPlan } from "../../../reconciler/plan/render/index.ts";
import { runsOf } from "../../support/cases.ts";
import { byHand, folder, read, World, worldOf } from "./model-world.ts";

const numRuns = runsOf(24);

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
      { numRuns },
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
      { numRuns },
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
      { numRuns },
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
      { numRuns },
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
      { numRuns },
    );
  });
});
