import { describe, expect, test } from "vitest";
import type { ActualState } from "../../../reconciler/actual/state.ts";
import { approvalOf, withApprovals } from "../../../reconciler/holds/approval.ts";
import type { Change } from "../../../reconciler/plan/change.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import type { Level } from "../../../reconciler/plan/level.ts";
import { statesOf, type World } from "../plan/world.ts";
import { dedupOf } from "../../support/pipeline-text.ts";

const orders = { id: "orders", transforms: [dedupOf("id")] };
const otherKey = { id: "orders", transforms: [dedupOf("level")] };

interface Made {
  change: Change;
  /** The fingerprint of what would be done. */
  approval: string;
}

/** What becomes of the one pipeline of a world under the rule that changes of this level wait. */
function made(world: World, from: Level, approved: string[] = [], more: Partial<ActualState> = {}): Made {
  const [seen, wanted] = statesOf(world);
  const actual = { ...seen, ...more };
  const before = plan(actual, wanted);
  const { pipelines } = wanted;
  const { changes } = withApprovals(before, actual, pipelines, { from, approved });
  const change = changes.find(({ pipeline_id }) => pipeline_id === "orders")!;
  return { change, approval: approvalOf(before.changes[0]!, actual.pipelines.get("orders"), pipelines[0]) };
}

const forgetting: World = { wanted: [otherKey], there: [{ was: orders }] };

test.each<[Level, string]>([
  ["change", "refuse"],
  ["restart", "refuse"],
  ["forget", "refuse"],
  ["delete", "update"],
])("a change that forgets under class>=%s: %s", (from, kind) => {
  expect(made(forgetting, from).change.kind).toBe(kind);
});

test.each<[string, Level, World, string]>([
  ["other rows", "rows", { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }] }, "refuse"],
  ["other rows", "forget", { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }] }, "update"],
  [
    "other rows of a pipeline that does not run",
    "rows",
    {
      wanted: [{ ...orders, sluice: ["state: Stopped"], expression: "id > 1" }],
      there: [{ was: { ...orders, sluice: ["state: Stopped"] }, status: "Stopped" }],
    },
    "refuse",
  ],
  ["a larger batch", "rows", { wanted: [{ ...orders, max_batch_size: 5 }], there: [{ was: orders }] }, "update"],
  [
    "events that are skipped without a stop",
    "forget",
    { wanted: [{ ...orders, sluice: ["on_lost: skip"] }], there: [{ was: orders }] },
    "refuse",
  ],
  [
    "another topic",
    "forget",
    { wanted: [{ id: "orders", topic: "sales" }], there: [{ was: { id: "orders", topic: "orders" } }] },
    "refuse",
  ],
])("%s under class>=%s", (_title, from, world, kind) => {
  expect(made(world, from).change.kind).toBe(kind);
});

describe("a fingerprint", () => {
  const { approval } = made(forgetting, "none");

  test("is that of the class and of both sides, whatever the pipeline holds", () => {
    expect(approval).toMatch(/^forget-[0-9a-f]{32}$/);
    const full = { ...forgetting, there: [{ was: orders, held: 12, keys: 3, dead_letters: 1 }] };
    expect(made(full, "forget", [approval])).toMatchObject({ approval, change: { kind: "update" } });
  });

  test.each<[string, World]>([
    ["another state before", { ...forgetting, there: [{ was: { ...orders, expression: "id > 1" } }] }],
    ["another file", { ...forgetting, wanted: [{ ...otherKey, expression: "id > 1" }] }],
    ["the way back", { wanted: [orders], there: [{ was: otherKey }] }],
  ])("is another one for %s", (_title, world) => {
    expect(made(world, "forget", [approval])).toMatchObject({ change: { cause: "NotApproved" } });
  });
});

describe("what was begun is completed without an approval", () => {
  test("a deletion that has begun", () => {
    const shut = { was: orders, intake: "closed" as const, owned: { ending: true as const } };
    expect(made({ wanted: [{ id: "other" }], there: [shut] }, "change").change.kind).not.toBe("refuse");
  });

  test("a pipeline that an interrupted change had stopped runs again as it was, and its change waits", () => {
    const stopped: World = { wanted: [otherKey], there: [{ was: orders, status: "Stopped" }] };
    const interrupted = new Map([["orders", { revision: "main@sha1:1", isOwed: true }]]);
    const { change } = made(stopped, "forget", [], { interrupted });
    expect(change).toMatchObject({ kind: "resume", cause: "Interrupted", calls: ["resume"] });
    expect(change.why).toMatchObject({ code: "RunsAgain", facts: { of: { code: "NotApproved" } } });
  });
});

test("another value of a secret waits for nobody", () => {
  const world: World = { wanted: [orders], there: [{ was: orders }] };
  const [{ pipelines }] = statesOf(world);
  const secrets = { changed: ["${env:T}"], missing: [] };
  const rotated = new Map([...pipelines].map(([id, one]) => [id, { ...one, secrets }]));
  const { change } = made(world, "forget", [], { pipelines: rotated });
  expect(change).toMatchObject({ kind: "update", cause: "SecretChanged", irreversible: [{ code: "SecretValues" }] });
});

test("a drift whose correction waits is reported", () => {
  const world: World = { wanted: [orders], there: [{ was: otherKey }] };
  const { change } = made(world, "forget");
  expect(change).toMatchObject({ kind: "refuse", cause: "NotApproved", calls: [] });
});
