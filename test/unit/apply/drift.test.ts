import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { conditionOf, edited, orders, outcomes, readyOf, signal, World } from "./world.ts";

let world: World;
let engine: World["engine"];
let source: World["source"];
let registry: Registry;
let reconciler: Reconciler;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  world = await World.make();
  ({ engine, source } = world);
  await begin(orders);
});

afterEach(async () => {
  vi.useRealTimers();
  await world.remove();
});

/** A reconciler that has carried out what these files say. */
async function begin(...pipelines: Parameters<typeof source.say>): Promise<void> {
  source.say(...pipelines);
  registry = new Registry();
  reconciler = world.reconciler({ registry });
  await reconciler.turn("start", signal);
  engine.calls.length = 0;
}

/** Turns, one every two minutes. */
async function turns(number: number): Promise<void> {
  for (let turn = 0; turn < number; turn += 1) {
    vi.setSystemTime(Date.now() + 120_000);
    await reconciler.turn("poll", signal);
  }
}

/** What the engine was asked to do since, apart from what the test did. */
const calls = (): string[] => engine.calls.splice(0);

async function count(name: string): Promise<number | undefined> {
  const metric = await registry.getSingleMetric(`sluice_gitops_${name}_total`)?.get();
  return metric?.values[0]?.value;
}

/** Somebody renames it again each time. */
async function fight(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await engine.rename("orders", "By hand");
    await turns(4);
  }
  await engine.rename("orders", "By hand");
  calls();
}

const told = (mode: string) => ({ id: "orders", sluice: [`drift: ${mode}`] });

describe("a change behind the back of a file", () => {
  test("is put back once, and counted once", async () => {
    engine.change("orders", { status: "Stopped" });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(calls()).toEqual(["resume orders"]);
    expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect(await outcomes(reconciler)).toEqual({});
    expect([await count("drift_detected"), await count("drift_corrected")]).toEqual([1, 1]);
  });

  test("that comes again at once is another one", async () => {
    for (let round = 0; round < 2; round += 1) {
      await engine.rename("orders", "By hand");
      await turns(1);
    }
    expect(engine.get("orders").config.name).toBe("Orders");
    expect([await count("drift_detected"), await count("drift_corrected")]).toEqual([2, 2]);
  });

  test("is only reported where the file says so, field by field, and is counted once", async () => {
    await begin(told("report"));
    await engine.rename("orders", "By hand");
    calls();
    await turns(3);
    expect(calls()).toEqual([]);
    expect(readyOf(reconciler)).toEqual(["True", "Drifted", "Drifted"]);
    expect(reconciler.snapshot().pipelines[0]?.conditions[1]).toMatchObject({
      reason: "DriftReported",
      message: 'name: "By hand" in the engine, "Orders" in its file',
    });
    expect(reconciler.snapshot().conditions[0]).toMatchObject({ type: "Ready", status: "True" });
    expect([await count("drift_detected"), await count("drift_corrected")]).toEqual([1, 0]);
    await engine.rename("orders", "Orders");
    await turns(1);
    expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
  });

  test("that stopped it is reported, and it is not Ready", async () => {
    await begin(told("report"));
    await engine.stop("orders");
    await turns(1);
    expect(readyOf(reconciler)).toEqual(["False", "Drifted", "Drifted"]);
  });

  test("is let be where the file says so", async () => {
    await begin(told("ignore"));
    await engine.rename("orders", "By hand");
    calls();
    await turns(2);
    expect(calls()).toEqual([]);
    expect(readyOf(reconciler)).toEqual(["True", "DriftIgnored"]);
    expect(await count("drift_detected")).toBe(0);
  });

  test("is found after a restart, and of a file of which only the way changed", async () => {
    await begin(told("report"));
    await engine.rename("orders", "By hand");
    await begin(told("report"));
    expect(readyOf(reconciler)).toEqual(["True", "Drifted", "Drifted"]);
    source.say(told("correct"));
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(reconciler.snapshot().pipelines[0]?.change).toMatchObject({ cause: "Drifted", kind: "rename" });
  });

  test("that failed half-way is tried again as a drift", async () => {
    await engine.tag("orders", ["by-hand"]);
    engine.onCall = () => {
      throw new Error("no");
    };
    expect(await outcomes(reconciler)).toEqual({ orders: "failed" });
    engine.onCall = () => undefined;
    expect(reconciler.snapshot().pipelines[0]?.conditions.map(({ type }) => type)).toContain("Drifted");
    await turns(1);
    expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect(await count("drift_corrected")).toBe(1);
  });

  test("that deleted it makes it again", async () => {
    await engine.stop("orders");
    await engine.delete("orders");
    calls();
    await turns(1);
    expect(calls()).toEqual(["create orders"]);
    expect(reconciler.snapshot().pipelines[0]?.change).toMatchObject({ cause: "Drifted", kind: "create" });
  });
});

