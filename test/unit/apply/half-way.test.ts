import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import type { Call } from "../../../reconciler/plan/calls.ts";
import { printPlan } from "../../../reconciler/plan/render/index.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";
import { edited, orders, outcomes, readyOf, signal, World } from "./world.ts";

let world: World;

beforeEach(async () => void (world = await World.make()));
afterEach(() => world.remove());

const resources = ["resources: { nats: { stream: { max_age: 48h } } }"];
const hot: PipelineText = { ...orders, name: "Sales", tags: ["a"], sluice: ["on_lost: skip"] };
const stopped: PipelineText = { ...orders, sluice: ["state: Stopped"] };
const terminated: PipelineText = { ...orders, sluice: ["state: Terminated"] };
const anew: PipelineText = { ...orders, root: resources, sluice: ["recreate: true"] };

interface Case {
  kind: string;
  from: PipelineText | undefined;
  to: PipelineText | undefined;
  fails: Call;
  /** Where the failure leaves the pipeline, undefined: not there. */
  status: string | undefined;
  /** Calls with effect over both tries. */
  effects: string[];
}

const cases: Case[] = [
  { kind: "create", from: undefined, to: orders, fails: "create", status: undefined, effects: ["create"] },
  { kind: "create", from: undefined, to: stopped, fails: "stop", status: "Running", effects: ["create", "stop"] },
  {
    kind: "update",
    from: orders,
    to: hot,
    fails: "rename",
    status: "Running",
    effects: ["rename", "tag", "configure"],
  },
  { kind: "update", from: orders, to: hot, fails: "tag", status: "Running", effects: ["rename", "tag", "configure"] },
  {
    kind: "update",
    from: orders,
    to: hot,
    fails: "configure",
    status: "Running",
    effects: ["rename", "tag", "configure"],
  },
  { kind: "update", from: orders, to: edited, fails: "stop", status: "Running", effects: ["stop", "update", "resume"] },
  {
    kind: "update",
    from: orders,
    to: edited,
    fails: "update",
    status: "Running",
    effects: ["stop", "resume", "stop", "update", "resume"],
  },
  {
    kind: "update",
    from: orders,
    to: edited,
    fails: "resume",
    status: "Failed",
    effects: ["stop", "update", "resume"],
  },
  { kind: "stop", from: orders, to: stopped, fails: "stop", status: "Running", effects: ["stop"] },
  { kind: "resume", from: stopped, to: orders, fails: "resume", status: "Failed", effects: ["resume"] },
  { kind: "terminate", from: orders, to: terminated, fails: "terminate", status: "Running", effects: ["terminate"] },
  { kind: "delete", from: orders, to: undefined, fails: "stop", status: "Running", effects: ["stop", "delete"] },
  { kind: "delete", from: orders, to: undefined, fails: "delete", status: "Stopped", effects: ["stop", "delete"] },
  { kind: "recreate", from: orders, to: anew, fails: "stop", status: "Running", effects: ["stop", "delete", "create"] },
  {
    kind: "recreate",
    from: orders,
    to: anew,
    fails: "delete",
    status: "Stopped",
    effects: ["stop", "delete", "create"],
  },
  {
    kind: "recreate",
    from: orders,
    to: anew,
    fails: "create",
    status: undefined,
    effects: ["stop", "delete", "create"],
  },
];

/** A world in which a call fails once with an error, and the turn in which it did. */
async function failing({ from, to, fails }: Omit<Case, "kind" | "status" | "effects">, error: Error) {
  const other = { id: "other" };
  const reconciler = await world.after(...(from === undefined ? [other] : [from, other]));
  const { engine } = world;
  engine.effects.length = 0;
  engine.onCall = (call, id) => {
    if (call !== fails || id !== "orders") return;
    engine.onCall = () => undefined;
    // What the engine makes of it: a pipeline that does not come up is Failed, any other one is where it was.
    if (call === "resume") engine.change(id, { status: "Failed", failure: error.message });
    else if (call === "stop" || call === "terminate") engine.change(id, { status: "Running" });
    throw error;
  };
  world.source.say(...(to === undefined ? [other] : [to, other]));
  const turn = await reconciler.turn("poll", signal);
  return { reconciler, outcome: turn.outcomes?.find(({ pipeline_id }) => pipeline_id === "orders") };
}

