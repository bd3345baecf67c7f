import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SkippedFile } from "../../../reconciler/git/revision.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { orders, outcomes, readyOf, World } from "../apply/world.ts";

const sales = { id: "sales-eu" };
const library = (version: string) => ({ path: "library", reason: "a submodule, which is not entered", version });
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

const running = (): string[] => world.engine.list().map(({ pipeline_id }) => pipeline_id);

const reasonOf = (reconciler: Reconciler): string | undefined =>
  reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === "sales-eu")?.change.reason;

/** A revision with these pipelines, in which these files are not read. */
function revision(skipped: readonly SkippedFile[], ...pipelines: { id: string }[]): void {
  world.source.skipped = [...skipped];
  world.source.say(...pipelines);
}

describe("a pipeline whose file went in the revision in which something came that is not read", () => {
  test("is kept, after later revisions and a restart too, and the reason names what may have it", async () => {
    await world.after(orders, sales);
    revision([library("1")], orders);
    const reconciler = world.reconciler();
    await outcomes(reconciler);
    expect(readyOf(reconciler, "sales-eu")).toEqual(["True", "PruneHeld"]);
    expect(reasonOf(reconciler)).toBe(
      "sales-eu.yaml no longer has it, but library came or changed with the same revision, may have it, and is a submodule, which is " +
        "not entered. It is kept. Ways out: restore the file; or, to delete the pipeline, name library in .sluiceignore",
    );
    const token = reconciler.operator.reconcile();
    await outcomes(reconciler);
    const { result, open } = reconciler.operator.answerTo(token);
    expect([result, open.map(({ name, reason }) => `${name}: ${reason}`)]).toEqual([
      "incomplete",
      ["sales-eu: PruneHeld"],
    ]);
    expect(reconciler.snapshot().conditions[0]).toMatchObject({
      status: "True",
      message: "every pipeline matches test@2, but for what is kept (PruneHeld): sales-eu",
    });
    revision([library("1")], orders, { id: "fresh" });
    await outcomes(reconciler);
    await outcomes(world.reconciler());
    expect(running().toSorted()).toEqual(["fresh", "orders", "sales-eu"]);
  });

  test("is kept where that was there before and has changed", async () => {
    await world.after(orders, sales);
    const reconciler = world.reconciler();
    revision([library("1")], orders, sales);
    await outcomes(reconciler);
    revision([library("2")], orders);
    await outcomes(reconciler);
    expect(readyOf(reconciler, "sales-eu")).toEqual(["True", "PruneHeld"]);
  });

  test("is deleted after its file came back and is removed again", async () => {
    await world.after(orders, sales);
    const reconciler = world.reconciler();
    revision([library("1")], orders);
    await outcomes(reconciler);
    expect(running()).toContain("sales-eu");
    revision([library("1")], orders, sales);
    await outcomes(reconciler);
    revision([library("1")], orders);
    await outcomes(reconciler);
    expect(running()).toEqual(["orders"]);
  });

  test("is kept also after that is gone, in this process and the next one, until its file came back", async () => {
    await world.after(orders, sales);
    const reconciler = world.reconciler();
    revision([library("1")], orders);
    await outcomes(reconciler);
    revision([], orders);
    await outcomes(reconciler);
    revision([library("2")], orders);
    await outcomes(reconciler);
    revision([], orders, { id: "fresh" });
    const again = world.reconciler();
    await outcomes(again);
    expect(readyOf(again, "sales-eu")).toEqual(["True", "PruneHeld"]);
    expect(reasonOf(again)).toBe(
      "sales-eu.yaml no longer has it, but library came or changed with the same revision, may have it, and is gone since. It is " +
        "kept. Ways out: restore the file; or, to delete the pipeline, name library in .sluiceignore",
    );
    revision([], orders, sales);
    await outcomes(again);
    revision([], orders);
    await outcomes(again);
    expect(running()).toEqual(["orders"]);
  });

  test("is kept alone where a file of a pipeline, which was not read, is gone: the pipeline of that file is deleted", async () => {
    await world.after(orders, sales, { id: "third" });
    const reconciler = world.reconciler({ maxDeletions: "5" });
    revision([{ ...library("1"), path: "orders.yaml" }], { id: "third" });
    await outcomes(reconciler);
    revision([], { id: "third" });
    await outcomes(reconciler);
    expect(running().toSorted()).toEqual(["sales-eu", "third"]);
  });

  test("is named with all that may have it, and kept until none of that is left", async () => {
    await world.after(orders, sales);
    const reconciler = world.reconciler();
    const shared = { path: "shared", reason: "a link, which is not followed", version: "7" };
    revision([library("1"), shared], orders);
    await outcomes(reconciler);
    expect(reasonOf(reconciler)).toBe(
      "sales-eu.yaml no longer has it, but library came or changed with the same revision, may have it, and is a submodule, which is " +
        "not entered; so did shared (a link, which is not followed). It is kept. Ways out: restore the file; or, to delete the " +
        "pipeline, name library and shared in .sluiceignore",
    );
    world.source.patterns = "library/\n";
    revision([shared], orders);
    await outcomes(reconciler);
    expect(running()).toContain("sales-eu");
    world.source.patterns = "library/\nshared\n";
    revision([], orders);
    await outcomes(reconciler);
    expect(running()).toEqual(["orders"]);
  });

  test.each([
    ["that", [library("1")]],
    ["that, which is gone", []],
  ])("is deleted where a .sluiceignore names %s", async (_what, skipped) => {
    await world.after(orders, sales);
    const reconciler = world.reconciler();
    revision([library("1")], orders);
    await outcomes(reconciler);
    revision(skipped, orders);
    await outcomes(reconciler);
    expect(running()).toContain("sales-eu");
    world.source.patterns = "library/\n";
    revision(skipped, orders);
    await outcomes(reconciler);
    expect(running()).toEqual(["orders"]);
  });
});

