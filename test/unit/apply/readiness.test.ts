import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Readiness } from "../../../engine/index.ts";
import { conditionOf, edited, orders, outcomes, readyOf, World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

const immutable = {
  ...orders,
  root: ["resources: { nats: { stream: { max_age: 48h } } }"],
  sluice: ["recreate: true"],
};

describe.each<[string, Exclude<Readiness, { kind: "ready" }>, string, string]>([
  ["refused", { kind: "refused", text: "secret ${env:P} is not defined" }, "refused", "Stalled"],
  ["not known", { kind: "unreachable", text: "no server answers" }, "waiting", "Reconciling"],
])("a change whose pipeline could not run, which is %s", (_title, readiness, result, condition) => {
  test.each([
    ["an edit", edited],
    ["a recreation", immutable],
  ])("leaves a running pipeline as it is: %s", async (_what, file) => {
    const reconciler = await world.after(orders);
    world.engine.calls.length = 0;
    world.engine.readiness = readiness;
    world.source.say(file);
    for (let turn = 0; turn < 3; turn += 1) expect(await outcomes(reconciler)).toEqual({ orders: result });
    expect(world.engine.calls).toEqual([]);
    expect(world.engine.get("orders").status).toBe("Running");
    expect(readyOf(reconciler)).toEqual(["False", "NotReady", condition]);
    expect(conditionOf(reconciler)?.message).toContain(readiness.text);
    expect(conditionOf(reconciler)?.message).toMatch(/^it runs on as it is, .*; next attempt at 2/);
  });

  test("is carried out when it could run, without another commit", async () => {
    const reconciler = await world.after(orders);
    world.engine.readiness = readiness;
    world.source.say(edited);
    await outcomes(reconciler);
    world.engine.readiness = { kind: "ready" };
    await expect.poll(() => outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
  });
});

test("a check that fails is no refusal, and a change that takes nothing down is not checked", async () => {
  const reconciler = await world.after(orders);
  world.engine.check = () => Promise.reject(new Error("its thread died"));
  world.source.say(edited);
  expect(await outcomes(reconciler)).toEqual({ orders: "waiting" });
  expect(conditionOf(reconciler)?.message).toContain("its thread died");
  world.source.say({ ...orders, name: "Another" });
  expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
});