test.each(cases)(
  "$kind whose $fails fails leaves it $status, and is carried to its end by the next try",
  async (one) => {
    const { reconciler, outcome } = await failing(one, new Error("no room"));
    const { engine } = world;
    expect(outcome).toMatchObject({ kind: one.kind, result: "failed", call: one.fails });
    expect(engine.pipelines.get("orders")?.status).toBe(one.status);
    const record = reconciler.history({ pipeline_id: "orders", limit: 1 }).records[0];
    expect(record).toMatchObject({ result: "failed", measured: { errors: 1, retries: 0 } });
    // The next process knows of no back-off.
    const after = world.reconciler();
    await after.turn("start", signal);
    const effects = engine.effects.filter((effect) => effect.endsWith(" orders")).map((effect) => effect.split(" ")[0]);
    expect(effects).toEqual(one.effects);
    expect(await outcomes(after)).toEqual({});
    const records = after
      .history({ pipeline_id: "orders", limit: 3 })
      .records.filter(({ plan }) => plan.kind === one.kind);
    expect(records[0]).toMatchObject({ id: record?.id, result: "applied", measured: { errors: 1, retries: 1 } });
    expect(records[0]?.interrupted).toBeUndefined();
  },
);

describe("by what the error says, a change", () => {
  const create = { from: undefined, to: orders, fails: "create" } as const;

  test("that can never work is not tried again before its file changes", async () => {
    const { reconciler, outcome } = await failing(create, new EngineError("NOT_SUPPORTED", "joins are not supported"));
    expect(outcome).toMatchObject({ result: "refused", message: "create: joins are not supported" });
    expect(outcome?.next_attempt).toBeUndefined();
    expect(await outcomes(reconciler)).toEqual({ orders: "refused" });
    expect(readyOf(reconciler)).toEqual(["False", "ReconciliationFailed", "Stalled"]);
    expect(world.engine.calls.filter((call) => call === "create orders")).toHaveLength(1);
    world.source.say(edited, { id: "other" });
    expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
  });

  test("that only finds its pipeline elsewhere waits, without an error", async () => {
    const { reconciler, outcome } = await failing(
      { from: orders, to: edited, fails: "update" },
      new EngineError("PIPELINE_IN_TRANSITION", "it is Stopping"),
    );
    expect(outcome).toMatchObject({
      result: "waiting",
      cause: "InTransition",
      next_attempt: expect.any(String) as string,
    });
    expect(readyOf(reconciler)).toEqual(["Unknown", "Progressing", "Reconciling"]);
  });

  test("whose secret is missing is tried again: it may come", async () => {
    const { outcome } = await failing(create, new EngineError("SECRET_NOT_FOUND", "secret ${env:P} is not set"));
    expect(outcome).toMatchObject({ result: "failed", next_attempt: expect.any(String) as string });
  });
});

test("pipelines that drain, however many, hold up no other one", async () => {
  const many = Array.from({ length: 20 }, (_, index): PipelineText => ({ id: `slow-${index}` }));
  const reconciler = await world.after(...many);
  world.holdUp("stop");
  world.source.say(...many.map((one) => ({ ...one, expression: "id > 1" })), { id: "zebra" });
  await reconciler.turn("poll", signal);
  await expect.poll(() => world.engine.pipelines.get("zebra")?.status).toBe("Running");
});

test("new values of secrets are taken, and one that is gone is told of", async () => {
  const reconciler = await world.after(orders);
  const { engine } = world;
  engine.stale = [{ pipeline_id: "orders", changed: ["${env:P}"], missing: [] }];
  const { plan } = await reconciler.turn("poll", signal);
  expect(plan?.changes[0]).toMatchObject({
    kind: "update",
    cause: "SecretChanged",
    effect: "restart",
    calls: ["configure"],
  });
  expect(plan && printPlan(plan)).toContain("${env:P} has another value now");
  expect(reconciler.history({ limit: 1 }).records[0]).toMatchObject({
    plan: { cause: "SecretChanged" },
    result: "applied",
  });
  engine.stale = [{ pipeline_id: "orders", changed: [], missing: ["secret ${env:P} is not set"] }];
  expect(await outcomes(reconciler)).toEqual({});
  expect(readyOf(reconciler)).toEqual(["True", "ReconciliationSucceeded", "SecretMissing"]);
});