test("what was not read before, and is the same, keeps no pipeline", async () => {
  await world.after(orders, sales);
  const reconciler = world.reconciler();
  revision([library("1")], orders, sales);
  await outcomes(reconciler);
  revision([library("1")], orders);
  await outcomes(reconciler);
  expect(running()).toEqual(["orders"]);
});

test("an approval of another source deletes what that lacks, whatever is not read of it", async () => {
  await world.after(orders, sales);
  world.source.description = { ...world.source.description, url: "/other" };
  revision([library("1")], orders);
  const reconciler = world.reconciler();
  await outcomes(reconciler);
  expect(readyOf(reconciler, "sales-eu")).toEqual(["False", "SourceChanged", "Stalled"]);
  await reconciler.operator.approve({});
  await outcomes(reconciler);
  expect(running()).toEqual(["orders"]);
});

test.each([
  ["lacks its file", [orders]],
  ["has its file", [orders, sales]],
])("a redirect to a mirror that %s takes nothing of that back", async (_what, mirrored) => {
  const reconciler = await world.after(orders, sales);
  revision([library("1")], orders);
  await outcomes(reconciler);
  world.source.redirected = "https://example.com/mirror.git";
  for (const skipped of [[library("1")], []]) {
    revision(skipped, ...mirrored);
    await outcomes(reconciler);
  }
  world.source.redirected = undefined;
  revision([library("1")], orders);
  await outcomes(reconciler);
  await outcomes(world.reconciler());
  expect(running().toSorted()).toEqual(["orders", "sales-eu"]);
});

test("a pipeline is kept where the copy that brings what is not read takes its file only in a later look", async () => {
  const moving = { after: 10_000, at: 0, recent: [] };
  const reconciler = await world.after(orders, sales);
  for (const pipelines of [[orders, sales], [orders], [orders, sales], [orders]]) {
    revision([library("1")], ...pipelines);
    world.source.settles(moving);
    await outcomes(reconciler);
  }
  await outcomes(world.reconciler());
  world.source.settles();
  await outcomes(reconciler);
  expect(readyOf(reconciler, "sales-eu")).toEqual(["True", "PruneHeld"]);
});
