import { EventEmitter, once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { edited, orders, outcomes, patience, readyOf, World } from "./world.ts";

let world: World;
let engine: World["engine"];
let source: World["source"];

beforeEach(async () => {
  world = await World.make();
  ({ engine, source } = world);
});

afterEach(() => world.remove());

/** A reconciler whose edit waits for the stop that it begins with, and what ends that. */
async function waiting(): Promise<{ reconciler: Reconciler; stopped: () => void }> {
  const reconciler = await world.after(orders);
  const stopped = world.holdUp("stop");
  source.say(edited);
  expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
  return { reconciler, stopped };
}

/** Revisions with what became of their changes, newest first. */
const results = (reconciler: Reconciler): (string | undefined)[][] =>
  reconciler.snapshot().history.map((entry) => [entry.revision, ...entry.outcomes.map(({ result }) => result)]);

describe("an edit that waits for a stop", () => {
  test("says how many batches it waits for, and why", async () => {
    const { reconciler } = await waiting();
    const paused = { class: "transient", since: "", text: "no answer from clickhouse:8123", way_out: "" } as const;
    engine.change("orders", { pending: 3, paused });
    expect(reconciler.snapshot().pipelines[0]?.conditions).toMatchObject([
      { type: "Ready", status: "Unknown", reason: "PendingBatch" },
      {
        type: "Reconciling",
        status: "True",
        reason: "PendingBatch",
        message:
          "a change is under way: stop, update, resume; it stops after 3 prepared batches: no answer from clickhouse:8123",
      },
    ]);
    engine.change("orders", { pending: 0 });
    expect(readyOf(reconciler)).toEqual(["Unknown", "Progressing", "Reconciling"]);
  });

  test("is replaced by a newer commit: only that one is made, as soon as the stop has ended", async () => {
    const { reconciler, stopped } = await waiting();
    source.say({ ...orders, expression: "id > 2" });
    expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    stopped();
    await expect.poll(() => readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect(engine.calls).toEqual(["create orders", "stop orders", "update orders", "resume orders"]);
    expect(engine.get("orders").config.transforms[0]).toMatchObject({ config: { expression: "id > 2" } });
    expect(results(reconciler)).toEqual([
      ["test@3", "applied"],
      ["test@2", "replaced"],
      ["test@1", "applied"],
    ]);
    expect(await outcomes(reconciler)).toEqual({});
  });

  test("is replaced by the newest of several commits", async () => {
    const { reconciler, stopped } = await waiting();
    for (const id of [2, 3, 4]) {
      source.say({ ...orders, expression: `id > ${id}` });
      expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    }
    stopped();
    await expect.poll(() => readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect(engine.calls.slice(2)).toEqual(["update orders", "resume orders"]);
    expect(engine.get("orders").config.transforms[0]).toMatchObject({ config: { expression: "id > 4" } });
    expect(results(reconciler).map(([, result]) => result)).toEqual([
      "applied",
      "replaced",
      "replaced",
      "replaced",
      "applied",
    ]);
  });

  test("is taken back: the pipeline goes on as it was, without an edit", async () => {
    const { reconciler, stopped } = await waiting();
    source.say(orders);
    expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    stopped();
    await expect.poll(() => readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect(engine.calls.slice(1)).toEqual(["stop orders", "resume orders"]);
  });

  test("gives way to state: Stopped, which needs no further call", async () => {
    const { reconciler, stopped } = await waiting();
    source.say({ ...orders, sluice: ["state: Stopped"] });
    await outcomes(reconciler);
    stopped();
    await expect.poll(() => readyOf(reconciler)).toEqual(["True", "Stopped"]);
    expect(engine.calls.slice(1)).toEqual(["stop orders"]);
  });

  test("gives way to the deletion when its file goes", async () => {
    const { reconciler, stopped } = await waiting();
    source.say({ id: "other" });
    await outcomes(reconciler);
    stopped();
    await expect.poll(() => engine.pipelines.has("orders")).toBe(false);
    expect(engine.calls.filter((call) => call.endsWith("orders")).slice(1)).toEqual([
      "stop orders",
      "stop orders",
      "delete orders",
    ]);
  });

  test("is carried to its end where a newer commit is refused: the pipeline does not stay stopped", async () => {
    const { reconciler, stopped } = await waiting();
    source.say({ ...orders, root: ["resources: { nats: { stream: { max_age: 48h } } }"] });
    expect(await outcomes(reconciler)).toEqual({});
    stopped();
    const ready = async (): Promise<unknown> => (await outcomes(reconciler), readyOf(reconciler));
    await expect.poll(ready).toEqual(["False", "ImmutableField", "Stalled"]);
    expect(engine.get("orders").status).toBe("Running");
    expect(engine.get("orders").config.transforms[0]).toMatchObject({ config: { expression: "id > 1" } });
  });

  test("that ends otherwise than with a stop is planned anew, for the newest commit", async () => {
    const reconciler = await world.after(orders);
    const gate = new EventEmitter();
    world.applyTimeout = 200;
    engine.onCall = async (call) => {
      if (call !== "stop") return;
      await once(gate, "open");
      engine.change("orders", { status: "Failed", failure: "the disk broke" });
      throw new Error("the disk broke");
    };
    source.say(edited);
    await outcomes(reconciler);
    source.say({ ...orders, expression: "id > 2" });
    expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    gate.emit("open");
    await expect.poll(() => readyOf(reconciler)).toEqual(["False", "ReconciliationFailed", "Reconciling"]);
    expect(reconciler.snapshot().pipelines[0]?.outcome?.message).toContain(
      "(stop: the disk broke): a new plan is made",
    );
    world.applyTimeout = patience;
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls.slice(2)).toEqual(["update orders", "resume orders"]);
    expect(engine.get("orders").config.transforms[0]).toMatchObject({ config: { expression: "id > 2" } });
  });

  test("and was replaced lets the pipeline go on where the newer one is blocked by another pipeline", async () => {
    const reconciler = await world.after(orders, { id: "other" });
    const stopped = world.holdUp("stop");
    source.say(edited, { id: "other" });
    await outcomes(reconciler);
    const hold = engine.onCall;
    engine.onCall = (call, id) => {
      if (id === "other") throw new Error("no room");
      return hold(call, id);
    };
    source.say({ ...orders, expression: "id > 2", sluice: ["depends_on: [other]"] }, { id: "other", name: "Sales" });
    const outcomeOf = (id: string): object | undefined =>
      reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === id)?.outcome;
    expect(await outcomes(reconciler)).toMatchObject({ orders: "under way" });
    await expect.poll(() => outcomeOf("other")).toMatchObject({ result: "failed" });
    stopped();
    await expect.poll(() => engine.get("orders").status).toBe("Running");
    expect(outcomeOf("orders")).toMatchObject({
      result: "blocked",
      message: expect.stringContaining("no room; the pipeline was resumed with its old config") as string,
    });
  });
});
