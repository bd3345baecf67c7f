import { describe, expect, test } from "vitest";
import { doesSomething } from "../../../reconciler/plan/change.ts";
import type { Change } from "../../../reconciler/plan/change.ts";
import { invert, plan } from "../../../reconciler/plan/decide/index.ts";
import type { Loss } from "../../../reconciler/plan/loss.ts";
import { shownChange } from "../../../reconciler/plan/render/index.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";
import { changeFor, read, statesOf } from "./world.ts";
import type { Expected, There, World } from "./world.ts";

const orders: PipelineText = { id: "orders" };
const deduped: PipelineText = {
  ...orders,
  transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
};
const topic: PipelineText = { ...orders, topic: "shop.orders" };
const anew: PipelineText = {
  ...orders,
  root: ["resources: { nats: { stream: { max_age: 48h } } }"],
  sluice: ["recreate: true"],
};
const gone = (was: PipelineText, there: Partial<There> = {}): World => ({
  wanted: [{ id: "other" }],
  there: [{ was, ...there }],
});

/** The inverse of what a plan does to `orders`, with its sentence. */
function inverseFor(world: World): Change | undefined {
  const [actual, wanted] = statesOf(world);
  const { changes } = invert(plan(actual, wanted), actual, wanted).plan;
  return changes.map(shownChange).find(({ pipeline_id }) => pipeline_id === "orders");
}

describe("the inverse of a change", () => {
  test.each<[string, World, Expected | undefined]>([
    ["deletes what it creates", { wanted: [orders] }, { kind: "delete", calls: ["stop", "delete"] }],
    [
      "creates what it deletes, in its state",
      gone(orders, { status: "Stopped" }),
      {
        kind: "create",
        calls: ["create", "stop"],
        reason:
          "it undoes the delete, but does not bring back its access token (sluice token rotate orders prints a new one)",
      },
    ],
    [
      "edits a filter back",
      { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }] },
      {
        kind: "update",
        cause: "Inverted",
        calls: ["stop", "update", "resume"],
        fields: [expect.objectContaining({ from: "id > 1", to: 'level == "error"' })],
        reason: "it undoes the update",
      },
    ],
    [
      "renames back",
      { wanted: [{ ...orders, name: "Sales" }], there: [{ was: orders }] },
      { kind: "rename", calls: ["rename"] },
    ],
    [
      "resumes what it stops",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }], there: [{ was: orders }] },
      { kind: "resume", calls: ["resume"] },
    ],
    [
      "makes anew what it makes anew",
      { wanted: [anew], there: [{ was: { ...anew, root: [] } }] },
      { kind: "recreate", effect: "refuse", calls: ["stop", "delete", "create"], loses: { dead_letters: 0 } },
    ],
    [
      "leaves Stopped what had failed, and says so",
      { wanted: [orders], there: [{ was: orders, status: "Failed" }] },
      {
        kind: "stop",
        calls: ["stop"],
        reason: "it undoes the resume, but does not bring back the status Failed (it is Stopped instead)",
      },
    ],
    ["does nothing about a refusal", { wanted: [anew], there: [{ was: orders, owned: null }] }, undefined],
    ["does nothing where nothing is done", { wanted: [orders], there: [{ was: orders }] }, undefined],
  ])("%s", (_title, world, expected) => {
    const inverse = inverseFor(world);
    if (expected === undefined) expect(inverse).toBeUndefined();
    else expect(inverse).toMatchObject(expected);
  });

  test("restores the config and the options that the engine had", () => {
    const [actual, wanted] = statesOf({ wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }] });
    const { config, options } = read(orders);
    const restored = { pipeline_id: "orders", config, options };
    expect(invert(plan(actual, wanted), actual, wanted).restores).toEqual(new Map([["orders", restored]]));
  });

  test("waits for the inverses of what waited for the change", () => {
    const dependent = { id: "zebra", sluice: ["depends_on: [orders]"] };
    const [actual, wanted] = statesOf({ wanted: [orders, dependent] });
    const { changes } = invert(plan(actual, wanted), actual, wanted).plan;
    expect(changes.map(({ pipeline_id, after }) => [pipeline_id, after])).toEqual([
      ["zebra", []],
      ["orders", ["zebra"]],
    ]);
  });
});

