import { afterAll, beforeAll, expect, test } from "vitest";
import type { DeadLetters } from "../../../engine/state/dead-letters.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import { repeated, type Trick } from "../../support/model/target.ts";
import { World } from "../../support/model/world.ts";
import { openJournal } from "../../support/journal.ts";

let close: () => Promise<void>;
let letters: DeadLetters;
let journal: StoreJournal;

beforeAll(async () => void ({ journal, letters, close } = await openJournal()));

afterAll(() => close());

const events = ["row", "transform", "server"].map((fate, index) => ({
  key: String(index),
  fate: fate as "row",
  partition: 1,
}));

/** A batch of revision 1 that nobody knows to be in the table; revision 2 then meets these answers. */
async function edited(id: string, ...tricks: Trick[]): Promise<World> {
  const world = new World(id, journal, letters, {
    hasDedup: false,
    replicas: 1,
    window: 100,
    on_uncertain: "insert",
    on_view_error: "pause",
  });
  await world.let({ kind: "tricks", tricks: repeated("unknown, nothing in") });
  await world.let({ kind: "push", events });
  await world.let({ kind: "work", turns: 50 });
  await world.let({ kind: "edit" });
  world.target.next = tricks;
  await world.let({ kind: "work", turns: 300 });
  return world;
}

test.each<[title: string, tricks: Trick[]]>([
  ["and then sent as a new one", ["setup", "unknown, restarted with nothing in"]],
  ["and refused whole, before it is sent as a new one", ["setup", "refuse", "unknown, restarted with nothing in"]],
])("a batch that is made again under its token, %s, keeps its dead letters", async (title, tricks) => {
  const world = await edited(`remade-${title.length}`, ...tricks);
  await world.settle();
  expect(world.told.get("batchReprepared")).toBeGreaterThan(0);
  expect(world.letters.map(({ error }) => error)).toEqual(["transform", "bad"]);
  expect(world.target.rows).toHaveLength(1);
});

test("a batch that was made again under its token, and is processed anew by a third revision, keeps its dead letters", async () => {
  const world = await edited("remade-thrice", "setup", "unknown, restarted with nothing in", ...repeated("refuse"));
  await world.let({ kind: "edit" });
  await world.settle();
  expect(world.letters.map(({ error }) => error)).toEqual(["transform", "bad"]);
  expect(world.target.rows).toHaveLength(1);
});
