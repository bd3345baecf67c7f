import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { conditionOf, orders, outcomes, paused, readyOf, signal, World } from "./world.ts";

let world: World;
let engine: World["engine"];
let source: World["source"];

beforeEach(async () => {
  world = await World.make();
  ({ engine, source } = world);
});

afterEach(() => world.remove());

/** A reconciler of two pipelines, one of which has these facts when its file goes. */
async function removed(facts: Parameters<World["engine"]["change"]>[1]): Promise<Reconciler> {
  const reconciler = await world.after(orders, { id: "other" });
  engine.change("orders", facts);
  engine.calls.length = 0;
  source.say({ id: "other" });
  return reconciler;
}

describe("a pipeline whose file is gone", () => {
  test("refuses new events first, writes what it has, and is deleted", async () => {
    const reconciler = await removed({ held: 3, pending: 1 });
    const taken: boolean[] = [];
    engine.onCall = (_call, id) => void taken.push(engine.takesEvents(id));
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls).toEqual(["stop orders", "delete orders"]);
    expect(taken).toEqual([false, false]);
  });

  test("that cannot write goes on trying without new events, says what it holds, and is deleted when it is mended", async () => {
    const reconciler = await removed({ held: 3, pending: 2, letters: 1, paused });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    const held = {
      status: "False",
      reason: "EventsHeld",
      message: expect.stringMatching(/3 accepted events, 2 pending batches and 1 dead letter\. .*Ways out: /) as string,
    };
    expect(conditionOf(reconciler)).toMatchObject(held);
    expect(engine.calls).toEqual(["stop orders", "resume orders"]);
    expect([engine.get("orders").status, engine.takesEvents("orders")]).toEqual(["Running", false]);

    expect(await outcomes(reconciler)).toEqual({});
    expect(readyOf(reconciler)).toEqual(["False", "EventsHeld", "Stalled"]);
    expect(conditionOf(reconciler)?.message).toContain("It cannot write: the table is missing");

    engine.change("orders", { paused: undefined });
    expect(await outcomes(reconciler)).toEqual({});
    expect(readyOf(reconciler)).toEqual(["Unknown", "Progressing", "Reconciling"]);

    engine.change("orders", { held: 0, pending: 0 });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    expect(readyOf(reconciler)).toEqual(["False", "DeadLettersHeld", "Stalled"]);

    engine.change("orders", { letters: 0 });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.pipelines.has("orders")).toBe(false);
    expect((await world.inventory()).pipelines).not.toHaveProperty("orders");
  });

  test("that has dead letters stays at rest, takes no events, and is deleted when they are taken out", async () => {
    const reconciler = await removed({ letters: 2 });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    expect(conditionOf(reconciler)).toMatchObject({
      reason: "DeadLettersHeld",
      message: expect.stringContaining("2 dead letters. Ways out: take the dead letters out with sluice dlq") as string,
    });
    expect([engine.get("orders").status, engine.takesEvents("orders")]).toEqual(["Stopped", false]);
    engine.change("orders", { letters: 0 });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls).toEqual(["stop orders", "delete orders"]);
  });

  test("that was at rest takes no event between the look at it and its deletion", async () => {
    const reconciler = await removed({ status: "Stopped" });
    engine.onCall = (call, id) => {
      if (call === "delete") expect(engine.takesEvents(id)).toBe(false);
    };
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls).toEqual(["stop orders", "delete orders"]);
  });

  test("that cannot even be started says so, and is not tried for ever", async () => {
    const reconciler = await removed({ held: 3, paused });
    engine.onCall = (call) => {
      if (call !== "resume") return;
      engine.change("orders", { status: "Failed", failure: "secret ${env:P} is not set" });
      throw new EngineError("SECRET_NOT_FOUND", "secret ${env:P} is not set");
    };
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    engine.change("orders", { paused: undefined });
    expect(await outcomes(reconciler)).toEqual({});
    expect(conditionOf(reconciler)).toMatchObject({
      reason: "EventsHeld",
      message: expect.stringContaining("It cannot write: secret ${env:P} is not set") as string,
    });
    expect(engine.calls).toEqual(["stop orders", "resume orders"]);
  });

  test("takes events again when its file is put back, also while it is still being stopped", async () => {
    const reconciler = await removed({ held: 3 });
    const stopped = world.holdUp("stop");
    expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    source.say(orders, { id: "other" });
    expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    stopped();
    await expect.poll(() => readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect(engine.takesEvents("orders")).toBe(true);
    expect(engine.calls).toEqual(["stop orders", "resume orders"]);
  });

  test("takes events again when its file is put back while it cannot write", async () => {
    const reconciler = await removed({ held: 3, paused });
    await outcomes(reconciler);
    source.say(orders, { id: "other" });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect([engine.get("orders").status, engine.takesEvents("orders")]).toEqual(["Running", true]);
    expect(engine.calls.slice(2)).toEqual(["stop orders", "resume orders"]);
  });

  test("is deleted with what it holds where its file had it terminated", async () => {
    const reconciler = await removed({ status: "Terminated", letters: 2, pending: 1 });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls).toEqual(["delete orders"]);
  });

  test("that is held back is counted once, however much it still writes", async () => {
    const registry = new Registry();
    source.say(orders, { id: "other" });
    const reconciler = world.reconciler({ registry });
    await reconciler.turn("start", signal);
    engine.change("orders", { held: 3, paused });
    source.say({ id: "other" });
    for (const held of [3, 2, 1]) {
      engine.change("orders", { held });
      await reconciler.turn("poll", signal);
    }
    expect(await registry.metrics()).toContain('sluice_gitops_prune_blocked_total{reason="EventsHeld"} 1');
  });
});
