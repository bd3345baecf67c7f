import { describe, expect, test } from "vitest";
import type { ActualState } from "../../../reconciler/actual/state.ts";
import type { AppliedBefore } from "../../../reconciler/actual/inventory.ts";
import { fingerprintOf } from "../../../reconciler/desired/fingerprint.ts";
import { approvalOf, approvalsFor, withApprovals } from "../../../reconciler/holds/approval.ts";
import type { Change } from "../../../reconciler/plan/change.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import type { Level } from "../../../reconciler/plan/level.ts";
import { reasonText } from "../../../reconciler/plan/render/index.ts";
import { inSyncWith, read, statesOf, type World } from "../plan/world.ts";
import { dedupOf } from "../../support/pipeline-text.ts";

const orders = { id: "orders", transforms: [dedupOf("id")] };
const otherKey = { id: "orders", transforms: [dedupOf("level")] };

interface Made {
  change: Change;
  /** The fingerprint of what would be done. */
  approval: string;
}

/** What becomes of the one pipeline of a world under the rule that changes of this level wait. */
function made(
  world: World,
  from: Level,
  approved: string[] = [],
  more: Partial<ActualState> = {},
  was: AppliedBefore[] = [],
): Made {
  const [seen, wanted] = statesOf(world);
  const actual = { ...seen, ...more };
  const before = plan(actual, wanted);
  const { pipelines } = wanted;
  const rule = { from, approved: () => approved, before: () => new Map([["orders", was]]) };
  const { changes } = withApprovals(before, actual, pipelines, rule);
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

describe("the way back", () => {
  const filtered = { ...orders, expression: "id > 1" };
  const was = [{ applied: fingerprintOf(read(orders)), revision: "main@sha1:1a" }];

  test("to what was applied before needs no approval, and names its revision", () => {
    const back: World = { wanted: [orders], there: [{ was: filtered }] };
    expect(made(back, "rows").change.kind).toBe("refuse");
    const { change } = made(back, "rows", [], {}, was);
    expect(change).toMatchObject({ kind: "update", why: { code: "GoesBack", facts: { revision: "main@sha1:1a" } } });
    expect(reasonText(change.why)).toMatch(
      /changed; it goes back to what was applied with main@sha1:1a, so it needs no approval$/,
    );
  });

  test.each<[string, World]>([
    ["on which something is lost", { wanted: [orders], there: [{ was: otherKey }] }],
    ["to what it was not before", { wanted: [filtered], there: [{ was: orders }] }],
    ["from what no commit asked for", { wanted: [orders], there: [{ was: filtered, owned: inSyncWith(orders) }] }],
  ])("%s needs one", (_title, world) => {
    expect(made(world, "rows", [], {}, was).change).toMatchObject({ kind: "refuse", cause: "NotApproved" });
  });
});

describe("an approval by a message", () => {
  const revision = {
    sha: "d",
    approvals: ["d"],
    earlier: [
      { commit: "c", approvals: ["c"] },
      { commit: "b", approvals: ["b"] },
    ],
  };

  test.each<[string | undefined, string[]]>([
    [undefined, ["d", "c", "b"]],
    ["main@sha1:a", ["d", "c", "b"]],
    ["main@sha1:b", ["d", "c"]],
    ["main@sha1:c", ["d"]],
    ["main@sha1:d", ["d"]],
  ])("counts for a pipeline that was applied last with %s where it came after that", (applied, approvals) => {
    expect(approvalsFor(revision, applied)).toEqual(approvals);
  });
});