describe("what no inverse brings back", () => {
  const letters: Loss = { code: "DeadLetters", facts: { count: 2 } };
  const token: Loss = { code: "AccessToken", facts: { pipeline_id: "orders" } };
  test.each<[string, World, Loss[] | undefined]>([
    ["an edit: nothing", { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }] }, undefined],
    ["a stop: nothing", { wanted: [{ ...orders, sluice: ["state: Stopped"] }], there: [{ was: orders }] }, undefined],
    ["a deletion: the token that was generated", gone(orders), [token]],
    ["a deletion: no token that a file brings", gone({ ...orders, sluice: ["access_token: ${env:T}"] }), undefined],
    [
      "a deletion: what dedup remembers",
      gone(deduped, { keys: 5 }),
      [{ code: "DedupKeys", facts: { keys: 5 } }, token],
    ],
    [
      "a deletion of one that is Terminated: all that it holds",
      gone(orders, { status: "Terminated", held: 3, pending_batches: 1, dead_letters: 2 }),
      [{ code: "AcceptedEvents", facts: { held: 3, pending_batches: 1 } }, letters, token],
    ],
    [
      "a deletion of one that is Terminated, with one event: that",
      gone(orders, { status: "Terminated", held: 1 }),
      [{ code: "AcceptedEvents", facts: { held: 1, pending_batches: 0 } }, token],
    ],
    [
      "a deletion of one that is Terminated, with one batch: that",
      gone(orders, { status: "Terminated", pending_batches: 1 }),
      [{ code: "AcceptedEvents", facts: { held: 0, pending_batches: 1 } }, token],
    ],
    [
      "a deletion of one that reads a topic: no event, which stays there",
      gone(topic, { status: "Terminated", pending_batches: 1, dead_letters: 2 }),
      [letters],
    ],
    [
      "a termination: events that are not written, and what dedup remembers",
      { wanted: [{ ...deduped, sluice: ["state: Terminated"] }], there: [{ was: deduped, held: 3 }] },
      [
        { code: "AcceptedEvents", facts: { held: 3, pending_batches: 0 } },
        { code: "DedupKeys", facts: {} },
      ],
    ],
    [
      "a dedup that goes: what it remembers",
      { wanted: [orders], there: [{ was: deduped, keys: 5 }] },
      [{ code: "DedupKeys", facts: { keys: 5 } }],
    ],
    [
      "a token that a file brings from now on: the one that was generated",
      { wanted: [{ ...orders, sluice: ["access_token: ${env:T}"] }], there: [{ was: orders }] },
      [token],
    ],
    [
      "a place in a consumer group that is taken over: the place before",
      { wanted: [{ ...topic, sluice: ['take_over: "7f3c0a1b"'] }], there: [{ was: topic }] },
      [{ code: "GroupPlace", facts: { run: "7f3c0a1b" } }],
    ],
  ])("%s", (_title, world, losses) => {
    const change = changeFor(world);
    expect(doesSomething(change) ? change.irreversible : []).toEqual(losses);
  });

  test.each([
    ["alone", orders, "SecretChanged"],
    ["together with an edit", { ...orders, expression: "id > 1" }, "Changed"],
  ])("are values of secrets that have changed meanwhile, %s", (_title, wish, cause) => {
    const [actual, wanted] = statesOf({ wanted: [wish], there: [{ was: orders }] });
    const present = actual.pipelines.get("orders")!;
    const stale = { ...present, secrets: { changed: ["${env:P}", "${env:P}"], missing: [] } };
    const { changes } = plan({ ...actual, pipelines: new Map([["orders", stale]]) }, wanted);
    expect(changes[0]).toMatchObject({
      cause,
      irreversible: [{ code: "SecretValues", facts: { secrets: ["${env:P}"] } }],
    });
  });
});
