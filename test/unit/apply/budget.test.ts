import { afterEach, beforeEach, expect, test } from "vitest";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { readyOf, signal, World } from "./world.ts";

let world: World;
let reconciler: Reconciler;
const all = ["alpha", "bravo", "charlie", "delta", "extra"].map((id) => ({ id }));

beforeEach(async () => {
  world = await World.make();
  world.source.say(...all);
  reconciler = world.reconciler({ maxDeletions: "2" });
  await reconciler.turn("start", signal);
});

afterEach(() => world.remove());

const left = (): string[] => world.engine.list().map(({ pipeline_id }) => pipeline_id);

/** Turns in which nothing new happens. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await reconciler.turn("poll", signal);
}

test("a revision that removes too many files deletes nothing, and the next one that removes fewer does", async () => {
  world.source.say(...all.slice(3), { id: "fresh" });
  await turns(3);
  expect(left()).toEqual([...all.map(({ id }) => id), "fresh"]);
  expect(readyOf(reconciler, "alpha")).toEqual(["False", "DeletionBudget", "Stalled"]);
  world.source.say(...all.slice(2), { id: "fresh" });
  await turns(1);
  expect(left()).toEqual(["charlie", "delta", "extra", "fresh"]);
});

test("what a revision has begun to delete counts over its turns, and over a restart, and is carried to its end", async () => {
  world.engine.change("alpha", { letters: 1 });
  world.source.say(...all.slice(1));
  await turns(2);
  expect(readyOf(reconciler, "alpha")).toEqual(["False", "DeadLettersHeld", "Stalled"]);
  reconciler = world.reconciler({ maxDeletions: "1" });
  world.source.say(...all.slice(2));
  await turns(2);
  expect(left()).toEqual(["alpha", "charlie", "delta", "extra"]);
  world.engine.change("alpha", { letters: 0 });
  await turns(1);
  expect(left()).toEqual(["charlie", "delta", "extra"]);
});

test("pipelines that their files had terminated before go, however many", async () => {
  world.source.say(...all.slice(0, 4).map((one) => ({ ...one, sluice: ["state: Terminated"] })), ...all.slice(4));
  await turns(1);
  world.source.say(...all.slice(4));
  await turns(1);
  expect(left()).toEqual(["extra"]);
});

test("a share is one of the pipelines that were owned before, whatever the revision creates besides", async () => {
  reconciler = world.reconciler({ maxDeletions: "40%" });
  const fresh = ["kilo-x", "lima-x", "mike-x", "november-x", "oscar-x"].map((id) => ({ id }));
  world.source.say(...all.slice(3), ...fresh);
  await turns(3);
  expect(left()).toHaveLength(10);
});
