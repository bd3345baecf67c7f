import { describe, expect, test } from "vitest";
import { allowed, limitText, parseDeletionLimit } from "../../../reconciler/plan/budget.ts";
import { editing, planFor } from "./world.ts";
import type { There, World } from "./world.ts";

const immutable = (id: string, hours: number) => ({
  id,
  root: [`resources: { nats: { stream: { max_age: ${hours}h } } }`],
  sluice: ["recreate: true"],
});

const there = (id: string, facts: Partial<There> = {}): There => ({ was: { id }, ...facts });
const causes = (world: World): Record<string, string> =>
  Object.fromEntries(planFor(world).changes.map(({ pipeline_id, cause }) => [pipeline_id, cause]));

describe("a deletion limit", () => {
  test.each([
    ["5 or 20%", 10, 5],
    ["5 or 20%", 100, 20],
    ["5", 100, 5],
    ["0", 100, 0],
    ["20%", 4, 0],
    ["20%", 29, 5],
    ["100%", 3, 3],
  ])("%s of %i is %i", (text, of, count) => {
    expect(allowed(parseDeletionLimit(text), of)).toBe(count);
    expect(parseDeletionLimit(limitText(parseDeletionLimit(text)))).toEqual(parseDeletionLimit(text));
  });

  test.each([
    ["5 or 20%", 10, 2],
    ["5 or 20%", 100, 5],
    ["5 or 20%", 4, 1],
    ["0", 100, 0],
    ["20%", 4, 0],
    ["7", 10, 7],
  ])("of a plain folder, %s of %i is %i", (text, of, count) => {
    expect(allowed(parseDeletionLimit(text, "dir"), of)).toBe(count);
  });

  test.each(["", "x", "-1", "5%%", "101%", "5 or", "20% or 5", "5 or 20", "1.5"])("%j is none", (text) => {
    expect(() => parseDeletionLimit(text)).toThrow(RangeError);
  });
});

describe("a revision that removes files", () => {
  const limit = parseDeletionLimit("2");
  const gone = (...all: There[]): World => ({
    wanted: [{ id: "stays" }],
    there: [there("stays"), ...all],
    budget: { limit, begun: 0, of: 10 },
  });
  test("within its budget deletes them", () => {
    expect(causes(gone(there("first"), there("other")))).toEqual({
      stays: "InSync",
      first: "FileRemoved",
      other: "FileRemoved",
    });
  });

  test("over its budget deletes none, and says how many, of how many, and the ways out", () => {
    const world = gone(there("first"), there("other"), there("third"));
    const { changes } = planFor({ ...world, wanted: [{ id: "stays", name: "New" }, { id: "fresh" }] });
    expect(changes.map(({ pipeline_id, kind }) => `${kind} ${pipeline_id}`)).toEqual([
      "create fresh",
      "rename stays",
      "refuse first",
      "refuse other",
      "refuse third",
    ]);
    expect(changes[2]).toMatchObject({
      cause: "DeletionBudget",
      effect: "none",
      calls: [],
      file: "first.yaml",
      reason:
        "first.yaml no longer has it, but the files of 3 of 10 pipelines are missing, and --max-deletions (2) " +
        "allows 2: no further deletion is begun. Ways out: restore files until at most 2 are missing; or run " +
        "with a greater --max-deletions; or set x-sluice.state: Terminated first, which drops what a pipeline holds, and " +
        "remove its file in a later commit",
    });
  });

  test("over the budget of a plain folder names the lesser of both", () => {
    const world = gone(there("first"), there("other"), there("third"));
    const budget = { limit: parseDeletionLimit("5 or 20%", "dir"), begun: 0, of: 10 };
    expect(planFor({ ...world, budget }).changes[1]).toMatchObject({
      cause: "DeletionBudget",
      reason: expect.stringContaining(
        "--max-deletions (the lesser of 5 or 20%) allows 2: no further deletion is begun. Ways out: restore files until at most 2 are missing",
      ) as string,
    });
  });

  test("counts what it has begun before", () => {
    const world = { ...gone(there("first"), there("other")), budget: { limit, begun: 1, of: 10 } };
    expect(causes(world)).toMatchObject({ first: "DeletionBudget", other: "DeletionBudget" });
    expect(planFor(world).changes[1]?.reason).toContain("3 (1 of them begun already) of 10 pipelines");
  });

  test.each<[string, There]>([
    ["that its file had terminated", there("third", { status: "Terminated", owned: { terminated: true } })],
    [
      "of which the deletion was begun",
      there("third", { status: "Stopped", intake: "closed", owned: { ending: true } }),
    ],
  ])("does not count a pipeline %s, and goes on with it", (_title, allowedOne) => {
    const all = [there("first"), there("other"), allowedOne];
    expect(causes(gone(...all))).toMatchObject({ first: "FileRemoved", other: "FileRemoved", third: "FileRemoved" });
    expect(causes(gone(there("fourth"), ...all))).toMatchObject({
      first: "DeletionBudget",
      fourth: "DeletionBudget",
      third: "FileRemoved",
    });
  });

  test("counts a pipeline that only somebody else terminated", () => {
    const all = [there("first"), there("other"), there("third", { status: "Terminated" })];
    expect(causes(gone(...all))).toMatchObject({ third: "DeletionBudget" });
  });

  test("counts one that waits for a transition, or for an earlier change", () => {
    const stopping = gone(there("first"), there("other"), there("third", { status: "Stopping" }));
    expect(causes(stopping)).toMatchObject({ first: "DeletionBudget", third: "DeletionBudget" });
    const busy = { ...gone(there("first"), there("other"), there("third")), busy: { third: editing } };
    expect(causes(busy)).toMatchObject({ first: "DeletionBudget", third: "InProgress" });
  });

  test("does not count what is kept anyhow, and what is not owned", () => {
    const kept = [there("third", { owned: { prune: false } }), there("fourth", { owned: null })];
    expect(causes(gone(there("first"), there("other"), ...kept))).toMatchObject({
      first: "FileRemoved",
      third: "PruneDisabled",
      fourth: "NotOwned",
    });
  });

  test("leaves a deletion under way alone", () => {
    const busy = { third: { isStopping: true, isEnding: true as const } };
    expect(causes({ ...gone(there("first"), there("other"), there("third")), busy })).toMatchObject({
      first: "FileRemoved",
      third: "InProgress",
    });
  });

  test("leaves an edit under way alone that still waits for its stop, and refuses its deletion", () => {
    const busy = { third: { wish: "an edit", isStopping: true } };
    const world = { ...gone(there("first"), there("other"), there("third", { status: "Stopping" })), busy };
    const third = planFor(world).changes.find(({ pipeline_id }) => pipeline_id === "third");
    expect(third).toMatchObject({ kind: "refuse", cause: "DeletionBudget", calls: [] });
    expect(third).not.toHaveProperty("replaces");
  });

  test("may make pipelines anew beyond it", () => {
    const ids = ["first", "other", "third"];
    const world = { wanted: ids.map((id) => immutable(id, 48)), there: ids.map((id) => ({ was: immutable(id, 24) })) };
    const { changes } = planFor({ ...world, budget: { limit, begun: 0, of: 3 } });
    expect(changes.map(({ kind }) => kind)).toEqual(["recreate", "recreate", "recreate"]);
  });
});
