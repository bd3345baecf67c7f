import { afterEach, beforeEach, expect, test } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import { accuracyOf } from "../../../reconciler/apply/accuracy.ts";
import type { OperationRecord } from "../../../reconciler/apply/history.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { edited, orders, outcomes, World } from "./world.ts";

let world: World;

beforeEach(async () => void (world = await World.make()));
afterEach(() => world.remove());

const recordsOf = (reconciler: Reconciler): OperationRecord[] => reconciler.history({ limit: 1_000 }).records;

test("a change that was made as planned is not off", async () => {
  const reconciler = await world.after(orders);
  world.source.say(edited);
  await outcomes(reconciler);
  const found = accuracyOf(recordsOf(reconciler));
  expect(found).toMatchObject({ changes: 2, applied: 2, calls: 2, off: [] });
  expect(found.pause_ms).toMatchObject({ changes: 1, predicted: 1_000 });
});

test("a call that failed is told, also after the change was made all the same", async () => {
  const reconciler = await world.after(orders);
  world.engine.onCall = (call) => {
    if (call !== "update") return;
    world.engine.onCall = () => undefined;
    throw new EngineError("PIPELINE_IN_TRANSITION", "it is Stopping");
  };
  world.source.say(edited);
  expect(await outcomes(reconciler)).toEqual({ orders: "waiting" });
  expect(accuracyOf(recordsOf(reconciler))).toMatchObject({ changes: 1, applied: 1, off: [] });
  await expect.poll(() => outcomes(reconciler)).toEqual({ orders: "applied" });
  expect(accuracyOf(recordsOf(reconciler))).toMatchObject({
    changes: 2,
    applied: 2,
    calls: 1,
    off: [{ planned: ["stop", "update", "resume"], made: ["stop", "update (error)", "stop", "update", "resume"] }],
  });
});

test("a change that is refused when it is made was predicted otherwise", async () => {
  const reconciler = await world.after(orders);
  world.engine.onCall = (call) => {
    if (call === "update") throw new EngineError("NOT_SUPPORTED", "joins are not supported");
  };
  world.source.say(edited);
  await outcomes(reconciler);
  expect(accuracyOf(recordsOf(reconciler))).toMatchObject({
    changes: 2,
    applied: 1,
    calls: 1,
    off: [
      {
        pipeline_id: "orders",
        result: "refused",
        planned: ["stop", "update", "resume"],
        made: ["stop", "update (error)"],
      },
    ],
  });
});

test("each figure is summed, with its median and its greatest distance; without a prediction it does not count", async () => {
  const reconciler = await world.after(orders);
  world.source.say(edited);
  await outcomes(reconciler);
  const [edit] = recordsOf(reconciler);
  const drains = (predicted: number, happened: number): OperationRecord => ({
    ...edit!,
    plan: { ...edit!.plan, expects: { drained: predicted, dead_letters_dropped: 0 } },
    measured: { ...edit!.measured, events_drained: happened },
  });
  const { expects: _expects, ...early } = edit!.plan;
  const records = [drains(10, 12), drains(5, 5), drains(0, 7), { ...edit!, plan: early }];
  const { changes, drained } = accuracyOf(records);
  expect([changes, drained]).toEqual([3, { changes: 3, predicted: 15, happened: 24, median_off: 2, most_off: 7 }]);
});
