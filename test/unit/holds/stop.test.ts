import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { conditionOf, edited, orders, outcomes, readyOf, World } from "../apply/world.ts";

const sales = { id: "sales-eu" };
const movedOrders = { ...orders, id: "shop-orders", sluice: ["moved_from: orders"] };
const hour = 3_600_000;
const ada = { by: "ada", reason: "the table is full" };
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

const statusOf = (id = "orders"): string => world.engine.get(id).status;
const driftOf = (reconciler: Reconciler): string | undefined =>
  reconciler
    .snapshot()
    .pipelines.find(({ pipeline_id }) => pipeline_id === "orders")
    ?.conditions.find(({ type }) => type === "Drifted")?.message;

describe("a pipeline that an operator stops", () => {
  test("is stopped whatever its file says, and shows who did it, why and until when; the others run", async () => {
    const reconciler = await world.after(orders, sales);
    await reconciler.operator.stop("orders", hour, ada);
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect([statusOf(), statusOf("sales-eu")]).toEqual(["Stopped", "Running"]);
    await outcomes(reconciler);
    expect(readyOf(reconciler)).toEqual(["False", "StoppedByOperator", "Drifted"]);
    const said =
      /stopped by the operator ada since 2.*: the table is full; it runs again at 2.*, or after "sluice resume"/;
    expect(conditionOf(reconciler)?.message).toMatch(said);
    expect(driftOf(reconciler)).toMatch(said);
    const [record] = reconciler.history({ pipeline_id: "orders", limit: 1 }).records;
    expect(record?.plan.reason).toMatch(said);
  });

  test("stays so over a restart, and over an edit, which is made", async () => {
    const reconciler = await world.after(orders);
    await reconciler.operator.stop("orders", hour, ada);
    await outcomes(reconciler);
    const again = world.reconciler();
    world.source.say(edited);
    expect(await outcomes(again)).toEqual({ orders: "applied" });
    expect(statusOf()).toBe("Stopped");
    expect(world.engine.calls.at(-1)).toBe("update orders");
  });

  test("runs again when it is resumed, also where its file only reports drift", async () => {
    const reconciler = await world.after({ ...orders, sluice: ["drift: report"] });
    await reconciler.operator.stop("orders", hour, ada);
    await outcomes(reconciler);
    expect(await reconciler.operator.resume("orders", { by: "bob" })).toMatchObject({ hold: ada });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(statusOf()).toBe("Running");
    await outcomes(reconciler);
    expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    await expect(reconciler.operator.resume("orders", {})).rejects.toThrow("is not suspended");
  });

  test("runs again when its time is over", async () => {
    const reconciler = await world.after(orders);
    await reconciler.operator.stop("orders", 400, ada);
    await outcomes(reconciler);
    expect(statusOf()).toBe("Stopped");
    await expect.poll(async () => (await outcomes(reconciler), statusOf())).toBe("Running");
    await expect(reconciler.operator.stop("orders", 31 * 24 * hour, ada)).rejects.toThrow("at most 30 days");
  });

  test("is stopped also while it, or everything, is suspended, and nothing else is changed then", async () => {
    const reconciler = await world.after(orders, sales);
    await reconciler.operator.suspend("orders", {});
    await reconciler.operator.suspend(undefined, {});
    world.source.say(orders, { ...sales, name: "Another" });
    await reconciler.operator.stop("orders", hour, ada);
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect([statusOf(), world.engine.get("sales-eu").config.name]).not.toContain("Another");
    expect(statusOf()).toBe("Stopped");
    const { pipelines } = await world.inventory();
    expect(Object.keys(pipelines)).toEqual(["orders", "sales-eu"]);
  });

  test("stays so where it gets another id, by which it is resumed then", async () => {
    const reconciler = await world.after(orders);
    await reconciler.operator.stop("orders", hour, ada);
    await outcomes(reconciler);
    world.source.say(movedOrders);
    expect(await outcomes(reconciler)).toEqual({ "shop-orders": "applied" });
    expect(world.engine.calls.at(-1)).toBe("move shop-orders");
    expect(await outcomes(world.reconciler())).toEqual({});
    await outcomes(reconciler);
    expect(statusOf("shop-orders")).toBe("Stopped");
    expect(conditionOf(reconciler, "shop-orders")?.reason).toBe("StoppedByOperator");
    await reconciler.operator.resume("shop-orders", {});
    await outcomes(reconciler);
    expect(statusOf("shop-orders")).toBe("Running");
    await expect(reconciler.operator.resume("orders", {})).rejects.toThrow("is not suspended");
  });

  test.each(["orders", "shop-orders"])(
    "is resumed by %s where its file gives it another id, which waits",
    async (id) => {
      const reconciler = await world.after(orders);
      await reconciler.operator.suspend("orders", {});
      world.source.say(movedOrders);
      await outcomes(reconciler);
      expect(conditionOf(reconciler, "shop-orders")?.reason).toBe("Suspended");
      await reconciler.operator.resume(id, {});
      expect(await outcomes(reconciler)).toEqual({ "shop-orders": "applied" });
      expect(statusOf("shop-orders")).toBe("Running");
    },
  );

  test("by the new id of a move that waits for a suspension by the former one is stopped at once", async () => {
    const reconciler = await world.after(orders);
    await reconciler.operator.suspend("orders", {});
    world.source.say(movedOrders);
    await outcomes(reconciler);
    await reconciler.operator.stop("shop-orders", hour, ada);
    expect(await outcomes(reconciler)).toEqual({ "shop-orders": "applied" });
    expect(statusOf()).toBe("Stopped");
    // Both are lifted by either id, and the move is made.
    await reconciler.operator.resume("orders", {});
    expect(await outcomes(reconciler)).toEqual({ "shop-orders": "applied" });
    await outcomes(reconciler);
    expect(statusOf("shop-orders")).toBe("Running");
  });

  test("has to be one of this source", async () => {
    const reconciler = await world.after(orders);
    await expect(reconciler.operator.stop("sales-eu", hour, ada)).rejects.toThrow(
      'sales-eu: expected a pipeline that was created from this source, found none; "sluice get" lists them',
    );
    const { config, options } = world.engine.get("orders");
    await world.engine.create({ ...config, pipeline_id: "sales-eu" }, options);
    await expect(reconciler.operator.stop("sales-eu", hour, ada)).rejects.toThrow("found one that was not;");
  });
});
