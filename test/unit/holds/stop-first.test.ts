import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Revision } from "../../../reconciler/git/revision.ts";
import { noVariables } from "../../../reconciler/language/variables.ts";
import type { Level } from "../../../reconciler/plan/level.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { resultOf } from "../../../reconciler/status/turn.ts";
import { conditionOf, edited, orders, outcomes, readyOf, signal, World } from "../apply/world.ts";
import { dedupOf, type PipelineText } from "../../support/pipeline-text.ts";

const hour = 3_600_000;
const sales = { id: "sales-eu" };
const keyed = { id: "orders", transforms: [dedupOf("id")] };
const otherKey = { id: "orders", transforms: [dedupOf("level")] };
const longer = { root: ["resources: { nats: { stream: { max_age: 48h } } }"] };
const recreated = { ...orders, ...longer, sluice: ["recreate: true"] };
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

const statusOf = (id = "orders"): string => world.engine.get(id).status;
const asked = (text = ""): string => /(?:change|restart|rows|forget|delete)-[0-9a-f]{32}/.exec(text)?.[0] ?? "";

/** A reconciler that has begun with `files`, under the rule that changes of a level wait; `approve` says what is approved. */
async function waitingFor(
  level: Level,
  ...files: PipelineText[]
): Promise<{ reconciler: Reconciler; approve: (...fingerprints: string[]) => void }> {
  const { source } = world;
  let approvals: string[] = [];
  const fetch = async (): Promise<Revision> => {
    const one = await source.fetch();
    const found = approvals.join();
    return { ...one, id: `${one.id}${found}`, sha: `${one.sha}${found}`, approvals };
  };
  source.say(...files);
  const approving = { description: source.description, fetch, close: source.close };
  const reconciler = world.reconciler({ approve: level, source: approving });
  await reconciler.turn("start", signal);
  return { reconciler, approve: (...fingerprints) => (approvals = fingerprints) };
}

describe("an operator's stop is made", () => {
  test("although an edit of the pipeline waits for an approval, whose fingerprint stays the same", async () => {
    const { reconciler, approve } = await waitingFor("forget", keyed);
    world.source.say(otherKey);
    await outcomes(reconciler);
    const before = asked(conditionOf(reconciler)?.message);
    await reconciler.operator.stop("orders", hour, {});
    await outcomes(reconciler);
    expect(statusOf()).toBe("Stopped");
    await outcomes(reconciler);
    expect(asked(conditionOf(reconciler)?.message)).toBe(before);
    approve(before);
    await outcomes(reconciler);
    expect(world.engine.calls.slice(1)).toEqual(["stop orders", "update orders"]);
  });

  test("alone while everything is suspended and an edit waits", async () => {
    const reconciler = await world.after(orders);
    await reconciler.operator.suspend(undefined, { reason: "release freeze" });
    world.source.say(edited);
    await outcomes(reconciler);
    await reconciler.operator.stop("orders", hour, {});
    await outcomes(reconciler);
    await outcomes(reconciler);
    expect(world.engine.calls.slice(1)).toEqual(["stop orders"]);
  });

  test("alone of a pipeline that is suspended: its edit waits, and it is not deleted", async () => {
    const reconciler = await world.after(orders, sales);
    await reconciler.operator.suspend("orders", {});
    world.source.say(edited, sales);
    await outcomes(reconciler);
    await reconciler.operator.stop("orders", hour, {});
    await outcomes(reconciler);
    await outcomes(reconciler);
    world.source.say(sales);
    await outcomes(reconciler);
    expect(world.engine.calls.slice(2)).toEqual(["stop orders"]);
  });

  test.each([
    ["its file suspends it", { ...orders, sluice: ["suspend: true"] }],
    ["its newest file is refused", { ...orders, ...longer }],
  ])("although %s", async (_why, file) => {
    const reconciler = await world.after(orders);
    world.source.say(file);
    await outcomes(reconciler);
    await reconciler.operator.stop("orders", hour, {});
    await outcomes(reconciler);
    expect(statusOf()).toBe("Stopped");
  });

  test("although no plan can be made, as the variables cannot be read; nothing else is done then", async () => {
    let fails = false;
    const variables = async (): Promise<typeof noVariables> => {
      if (fails) throw new Error("values.yaml: ENOENT");
      return noVariables;
    };
    world.source.say(orders, sales);
    const reconciler = world.reconciler({ variables });
    await reconciler.turn("start", signal);
    fails = true;
    world.source.say(edited);
    await reconciler.turn("poll", signal);
    await reconciler.operator.stop("orders", hour, {});
    const turn = await reconciler.turn("manual", signal);
    expect(turn.error?.message).toContain("values.yaml");
    expect(world.engine.calls.slice(2)).toEqual(["stop orders"]);
    expect(Object.keys((await world.inventory()).pipelines)).toEqual(["orders", "sales-eu"]);
    fails = false;
    await outcomes(reconciler);
    expect(statusOf()).toBe("Stopped");
  });

  test("although an edit of the pipeline waits for one that it depends on, which is then not made first", async () => {
    const after = { ...sales, sluice: ["depends_on: [orders]"] };
    const reconciler = await world.after(orders, after);
    const go = world.holdUp("stop", "orders");
    world.source.say(edited, { ...after, expression: "id > 7" });
    await reconciler.turn("poll", signal);
    await reconciler.operator.stop("sales-eu", hour, {});
    await reconciler.turn("manual", signal);
    await reconciler.turn("manual", signal);
    await expect.poll(() => statusOf("sales-eu")).toBe("Stopped");
    go();
  });
});

