import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import type { LiveState } from "../../../reconciler/preview/live-state.ts";
import { edited, orders, outcomes, readyOf, signal, World } from "./world.ts";

let world: World;
let engine: World["engine"];
let source: World["source"];

beforeEach(async () => {
  world = await World.make();
  ({ engine, source } = world);
});

afterEach(async () => {
  vi.useRealTimers();
  await world.remove();
});

describe("a change that fails", () => {
  test("leaves the other pipelines alone, and is tried again after a back-off", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    source.say(orders, { id: "other" });
    engine.onCall = (_call, id) => {
      if (id === "orders") throw new Error("no room");
    };
    const reconciler = world.reconciler();
    expect(await outcomes(reconciler)).toEqual({ orders: "failed", other: "applied" });
    expect(readyOf(reconciler)).toEqual(["False", "ReconciliationFailed", "Reconciling"]);
    expect(readyOf(reconciler, "other")).toEqual(["True", "ReconciliationSucceeded"]);
    engine.onCall = () => undefined;
    expect(await outcomes(reconciler)).toEqual({ orders: "waiting" });
    vi.setSystemTime(1_001_001);
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
  });

  test("waits twice as long each time, up to five minutes", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    source.say(orders);
    engine.onCall = () => {
      throw new Error("no room");
    };
    const reconciler = world.reconciler();
    const waits: number[] = [];
    for (let count = 0; count < 11; count++) {
      const [outcome] = (await reconciler.turn("poll", signal)).outcomes ?? [];
      const next = Date.parse(outcome?.next_attempt ?? "");
      waits.push((next - Date.now()) / 1000);
      vi.setSystemTime(next);
    }
    const longest = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300];
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeLessThanOrEqual(longest[index] ?? 0);
      expect(wait).toBeGreaterThanOrEqual(0.8 * (longest[index] ?? 0) - 0.001);
    }
  });

  test("is tried at once when its file changes", async () => {
    source.say(orders);
    engine.onCall = () => {
      throw new Error("no room");
    };
    const reconciler = world.reconciler();
    expect(await outcomes(reconciler)).toEqual({ orders: "failed" });
    engine.onCall = () => undefined;
    source.say(edited);
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
  });

  test("in the middle of an edit lets the pipeline go on as it was", async () => {
    source.say(orders);
    const reconciler = world.reconciler();
    await reconciler.turn("start", signal);
    source.say(edited);
    engine.onCall = (call) => {
      if (call === "update") throw new EngineError("SECRET_NOT_FOUND", "secret ${env:P} is not set");
    };
    const [outcome] = (await reconciler.turn("poll", signal)).outcomes ?? [];
    expect(outcome).toMatchObject({ result: "failed", call: "update" });
    expect(outcome?.message).toBe("update: secret ${env:P} is not set; the pipeline was resumed with its old config");
    expect(engine.calls.slice(1)).toEqual(["stop orders", "update orders", "resume orders"]);
    expect(engine.get("orders").status).toBe("Running");
  });

  test("holds up what depends on it", async () => {
    source.say(orders, { id: "after", sluice: ["depends_on: [orders]"] });
    engine.onCall = (_call, id) => {
      if (id === "orders") throw new Error("no room");
    };
    const reconciler = world.reconciler();
    expect(await outcomes(reconciler)).toEqual({ orders: "failed", after: "blocked" });
    expect(readyOf(reconciler, "after")).toEqual(["False", "DependencyNotReady", "Reconciling"]);
  });

  test("by failing again after each resume is given up until a person changes something", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    source.say(orders);
    const reconciler = world.reconciler();
    await reconciler.turn("start", signal);
    const results: string[] = [];
    for (let count = 0; count < 7; count++) {
      Object.assign(engine.pipelines.get("orders") ?? {}, { status: "Failed", failure: "the table is gone" });
      vi.setSystemTime(Date.now() + 600_000);
      results.push((await outcomes(reconciler))["orders"] ?? "");
    }
    expect(results).toEqual([...Array<string>(5).fill("applied"), "refused", "refused"]);
    expect(readyOf(reconciler)).toEqual(["False", "ReconciliationFailed", "Stalled"]);
  });
});

