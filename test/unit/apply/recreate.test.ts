import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { conditionOf, edited, orders, outcomes, paused, readyOf, signal, World } from "./world.ts";

let world: World;
let engine: World["engine"];
let source: World["source"];

beforeEach(async () => {
  world = await World.make();
  ({ engine, source } = world);
});

afterEach(() => world.remove());

const resources = ["resources: { nats: { stream: { max_age: 48h } } }"];
const wished = { ...orders, root: resources, sluice: ["recreate: true"] };

const maxAge = (): string => engine.get("orders").config.resources.nats.stream.max_age;

/** A reconciler of a pipeline with these facts, whose file asks for another value and for making it anew. */
async function asked(facts: Parameters<World["engine"]["change"]>[1] = {}): Promise<Reconciler> {
  const reconciler = await world.after(orders);
  engine.change("orders", facts);
  engine.calls.length = 0;
  source.say(wished);
  return reconciler;
}

describe("a pipeline that is made anew", () => {
  test("refuses new events, writes what it has, is deleted and created, and takes events again", async () => {
    const reconciler = await asked({ held: 3, pending: 1 });
    const taken: string[] = [];
    engine.onCall = (call, id) => void taken.push(`${call} ${engine.pipelines.has(id) && engine.takesEvents(id)}`);
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(taken).toEqual(["stop false", "delete false", "create false"]);
    expect([maxAge(), engine.get("orders").status, engine.takesEvents("orders")]).toEqual(["48h0m0s", "Running", true]);
    expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded"]);
    expect((await world.inventory()).pipelines).toHaveProperty("orders");
  });

  test("is not made anew again while its file still says recreate", async () => {
    const reconciler = await asked();
    await outcomes(reconciler);
    engine.calls.length = 0;
    expect(await outcomes(reconciler)).toEqual({});
    source.say({ ...wished, expression: "id > 1" });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls).toEqual(["stop orders", "update orders", "resume orders"]);
  });

  test("is recorded with what was lost", async () => {
    const reconciler = await asked({ letters: 2 });
    await outcomes(reconciler);
    const [entry] = reconciler.snapshot().history;
    expect(entry?.plan).toContain("lost: 2 dead letters, its access token");
    expect(entry?.outcomes).toEqual([{ pipeline_id: "orders", kind: "recreate", result: "applied" }]);
  });
});

describe("a pipeline that is to be made anew and cannot write", () => {
  test("goes on trying without new events, says what it holds, and is recreated when it is mended", async () => {
    const reconciler = await asked({ held: 3, pending: 2, letters: 1, paused });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    expect(engine.calls).toEqual(["stop orders", "resume orders"]);
    expect([engine.get("orders").status, engine.takesEvents("orders")]).toEqual(["Running", false]);
    expect(conditionOf(reconciler)).toMatchObject({
      reason: "EventsHeld",
      message: expect.stringMatching(
        /is recreated automatically .*: 3 accepted events and 2 pending batches\. /,
      ) as string,
    });

    expect(await outcomes(reconciler)).toEqual({});
    expect(readyOf(reconciler)).toEqual(["False", "EventsHeld", "Stalled"]);
    expect(conditionOf(reconciler)?.message).toContain("It cannot write: the table is missing");

    engine.change("orders", { paused: undefined });
    expect(await outcomes(reconciler)).toEqual({});
    expect(readyOf(reconciler)).toEqual(["Unknown", "Progressing", "Reconciling"]);

    engine.change("orders", { held: 0, pending: 0 });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect([maxAge(), engine.takesEvents("orders")]).toEqual(["48h0m0s", true]);
  });

  test("takes events again when the old value is put back, and keeps what it holds", async () => {
    const reconciler = await asked({ held: 3, paused });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    source.say(edited);
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls.slice(2)).toEqual(["stop orders", "update orders", "resume orders"]);
    expect([engine.health("orders").stream!.messages, engine.takesEvents("orders")]).toEqual([3, true]);
  });

  test("loses nothing where it is at rest already", async () => {
    const reconciler = await asked({ status: "Stopped", held: 3, paused });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    expect(engine.calls).toEqual(["resume orders", "stop orders", "resume orders"]);
    expect(engine.health("orders").stream!.messages).toBe(3);
  });
});

