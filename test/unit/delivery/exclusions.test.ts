import { afterAll, beforeAll, expect, test } from "vitest";
import type { DeadLetters } from "../../../engine/state/dead-letters.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import { isEveryCase } from "../../support/cases.ts";
import { breaches } from "../../support/model/breaches.ts";
import type { Fate } from "../../support/model/events.ts";
import { repeated, type Trick } from "../../support/model/target.ts";
import { World, type Happening, type WorldOptions } from "../../support/model/world.ts";
import { openJournal } from "../../support/journal.ts";

let close: () => Promise<void>;
let letters: DeadLetters;
let journal: StoreJournal;

beforeAll(async () => void ({ journal, letters, close } = await openJournal()));

afterAll(() => close());

const lost = repeated("unknown, nothing in");

test.each<[first: string, tricks: Trick[]]>([
  ["the first answer", ["answer"]],
  ["the answer to a repeat", ["unknown, nothing in", "answer"]],
])(
  "a row that %s refuses is a dead letter also where the process ends after the rest was sent, and the table takes it by then",
  async (first, tricks) => {
    for (let turns = 1; turns < (isEveryCase ? 40 : 16); turns += 1) {
      const world = new World(`exclusions-${first.length}-${turns}`, journal, letters, {
        hasDedup: false,
        replicas: 1,
        window: 10_000,
        on_uncertain: "insert",
        on_view_error: "pause",
      });
      // The whole is refused; the rest is written, and its answer does not come.
      await world.let({ kind: "tricks", tricks: [...tricks, "unknown, all in", ...lost] });
      const events = ["row", "server", "row"] as const;
      await world.let({ kind: "push", events: events.map((fate, key) => ({ key: String(key), fate, partition: 1 })) });
      await world.let({ kind: "work", turns });
      world.target.next = [];
      await world.let({ kind: "mend" });
      await world.let({ kind: "crash" });
      await world.settle();
      expect(breaches(world, true)).toEqual([]);
    }
  },
);

const shape: WorldOptions = {
  hasDedup: true,
  replicas: 1,
  window: 10_000,
  on_uncertain: "insert",
  on_view_error: "pause",
  on_lost: "skip",
};

const event = (key: string, fate: Fate = "row") => ({ key, fate, partition: 1 });

test("a row that was taken out goes in with the others where the table then takes none of them for a while", async () => {
  const world = new World("taken-back", journal, letters, shape);
  await world.let({ kind: "tricks", tricks: ["answer", ...repeated("setup")] });
  await world.let({ kind: "push", events: [event("a", "server"), event("b"), event("c")] });
  await world.let({ kind: "work", turns: 40 });
  expect(journal.pending("taken-back")).toMatchObject([{ excluded: [0], rejections: [{ position: 0 }] }]);
  world.target.takesNone = true;
  world.target.next = [];
  await world.let({ kind: "work", turns: 40 });
  await world.let({ kind: "mend" });
  await world.settle();
  expect(world.target.rows.map(({ key }) => key)).toEqual(["a", "b", "c"]);
  expect(world.letters).toEqual([]);
});

/** What a batch meets that was refused, and one of whose events is gone at the next start. */
const stories: [title: string, id: string, happenings: Happening[]][] = [
  ["where the table takes none of its batch for a while", "none", [{ kind: "mend" }]],
  [
    "where its batch is made again under its token",
    "token",
    [{ kind: "tricks", tricks: lost }, { kind: "mend" }, { kind: "work", turns: 40 }, { kind: "edit" }],
  ],
];

test.each(stories)("the key of an event that is gone from the source is free, also %s", async (_title, id, then) => {
  const world = new World(`gone-${id}`, journal, letters, shape);
  world.target.takesNone = true;
  await world.let({ kind: "push", events: [event("a"), event("b"), event("gone")] });
  await world.let({ kind: "work", turns: 40 });
  await world.let({ kind: "crash" });
  await world.let({ kind: "short reads", count: 1 });
  await world.let({ kind: "work", turns: 40 });
  expect(world.told.get("rangeSkipped")).toBe(1);
  for (const one of then) await world.let(one);
  world.target.next = ["setup"];
  await world.let({ kind: "work", turns: 40 });
  await world.let({ kind: "push", events: [event("gone")] });
  await world.settle();
  expect(world.told.get("batchReprepared") ?? 0).toBe(id === "token" ? 1 : 0);
  expect(world.target.rows.map(({ key }) => key)).toEqual(["a", "b", "gone"]);
  expect(world.letters).toEqual([]);
});
