import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { orders, outcomes, readyOf, World } from "../apply/world.ts";

const sales = { id: "sales-eu" };
const library = (version: string) => ({ path: "library", reason: "a submodule, which is not entered", version });
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

const running = (): string[] => world.engine.list().map(({ pipeline_id }) => pipeline_id);

/** A revision with these pipelines, in which these files are not read. */
function revision(skipped: ReturnType<typeof library>[], ...pipelines: { id: string }[]): void {
  world.source.skipped = skipped;
  world.source.say(...pipelines);
}

describe("a pipeline whose file went in the revision in which something came that is not read", () => {
  test("is kept, after later revisions and a restart too, and the reason names what may have it", async () => {
    await world.after(orders, sales);
    revision([library("1")], orders);
    const reconciler = world.reconciler();
    await outcomes(reconciler);
    expect(readyOf(reconciler, "sales-eu")).toEqual(["True", "PruneHeld"]);
    const said = reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === "sales-eu");
    expect(said?.change.reason).toBe(
      "sales-eu.yaml no longer has it, but library came or changed with the same revision, may have it, and is a submodule, which is " +
        "not entered. It is kept. Ways out: restore the file; or, to delete the pipeline, name library in .sluiceignore",
    );
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

  test.each([
    ["its file came back and is removed again", () => (revision([library("1")], orders, sales), revision)],
    ["that is gone again", () => (revision([], orders), revision)],
  ])("is deleted after %s", async (_what, next) => {
    await world.after(orders, sales);
    const reconciler = world.reconciler();
    revision([library("1")], orders);
    await outcomes(reconciler);
    expect(running()).toContain("sales-eu");
    next();
    await outcomes(reconciler);
    revision([library("1")], orders);
    await outcomes(reconciler);
    expect(running()).toEqual(["orders"]);
  });

  test("is deleted where a .sluiceignore names that", async () => {
    await world.after(orders, sales);
    const reconciler = world.reconciler();
    revision([library("1")], orders);
    await outcomes(reconciler);
    world.source.patterns = "library/\n";
    revision([library("1")], orders);
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
