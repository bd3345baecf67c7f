import { writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Registry } from "prom-client";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { keptLog } from "../../support/engine.ts";
import { conditionOf, World, edited, orders, outcomes, readyOf, signal } from "../apply/world.ts";

/** A condition that is awaited holds soon, also where other tests run at the same time. */

const sales = { id: "sales-eu" };
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

const ada = { by: "ada", reason: "the table is moved" };
const causes = (reconciler: Reconciler) =>
  Object.fromEntries(reconciler.snapshot().pipelines.map(({ pipeline_id, change }) => [pipeline_id, change.cause]));
const sourceOf = (reconciler: Reconciler) =>
  reconciler.snapshot().conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

describe("a pipeline that is suspended", () => {
  test("is not edited, not pruned and not resumed, also after a restart, and the others are", async () => {
    const reconciler = await world.after(orders, sales);
    await reconciler.operator.suspend("orders", ada);
    const renamed = { ...sales, name: "Other" };
    world.source.say(edited, renamed);
    expect(await outcomes(reconciler)).toEqual({ "sales-eu": "applied" });
    expect(causes(reconciler)).toEqual({ orders: "Suspended", "sales-eu": "Changed" });
    expect(readyOf(reconciler)).toEqual(["False", "Suspended", "Suspended"]);
    expect(conditionOf(reconciler)?.message).toMatch(
      /^suspended by ada since .*: the table is moved; .*; what waits for that: transforms.* changed/,
    );
    expect(sourceOf(reconciler)).toEqual(["Ready True ReconciliationSucceeded"]);
    expect(reconciler.snapshot().conditions[0]?.message).toMatch(/, but for what is suspended: orders$/);

    const again = world.reconciler();
    world.source.say(renamed);
    await outcomes(again);
    expect(causes(again)["orders"]).toBe("Suspended");
    expect(world.engine.get("orders").status).toBe("Running");
    expect(again.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === "orders")).toMatchObject({
      suspended: true,
      suspension: ada,
      change: { reason: expect.stringContaining("suspended by ada since ") as string },
    });

    await again.operator.resume("orders", {});
    expect(await outcomes(again)).toEqual({ orders: "applied" });
    expect(world.engine.calls).toEqual([
      "create orders",
      "create sales-eu",
      "rename sales-eu",
      "stop orders",
      "delete orders",
    ]);
  });

  test("is not created", async () => {
    const reconciler = await world.after(sales);
    world.source.say(orders, sales);
    await reconciler.operator.suspend(undefined, {});
    await outcomes(reconciler);
    await reconciler.operator.suspend("orders", ada);
    await reconciler.operator.resume(undefined, {});
    expect(await outcomes(reconciler)).toEqual({});
    expect(world.engine.pipelines.has("orders")).toBe(false);
  });

  test("has an operation that is under way carried to its end, and nothing after it", async () => {
    const reconciler = await world.after(orders);
    world.source.say(edited);
    const goOn = world.holdUp("stop");
    expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    expect(await reconciler.operator.suspend("orders", ada)).toMatchObject({ under_way: ["orders"] });
    world.source.say({ ...orders, expression: "id > 2" });
    expect(await outcomes(reconciler)).toEqual({});
    goOn();
    await expect.poll(() => world.engine.calls.at(-1)).toBe("resume orders");
    expect(world.engine.get("orders").status).toBe("Running");
    expect(await outcomes(reconciler)).toEqual({});
    expect(world.engine.calls.filter((call) => call.startsWith("update"))).toEqual(["update orders"]);
  });

  test("must be one that is known", async () => {
    const reconciler = await world.after(orders);
    await expect(reconciler.operator.suspend("order", {})).rejects.toThrow("there is no pipeline order, and no file");
  });

  test("tells the metrics since when", async () => {
    const registry = new Registry();
    world.source.say(orders, { ...sales, sluice: ["suspend: true"] });
    const reconciler = world.reconciler({ registry });
    await reconciler.turn("start", signal);
    const { hold } = await reconciler.operator.suspend("orders", ada);
    await reconciler.turn("poll", signal);
    const text = await registry.metrics();
    const name = "sluice_gitops_suspended_since_timestamp_seconds";
    expect(text).toContain(`${name}{pipeline_id="orders"} ${Date.parse(hold.since) / 1000}`);
    expect(text).toContain(`${name}{pipeline_id="sales-eu"} 1`);
    expect(text).toContain("sluice_gitops_everything_suspended_since_timestamp_seconds 0");
    expect(text).toContain('sluice_gitops_condition{pipeline_id="orders",type="Suspended",status="True"} 1');
  });
});

describe("everything, suspended", () => {
  test("is planned and not applied, and the plan is shown", async () => {
    const reconciler = await world.after(orders);
    await reconciler.operator.suspend(undefined, ada);
    world.source.say(edited, sales);
    expect(await outcomes(reconciler)).toEqual({});
    expect(causes(reconciler)).toEqual({ orders: "Changed", "sales-eu": "New" });
    expect(readyOf(reconciler)).toEqual(["False", "Suspended", "Suspended"]);
    expect(sourceOf(reconciler)).toEqual(["Ready False Suspended", "Suspended True EverythingSuspended"]);
    expect(reconciler.snapshot().history[0]?.plan).toContain("1 update, 1 create");
    expect(world.engine.calls).toEqual(["create orders"]);

    await reconciler.operator.resume(undefined, {});
    expect(await outcomes(reconciler)).toEqual({ orders: "applied", "sales-eu": "applied" });
    expect(sourceOf(reconciler)).toEqual(["Ready True ReconciliationSucceeded"]);
  });

  test("in the middle of many changes begins no more of them", async () => {
    const reconciler = await world.after(sales);
    const many = Array.from({ length: 40 }, (_, index) => ({ id: `orders-${index}` }));
    const goOn = world.holdUp("create");
    world.source.say(sales, ...many);
    await outcomes(reconciler);
    const begun = world.engine.calls.length;
    expect((await reconciler.operator.suspend(undefined, ada)).under_way).toHaveLength(40);
    goOn();
    await expect.poll(() => reconciler.operator.answerTo("2000-01-01T00:00:00.000Z").under_way).toEqual([]);
    expect(world.engine.calls).toHaveLength(begun);
    expect(world.engine.pipelines.size).toBe(begun);
  });

  test("is what a damaged file means", async () => {
    await world.after(orders);
    await writeFile(`${world.dataDir}/holds.json`, "{");
    const log = keptLog();
    const reconciler = world.reconciler({ log });
    world.source.say(edited);
    expect(await outcomes(reconciler)).toEqual({});
    expect(reconciler.snapshot().suspension?.reason).toContain("holds.json is damaged");
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    await reconciler.operator.resume(undefined, {});
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
  });
});
