import { afterEach, beforeEach, expect, test } from "vitest";
import { SourceError } from "../../../reconciler/git/revision.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { Commits } from "../../support/commits.ts";
import { keptLog } from "../../support/engine.ts";
import { World, edited, orders, outcomes, readyOf, signal } from "../apply/world.ts";

const sales = { id: "sales-eu" };
let world: World;
let source: Commits;
let good: string;
let bad: string;

beforeEach(async () => {
  world = await World.make();
  source = new Commits();
  good = source.push("Good", orders, sales);
  await world.reconciler({ source }).turn("start", signal);
  bad = source.push("Bad", edited, sales);
});

afterEach(() => world.remove());

const revision = (reconciler: Reconciler) => reconciler.snapshot().lastAttemptedRevision;
const expression = () => JSON.stringify(world.engine.get("orders").config.transforms);

async function started(log = keptLog()): Promise<Reconciler> {
  const reconciler = world.reconciler({ source, log });
  await reconciler.turn("start", signal);
  return reconciler;
}

/** Rolls back to the first commit, and cancels that. */
async function thereAndBack(reconciler: Reconciler): Promise<void> {
  await reconciler.operator.rollBack(good, {}, false);
  await outcomes(reconciler);
  await reconciler.operator.cancelRollback({});
  await outcomes(reconciler);
  await outcomes(reconciler);
}

test("keeps an earlier commit over polls and restarts, until the branch moves on", async () => {
  const before = expression();
  const log = keptLog();
  const reconciler = await started(log);
  expect(expression()).not.toBe(before);
  expect(await reconciler.operator.rollBack(good, { by: "ada" }, false)).toMatchObject({
    revision: `main@sha1:${good}`,
    author: "Ada",
    subject: "Good",
    head: `main@sha1:${bad}`,
    plan: expect.stringContaining("1 update, 1 unchanged") as string,
  });
  expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
  expect([revision(reconciler), expression()]).toEqual([`main@sha1:${good}`, before]);
  expect(await outcomes(reconciler)).toEqual({});
  expect(reconciler.snapshot().conditions).toMatchObject([
    { type: "Ready", status: "True" },
    {
      type: "Pinned",
      status: "True",
      reason: "RolledBack",
      message: expect.stringContaining("by ada since") as string,
    },
  ]);

  const restarted = await started(log);
  expect([revision(restarted), expression()]).toEqual([`main@sha1:${good}`, before]);

  const mended = source.push("Mended", { ...orders, expression: "id > 2" }, sales);
  expect(await outcomes(restarted)).toEqual({ orders: "applied" });
  expect(revision(restarted)).toBe(`main@sha1:${mended}`);
  expect(restarted.snapshot()).not.toHaveProperty("pin");
  expect(log.lines.map(({ sentence }) => sentence)).toContain("The followed ref moved on: the rollback is over.");
  expect(revision(await started())).toBe(`main@sha1:${mended}`);
});

test.each([
  ["redirects to another address", { redirected: "https://example.com/mirror.git" }],
  ["names another branch as its default", { branch: "next" }],
])("stays while the server %s, whose commits say nothing of the branch", async (_what, place) => {
  const reconciler = await started();
  await reconciler.operator.rollBack(good, {}, false);
  source.goElsewhere(place, "Another", sales);
  await outcomes(reconciler);
  await outcomes(await started());
  source.comeBack();
  await outcomes(reconciler);
  expect([revision(reconciler), reconciler.snapshot().pin?.commit]).toEqual([`main@sha1:${good}`, good]);
  source.push("Mended", orders, sales);
  await outcomes(reconciler);
  expect(reconciler.snapshot()).not.toHaveProperty("pin");
});

test("approves no other source: what that lacks waits again when it is over", async () => {
  source.description = { kind: "git", url: "/other", branch: "main", path: "." };
  source.push("Without sales", orders);
  const reconciler = await started();
  expect(readyOf(reconciler, "sales-eu")[1]).toBe("SourceChanged");
  await thereAndBack(reconciler);
  expect(readyOf(reconciler, "sales-eu")[1]).toBe("SourceChanged");
});

test("takes back nothing of what keeps a pipeline whose file may be elsewhere", async () => {
  const reconciler = await started();
  source.skipped = [{ path: "library", reason: "a link, which is not followed", version: "1" }];
  source.push("A link in place of sales", orders);
  await outcomes(reconciler);
  source.skipped = [];
  source.push("Without the link", orders);
  await outcomes(reconciler);
  expect(readyOf(reconciler, "sales-eu")[1]).toBe("PruneHeld");
  await thereAndBack(reconciler);
  expect(readyOf(reconciler, "sales-eu")[1]).toBe("PruneHeld");
});

test("ends when it is cancelled", async () => {
  const reconciler = await started();
  await reconciler.operator.rollBack(`sha1:${good}`, {}, false);
  await outcomes(reconciler);
  expect(await reconciler.operator.cancelRollback({})).toEqual({ revision: `main@sha1:${good}` });
  expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
  expect(revision(reconciler)).toBe(`main@sha1:${bad}`);
  await expect(reconciler.operator.cancelRollback({})).rejects.toThrow("no commit is pinned");
});

test("without effect only shows the plan", async () => {
  const reconciler = await started();
  expect((await reconciler.operator.rollBack(`main@sha1:${good}`, {}, true)).plan).toContain("1 update");
  expect(await outcomes(reconciler)).toEqual({});
  expect(reconciler.snapshot()).not.toHaveProperty("pin");
});

test("works while the remote is away, from what was seen last, and stays while it is away", async () => {
  const reconciler = await started();
  source.failure = new SourceError("Timeout", "the remote is away");
  await reconciler.operator.rollBack(good, {}, false);
  const turn = await reconciler.turn("manual", signal);
  expect(turn.fetchError?.message).toBe("the remote is away");
  expect(turn.outcomes).toMatchObject([{ pipeline_id: "orders", result: "applied" }]);
  expect(revision(reconciler)).toBe(`main@sha1:${good}`);
});

test("deletes no more than any other revision may", async () => {
  source.push("No orders", sales);
  const reconciler = await started();
  expect(world.engine.pipelines.has("orders")).toBe(false);
  source.push("Two more", orders, sales, { id: "third" });
  await outcomes(reconciler);
  const { plan } = await reconciler.operator.rollBack(good, {}, false);
  expect(plan).toMatch(/third +delete/);
  expect(await outcomes(reconciler)).toEqual({ third: "applied" });
});

test.each([
  ["the newest commit", () => bad, "is the newest commit, so there is nothing to go back to"],
  ["a commit that nobody knows", () => "0".repeat(40), "expected a commit of the branch, found 000000"],
  ["what is no commit", () => "HEAD~1", 'or a revision such as main@sha1:1a2b3c4…, found "HEAD~1"'],
  ["too few digits", () => good.slice(0, 6), "expected a commit, or a revision such as"],
  ["digits that nobody has seen", () => "0123456789", 'none of the last revisions begins with "0123456789"'],
])("to %s is refused", async (_, commit, message) => {
  const reconciler = await started();
  await expect(reconciler.operator.rollBack(commit(), {}, false)).rejects.toThrow(message);
  expect(reconciler.snapshot()).not.toHaveProperty("pin");
});

test("of a plain folder is refused", async () => {
  const reconciler = await world.after(orders);
  await expect(reconciler.operator.rollBack(good, {}, false)).rejects.toThrow(
    "/test is a plain folder, which has no earlier revisions: a rollback needs a repository",
  );
});