test("an edit that waits for a dependency is not made after a newer commit has taken it back", async () => {
  const after = { ...sales, sluice: ["depends_on: [orders]"] };
  const reconciler = await world.after(orders, after);
  const go = world.holdUp("stop", "orders");
  world.source.say(edited, { ...after, expression: "id > 666" });
  await reconciler.turn("poll", signal);
  world.source.say(edited, after);
  await reconciler.turn("poll", signal);
  go();
  await expect.poll(() => statusOf()).toBe("Running");
  await outcomes(reconciler);
  expect(world.engine.calls).not.toContain("update sales-eu");
  expect(readyOf(reconciler, "sales-eu")).toEqual(["True", "ReconciliationSucceeded"]);
});

test.each([
  ["deletion", [sales]],
  ["recreation", [recreated, sales]],
] as const)("a pipeline that an operator stopped is not started for its %s", async (_what, files) => {
  const reconciler = await world.after(orders, sales);
  await reconciler.operator.stop("orders", hour, { reason: "the table is being moved" });
  await outcomes(reconciler);
  world.engine.change("orders", { held: 5 });
  world.source.say(...files);
  await outcomes(reconciler);
  const turn = await reconciler.turn("poll", signal);
  expect(world.engine.calls.slice(2)).toEqual(["stop orders"]);
  expect(resultOf(turn)).toBe("incomplete");
});

test("while everything is suspended, a pipeline that a crash left stopped runs again, without its edit", async () => {
  const before = await world.after(orders);
  world.holdUp("update");
  world.source.say(edited);
  await before.turn("poll", signal);
  world.engine.onCall = () => undefined;
  const reconciler = world.reconciler();
  await reconciler.operator.suspend(undefined, {});
  await outcomes(reconciler);
  expect(statusOf()).toBe("Running");
  expect(world.engine.calls.at(-1)).toBe("resume orders");
});

describe("an approval", () => {
  test.each([
    ["another key", otherKey],
    ["a recreation", { ...keyed, ...longer, sluice: ["recreate: true"] }],
    ["a termination", { ...keyed, sluice: ["state: Terminated"] }],
  ])("of a deletion that has begun is none of %s", async (_what, restored) => {
    const { reconciler, approve } = await waitingFor("forget", keyed, sales);
    world.engine.change("orders", { letters: 3 });
    world.source.say(sales);
    await outcomes(reconciler);
    approve(asked(conditionOf(reconciler)?.message));
    await outcomes(reconciler);
    await outcomes(reconciler);
    approve();
    world.source.say(restored, sales);
    await outcomes(reconciler);
    await outcomes(reconciler);
    expect(readyOf(reconciler)).toContain("NotApproved");
    expect(world.engine.pipelines.get("orders")?.letters).toBe(3);
  });

  test("is needed by an edit that replaces an approved one under way", async () => {
    const { reconciler, approve } = await waitingFor("restart", orders);
    world.source.say(edited);
    await outcomes(reconciler);
    approve(asked(conditionOf(reconciler)?.message));
    const go = world.holdUp("stop");
    await outcomes(reconciler);
    approve();
    world.source.say({ ...orders, expression: "id > 666" });
    await outcomes(reconciler);
    go();
    await expect.poll(() => statusOf()).toBe("Running");
    await outcomes(reconciler);
    expect(JSON.stringify(world.engine.get("orders").config)).not.toContain("666");
  });

  test("that a pipeline needs to start holds back those that depend on it", async () => {
    const { reconciler } = await waitingFor("forget", { ...keyed, sluice: ["state: Stopped"] });
    world.source.say(otherKey, { ...sales, sluice: ["depends_on: [orders]"] });
    await outcomes(reconciler);
    expect(readyOf(reconciler, "sales-eu")).toContain("DependencyNotReady");
    expect(world.engine.pipelines.has("sales-eu")).toBe(false);
  });
});