describe("a pipeline that reads a topic", () => {
  const reader = { ...orders, topic: "shop.orders" };
  const lag = { partitions: 1, lag: 0 };

  test("is made anew when its consumer group was told how far it came", async () => {
    const reconciler = await world.after(reader);
    engine.calls.length = 0;
    source.say({ ...reader, root: resources, sluice: ["recreate: true"] });
    const noBroker = { class: "source", since: "", text: "no broker answers", way_out: "" } as const;
    engine.change("orders", { source: { ...lag, uncommitted: 7 }, paused: noBroker });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    expect(engine.calls).toEqual(["stop orders", "resume orders"]);
    expect(await outcomes(reconciler)).toEqual({});
    expect(readyOf(reconciler)).toEqual(["False", "GroupBehind", "Stalled"]);
    expect(conditionOf(reconciler)?.message).toContain("7 offsets that are not committed to its consumer group");

    engine.change("orders", { paused: undefined });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.calls.slice(2)).toEqual(["stop orders", "delete orders", "create orders"]);
  });

  test("is deleted when it has joined its group again after a restart of the process", async () => {
    const reconciler = await world.after({ ...reader, sluice: ["state: Stopped"] }, { id: "other" });
    engine.calls.length = 0;
    engine.change("orders", { source: undefined });
    source.say({ id: "other" });
    expect(await outcomes(reconciler)).toEqual({ orders: "held" });
    expect(engine.calls).toEqual(["resume orders", "stop orders", "resume orders"]);
    expect(await outcomes(reconciler)).toEqual({});
    expect(readyOf(reconciler)).toEqual(["Unknown", "Progressing", "Reconciling"]);
    engine.change("orders", { source: { ...lag, uncommitted: 0 } });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
    expect(engine.pipelines.has("orders")).toBe(false);
  });
});

test("more dead letters than the plan said are not thrown away before a plan has said so", async () => {
  const reconciler = await asked({ held: 3, letters: 1 });
  engine.onCall = (call) => {
    if (call === "stop") engine.change("orders", { letters: 4 });
  };
  const { outcomes: first = [] } = await reconciler.turn("poll", signal);
  expect(first).toMatchObject([
    { result: "held", cause: "DeadLettersHeld", next_attempt: expect.any(String) as string },
  ]);
  expect(first[0]?.message).toContain("the plan counted 1 of its dead letters, now there are 4");
  expect(engine.pipelines.has("orders")).toBe(true);
  const { plan } = await reconciler.turn("retry", signal);
  expect(plan?.changes[0]).toMatchObject({ kind: "recreate", loses: { dead_letters: 4 } });
  expect(engine.calls).toEqual(["stop orders", "delete orders", "create orders"]);
});

test("a crash between deletion and creation leaves a file without a pipeline, which is created", async () => {
  const reconciler = await asked();
  engine.onCall = (call) => {
    if (call === "create") throw new Error("the process dies here");
  };
  expect(await outcomes(reconciler)).toEqual({ orders: "failed" });
  expect(engine.pipelines.has("orders")).toBe(false);
  expect((await world.inventory()).pipelines).toHaveProperty("orders");
  engine.onCall = () => undefined;
  expect(await outcomes(world.reconciler())).toEqual({ orders: "applied" });
  expect(maxAge()).toBe("48h0m0s");
});

test("a creation that fails says that the old pipeline is gone, and is tried again", async () => {
  const reconciler = await asked();
  engine.onCall = (call) => {
    if (call === "create") throw new EngineError("SECRET_NOT_FOUND", "secret ${env:P} is not set");
  };
  const { outcomes: made = [] } = await reconciler.turn("poll", signal);
  expect(made).toMatchObject([
    {
      result: "failed",
      call: "create",
      message:
        "create: secret ${env:P} is not set; the old pipeline is deleted, and the creation of the new one is tried again",
      next_attempt: expect.any(String) as string,
    },
  ]);
});

/** Takes a turn, and gives Ready after it. */
async function ready(reconciler: Reconciler): Promise<(string | undefined)[]> {
  await outcomes(reconciler);
  return readyOf(reconciler);
}

describe("a recreation that waits for its stop", () => {
  test("is taken back: the pipeline goes on, and takes events", async () => {
    const reconciler = await asked({ held: 3 });
    const stopped = world.holdUp("stop");
    expect(await outcomes(reconciler)).toEqual({ orders: "under way" });
    source.say({ ...orders, root: resources });
    await outcomes(reconciler);
    stopped();
    await expect.poll(() => engine.get("orders").status).toBe("Running");
    expect(engine.calls).toEqual(["stop orders", "resume orders"]);
    expect(engine.takesEvents("orders")).toBe(true);
    await expect.poll(() => ready(reconciler)).toEqual(["False", "ImmutableField", "Stalled"]);
  });

  test("gives way to the deletion when its file goes", async () => {
    const reconciler = await asked();
    const stopped = world.holdUp("stop");
    await outcomes(reconciler);
    source.say({ id: "other" });
    await outcomes(reconciler);
    stopped();
    await expect.poll(() => engine.pipelines.has("orders")).toBe(false);
    expect(engine.calls.filter((call) => call.endsWith("orders"))).not.toContain("create orders");
  });
});