describe("a slow change", () => {
  test("delays no other, is left alone by the next turns, and is reported when it ends", async () => {
    source.say(orders);
    const reconciler = world.reconciler();
    await reconciler.turn("start", signal);
    const stopped = world.holdUp("stop");
    source.say(edited, { id: "other" });
    expect(await outcomes(reconciler)).toMatchObject({ orders: "under way" });
    await expect.poll(() => readyOf(reconciler, "other")).toEqual(["True", "ReconciliationSucceeded"]);
    expect(readyOf(reconciler)).toEqual(["Unknown", "Progressing", "Reconciling"]);
    source.say(edited, { id: "other", name: "Sales" });
    expect(Object.keys(await outcomes(reconciler))).toEqual(["other"]);
    await expect.poll(() => engine.get("other").config.name).toBe("Sales");
    stopped();
    await expect.poll(() => readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect(reconciler.snapshot().history.flatMap(({ outcomes: all }) => all.map(({ result }) => result))).not.toContain(
      "under way",
    );
    expect(await outcomes(reconciler)).toEqual({});
    expect(engine.get("orders").config.transforms[0]).toMatchObject({ config: { expression: "id > 1" } });
  });
});

describe("what a plan depends on, while changes are carried out", () => {
  test("names their revision and what its files say, and not the turn before", async () => {
    const reconciler = await world.after(orders);
    source.say(orders, { id: "other", sluice: ["prune: false"] });
    let seen: LiveState | undefined;
    engine.onEffect = () => void (seen = reconciler.actual());
    await reconciler.turn("poll", signal);
    expect(seen!.revision).toBe("test@2");
    expect(seen!.pipelines.find(({ pipeline_id }) => pipeline_id === "other")?.directives?.prune).toBe(false);
  });

  test("stays what it was where the source cannot be read", async () => {
    const reconciler = await world.after({ ...orders, sluice: ["prune: false"] });
    source.fetch = () => Promise.reject(new Error("no network"));
    await reconciler.turn("poll", signal);
    expect(reconciler.actual().pipelines[0]?.directives?.prune).toBe(false);
  });
});

describe("the inventory", () => {
  test("has a pipeline before it is created, so that a crash leaves none behind", async () => {
    source.say(orders);
    let seen: object = {};
    engine.onCall = async () => {
      seen = (await world.inventory()).pipelines;
      throw new Error("the process dies here");
    };
    await world.reconciler().turn("start", signal);
    expect(seen).toHaveProperty("orders");
  });

  test("takes over what was created by a process that died, and may prune it", async () => {
    source.say(orders, { id: "other" });
    engine.onCall = (_call, id) => {
      if (id === "orders") throw new Error("the process dies here");
    };
    await world.reconciler().turn("start", signal);
    engine.onCall = () => undefined;
    source.say({ id: "other" });
    expect(Object.keys((await world.inventory()).pipelines)).toEqual(["orders", "other"]);
    await world.reconciler().turn("start", signal);
    expect(Object.keys((await world.inventory()).pipelines)).toEqual(["other"]);
  });

  test("keeps a pipeline whose deletion failed, and deletes it later", async () => {
    source.say(orders, { id: "other" });
    const reconciler = world.reconciler();
    await reconciler.turn("start", signal);
    source.say({ id: "other" });
    engine.onCall = (call) => {
      if (call === "delete") throw new Error("busy");
    };
    expect(await outcomes(reconciler)).toEqual({ orders: "failed" });
    expect((await world.inventory()).pipelines).toHaveProperty("orders");
    engine.onCall = () => undefined;
    expect(await outcomes(world.reconciler())).toEqual({ orders: "applied" });
    expect((await world.inventory()).pipelines).not.toHaveProperty("orders");
  });

  test("that is damaged is an error, not an empty one", async () => {
    await writeFile(join(world.dataDir, "reconciler.json"), '{"version":1,"pipe');
    expect(() => world.reconciler()).toThrow("expected JSON, found a file that is damaged");
  });

  test("of a newer version is refused", async () => {
    await writeFile(join(world.dataDir, "reconciler.json"), '{"version":2,"pipelines":{}}');
    expect(() => world.reconciler()).toThrow("expected version 1, found 2");
  });
});

describe("the status", () => {
  test("knows the last attempted and the last applied revision", async () => {
    source.say(orders);
    const reconciler = world.reconciler();
    await reconciler.turn("start", signal);
    expect(reconciler.snapshot()).toMatchObject({ lastAttemptedRevision: "test@1", lastAppliedRevision: "test@1" });
    source.say({ ...orders, root: ["resources: { nats: { stream: { max_age: 48h } } }"] });
    await reconciler.turn("poll", signal);
    expect(reconciler.snapshot()).toMatchObject({ lastAttemptedRevision: "test@2", lastAppliedRevision: "test@1" });
    expect(reconciler.snapshot().pipelines[0]).toMatchObject({ lastAppliedRevision: "test@1" });
    expect(readyOf(reconciler)).toEqual(["False", "ImmutableField", "Stalled"]);
    expect(reconciler.snapshot().conditions.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      "Ready ReconciliationIncomplete",
      "Stalled ReconciliationIncomplete",
    ]);
  });

  test("is Ready only while the engine runs the pipeline and does not wait", async () => {
    source.say(orders);
    const reconciler = world.reconciler();
    await reconciler.turn("start", signal);
    const pipeline = engine.pipelines.get("orders");
    Object.assign(pipeline ?? {}, { paused: { class: "setup", since: "", text: "no table", way_out: "create it" } });
    expect(readyOf(reconciler)).toEqual(["False", "PausedSetup"]);
    Object.assign(pipeline ?? {}, { paused: undefined, status: "Failed" });
    expect(readyOf(reconciler)).toEqual(["False", "Failed"]);
  });

  test("keeps the time of a condition until its status or reason changes", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    source.say(orders);
    const reconciler = world.reconciler();
    await reconciler.turn("start", signal);
    const since = () => reconciler.snapshot().pipelines[0]?.conditions[0]?.lastTransitionTime;
    const first = since();
    vi.setSystemTime(2_000_000);
    expect(since()).toBe(first);
    Object.assign(engine.pipelines.get("orders") ?? {}, { status: "Failed" });
    expect(since()).toBe(new Date(2_000_000).toISOString());
  });

  test("remembers the last 20 turns that changed something", async () => {
    const reconciler = world.reconciler();
    for (let count = 0; count < 25; count++) {
      source.say({ ...orders, name: `Name ${count}` });
      await reconciler.turn("poll", signal);
      await reconciler.turn("poll", signal);
    }
    const { history } = reconciler.snapshot();
    expect(history).toHaveLength(20);
    expect(history[0]).toMatchObject({
      revision: "test@25",
      result: "success",
      outcomes: [{ kind: "rename", result: "applied" }],
    });
    expect(history[0]?.plan).toContain("+ Name 24");
  });
});

describe("metrics", () => {
  test("count turns, calls, refusals once, and forget pipelines that are gone", async () => {
    const registry = new Registry();
    source.say(orders, { id: "other" });
    const reconciler = world.reconciler({ registry });
    await reconciler.turn("start", signal);
    source.say({ ...orders, root: ["resources: { nats: { stream: { max_age: 48h } } }"] });
    await reconciler.turn("poll", signal);
    await reconciler.turn("poll", signal);
    const text = await registry.metrics();
    for (const line of [
      'sluice_gitops_reconcile_total{result="success",trigger="start"} 1',
      'sluice_gitops_reconcile_total{result="incomplete",trigger="poll"} 2',
      'sluice_gitops_operation_total{op="create",result="success"} 2',
      'sluice_gitops_operation_total{op="delete",result="success"} 1',
      'sluice_gitops_immutable_rejections_total{field="resources.nats.stream.max_age"} 1',
      "sluice_gitops_pruned_total 1",
      'sluice_gitops_condition{pipeline_id="orders",type="Stalled",status="True"} 1',
      'sluice_gitops_source_condition{type="Ready",status="False"} 1',
    ]) {
      expect(text).toContain(line);
    }
    expect(text).not.toContain('pipeline_id="other"');
  });
});
