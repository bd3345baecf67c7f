import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { placeOf, type Change, type NoOp, type Plan } from "../../../reconciler/plan/change.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { newsOfBlockage, newsOfPlan } from "../../../reconciler/plan/news.ts";
import { printPlan, reasonText } from "../../../reconciler/plan/render/index.ts";
import { byHand, folder, ids, read, worldOf } from "./model-world.ts";
import { changeFor } from "./world.ts";
import type { World } from "./world.ts";
import { runsOf } from "../../support/cases.ts";

/** What a person reads of a plan, but for figures that grow by themselves. */
const textOf = (made: Plan): string => printPlan(made).replaceAll(/^ {4}a rollback does not restore: .*\n/gm, "");

/** As far as its text shows it: of several fields that differ, the first one and how many others there are. */
function shown(why: Change["why"]): object {
  if (!("paths" in why.facts)) return why;
  const { paths, ...facts } = why.facts;
  return { code: why.code, facts, first: paths[0], count: paths.length };
}

const pairs = <One>(all: readonly One[]): [One, One][] => all.flatMap((a) => all.map((b): [One, One] => [a, b]));

const holds = fc.record({
  held: fc.constantFrom(0, 1, 7),
  pending: fc.constantFrom(0, 2),
  letters: fc.constantFrom(0, 1, 2),
  status: fc.constantFrom(undefined, "Failed", "Stopping"),
  failure: fc.constantFrom("no table", "no disk"),
});

/** Plans for one folder after another, at moments at which the engine holds more and less. */
const four = fc.tuple(holds, holds, holds, holds);
const walk = fc.array(fc.tuple(folder, byHand, fc.array(four, { minLength: 2, maxLength: 3 })), { maxLength: 2 });

describe("two plans are the same news", () => {
  test("if and only if they print the same, and so is why each change is made", async () => {
    await fc.assert(
      fc.asyncProperty(folder, walk, fc.constantFrom("1", "100%"), async (first, steps, limit) => {
        const world = await worldOf(read(first));
        const plans: Plan[] = [];
        for (const [files, deeds, moments] of steps) {
          for (const { pipeline_id, status } of world.engine.list())
            if (status === "Stopping") world.engine.change(pipeline_id, { status: "Stopped" });
          for (const [id, deed] of deeds) await world.byHand(id, deed);
          for (const held of moments) {
            for (const [index, id] of ids.entries()) {
              const { status, ...facts } = held[index] ?? {};
              if (world.engine.pipelines.has(id)) world.engine.change(id, { ...facts, ...(status && { status }) });
            }
            plans.push(plan(world.actual("1", limit), read(files)));
          }
        }
        for (const [a, b] of pairs(plans))
          expect(isDeepStrictEqual(newsOfPlan(a), newsOfPlan(b))).toBe(textOf(a) === textOf(b));
        const changes = plans.flatMap((made) => made.changes);
        for (const [a, b] of pairs(changes))
          if (isDeepStrictEqual(shown(a.why), shown(b.why)) !== (reasonText(a.why) === reasonText(b.why)))
            expect(a.why).toEqual({ ...b.why, text: reasonText(b.why) });
      }),
      { numRuns: runsOf(24) },
    );
  });
});

const orders = { id: "orders" };
const immutable = { ...orders, root: ["resources: { nats: { stream: { max_age: 48h } } }"] };
const gone = (there: Partial<NonNullable<World["there"]>[number]>): Change =>
  changeFor({ wanted: [{ id: "other" }], there: [{ was: orders, intake: "closed", ...there }] });

/** An edit of a filter that waits for an approval, while so many events are held. */
function waiting(held: number, expression: string): Change {
  const change = changeFor({ wanted: [{ ...orders, expression }], there: [{ was: orders, held }] });
  const why = { code: "NotApproved", facts: { of: change.why, level: "rows", approval: "rows-1" } } as const;
  return { ...change, kind: "refuse", cause: "NotApproved", why, calls: [] };
}

describe("what keeps a pipeline from being as its file says is news", () => {
  const paused = { paused: "table orders is missing" };

  test("not again while what it holds grows less", () => {
    expect(newsOfBlockage(gone({ ...paused, held: 7 }))).toEqual(newsOfBlockage(gone({ ...paused, held: 3 })));
  });

  test("not again while the figures move of a change that waits for an approval", () => {
    const [some, more, other] = [waiting(3, "id > 1"), waiting(7, "id > 1"), waiting(3, "id > 2")];
    expect(reasonText(some.why)).not.toEqual(reasonText(more.why));
    expect(newsOfBlockage(some)).toEqual(newsOfBlockage(more));
    expect(newsOfBlockage(other)).not.toEqual(newsOfBlockage(some));
  });

  test("again where it has other dead letters", () => {
    const [two, one] = [gone({ status: "Stopped", dead_letters: 2 }), gone({ status: "Stopped", dead_letters: 1 })];
    expect(newsOfBlockage(two)).not.toEqual(newsOfBlockage(one));
  });

  test("and what is done is none", () => {
    expect(newsOfBlockage(changeFor({ wanted: [orders] }))).toBeUndefined();
    expect(newsOfBlockage(changeFor({ wanted: [orders], there: [{ was: orders }] }))).toBeUndefined();
  });
});

describe("where a file says it", () => {
  const refused = changeFor({ wanted: [immutable], there: [{ was: orders }] });

  test.each<[title: string, of: Pick<NoOp, "kind" | "cause"> | undefined, isNews: boolean]>([
    ["is news of a refusal", undefined, true],
    ["is news of an invalid file", { kind: "no-op", cause: "InvalidFile" }, true],
    ["is no news of a drift", { kind: "no-op", cause: "Drifted" }, false],
  ])("%s", (_title, of, isNews) => {
    const change: Change = of === undefined ? refused : { ...refused, ...of, calls: [] };
    const elsewhere: Change = { ...change, line: 99 };
    expect(isDeepStrictEqual(newsOfPlan({ changes: [elsewhere] }), newsOfPlan({ changes: [change] }))).toBe(!isNews);
  });

  test("is the place of a change, as far as it is known", () => {
    expect(placeOf(refused)).toEqual({ pipeline_id: "orders", file: "orders.yaml", line: 23, column: 41 });
    const { column: _column, ...unplaced } = refused;
    expect(placeOf(unplaced)).toEqual({ pipeline_id: "orders", file: "orders.yaml", line: 23 });
  });
});