describe("a pipeline that an edit of ours left stopped", () => {
  test("is no drift, also where the edit is taken back", async () => {
    source.say({ ...edited, sluice: ["drift: report"] });
    engine.onCall = (call) => {
      if (call === "update" || call === "resume") throw new Error("no");
    };
    expect(await outcomes(reconciler)).toEqual({ orders: "failed" });
    // A resume that fails leaves it as it was.
    engine.change("orders", { status: "Stopped" });
    engine.onCall = () => undefined;
    await begin(told("report"));
    expect(engine.get("orders").status).toBe("Running");
    expect(reconciler.snapshot().pipelines[0]?.change).toMatchObject({ cause: "StateWished" });
  });
});

describe("a fight", () => {
  test("ends after five corrections within an hour, also across a restart, and is counted once", async () => {
    await fight(4);
    await turns(4);
    expect(calls()).toEqual(["rename orders"]);
    await engine.rename("orders", "By hand");
    calls();
    await turns(3);
    expect(calls()).toEqual([]);
    expect(readyOf(reconciler)).toEqual(["False", "DriftFight", "Stalled", "Drifted"]);
    expect(conditionOf(reconciler)?.message).toContain("name changed; it was corrected 5 times within an hour");
    expect([await count("fights"), await count("drift_corrected")]).toEqual([1, 5]);

    await begin(orders);
    vi.setSystemTime(Date.now() + 24 * 3_600_000);
    await reconciler.turn("manual", signal);
    expect(calls()).toEqual([]);
    expect([readyOf(reconciler)[1], await count("fights")]).toEqual(["DriftFight", 0]);
  });

  test.each([
    ["the file changes", [{ id: "orders", name: "Another" }], ["rename orders"]],
    ["it is suspended and resumed", [{ id: "orders", sluice: ["suspend: true"] }, orders], ["rename orders"]],
  ])("begins anew when %s", async (_title, files, made) => {
    await fight(5);
    await turns(1);
    expect(readyOf(reconciler)).toContain("DriftFight");
    for (const file of files) {
      source.say(file);
      await turns(1);
    }
    expect(calls()).toEqual(made);
    await engine.rename("orders", "By hand");
    await turns(1);
    expect(engine.get("orders").config.name).not.toBe("By hand");
  });

  test("is over when the other side gives in", async () => {
    await fight(5);
    await turns(1);
    await engine.rename("orders", "Orders");
    await turns(1);
    expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    vi.setSystemTime(Date.now() + 3_600_000);
    await engine.rename("orders", "By hand");
    await turns(1);
    expect(engine.get("orders").config.name).toBe("Orders");
  });

  test("is slower each time, and the next try is told", async () => {
    await fight(1);
    vi.setSystemTime(Date.now() - 350_000);
    await reconciler.turn("manual", signal);
    expect(calls()).toEqual([]);
    expect(readyOf(reconciler)).toEqual(["False", "Drifted", "Reconciling", "Drifted"]);
    expect(conditionOf(reconciler)?.message).toContain(
      "it was corrected 1 time within an hour, and is corrected again at",
    );
  });
});

test("the inventory holds no secret, and little of what it remembers", async () => {
  await begin({ id: "orders", connection: ["password: c4n4ry"] });
  for (let round = 0; round < 30; round += 1) {
    await engine.rename("orders", `By hand ${round}`);
    await turns(1);
  }
  const text = JSON.stringify(await world.inventory());
  expect(text).not.toContain("c4n4ry");
  expect(text.length).toBeLessThan(4_000);
});
