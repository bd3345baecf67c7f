import { afterAll, beforeAll, expect, test } from "vitest";
import type { DeadLetters } from "../../../engine/state/dead-letters.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import { isEveryCase } from "../../support/cases.ts";
import { breaches } from "../../support/model/breaches.ts";
import type { Fate } from "../../support/model/events.ts";
import { repeated } from "../../support/model/target.ts";
import { World, type Happening, type WorldOptions } from "../../support/model/world.ts";
import { openJournal } from "../../support/journal.ts";

let close: () => Promise<void>;
let letters: DeadLetters;
let journal: StoreJournal;

beforeAll(async () => void ({ journal, letters, close } = await openJournal()));

afterAll(() => close());

/** How far a pipeline may have come when its source misses some, in turns of work. */
const lastTurns = isEveryCase ? 40 : 10;

const event = (key: string, fate: Fate = "row") => ({ key, fate, partition: 1 });

const shape: WorldOptions = {
  hasDedup: true,
  replicas: 2,
  window: 10_000,
  on_uncertain: "insert",
  on_view_error: "pause",
};

/** Batches under way when the pipeline ends, and what comes then. */
const stories: [title: string, before: Happening[], after: Happening[]][] = [
  [
    "is processed anew",
    [
      { kind: "tricks", tricks: repeated("refuse") },
      { kind: "push", events: [event("a"), event("b"), event("c")] },
    ],
    [{ kind: "edit" }, { kind: "mend" }],
  ],
  [
    "is made again under its token",
    [
      { kind: "tricks", tricks: repeated("unknown, nothing in") },
      { kind: "push", events: [event("a"), event("b"), event("c")] },
    ],
    [{ kind: "edit" }, { kind: "tricks", tricks: ["setup"] }],
  ],
  [
    "is made again under its token, with a duplicate of a dead event,",
    [
      { kind: "tricks", tricks: repeated("unknown, nothing in") },
      { kind: "push", events: [event("b"), event("a", "transform"), event("a")] },
    ],
    [{ kind: "edit" }, { kind: "tricks", tricks: ["setup"] }],
  ],
];

test.each(stories)(
  "a batch that %s loses no event that is missing from its source for a while",
  async (title, before, after) => {
    for (let turns = 0; turns < lastTurns; turns += 1) {
      const world = new World(`short-${title.length}-${turns}`, journal, letters, shape);
      for (const one of before) await world.let(one);
      await world.let({ kind: "work", turns: 40 });
      world.target.next = [];
      // When the source misses some: while events are read again the first or the second time, or later.
      if (turns === 0) await world.let({ kind: "short reads", count: 1 });
      for (const one of after) await world.let(one);
      await world.let({ kind: "work", turns });
      await world.let({ kind: "short reads", count: 1 });
      await world.settle();
      expect(breaches(world, true)).toEqual([]);
    }
  },
);

test("a batch that is written keeps a duplicate that waits, and is missing from its source for a while", async () => {
  const world = new World("short-written", journal, letters, { ...shape, partitions: 2, topics: 2 });
  // The duplicate of the event that dies: it is in a batch of its own, which has no row and is written at once.
  await world.let({ kind: "push", events: [event("d"), event("a", "transform"), event("d")] });
  await world.let({ kind: "work", turns: 2 });
  await world.let({ kind: "push", events: [event("a")] });
  await world.let({ kind: "work", turns: 2 });
  await world.let({ kind: "crash" });
  world.source.shortReads = 1;
  await world.settle();
  expect(breaches(world, true)).toEqual([]);
});

const pushed = (...events: ReturnType<typeof event>[]): Happening => ({ kind: "push", events });

/** Pipelines that go on without what their source misses. What comes later with the same key is written. */
const skipping: [title: string, before: (turns: number) => Happening[], missed: number][] = [
  [
    "a duplicate that waits is gone with its original",
    (turns) => [
      pushed(event("a")),
      { kind: "work", turns: 1 },
      pushed(event("a")),
      { kind: "tricks", tricks: ["setup", ...repeated("refuse", turns)] },
      { kind: "stop" },
    ],
    2,
  ],
  [
    "a released duplicate is gone when its batch is processed anew",
    (turns) => [
      pushed(event("a", "transform"), event("a")),
      pushed(event("e")),
      { kind: "tricks", tricks: ["answer", "setup", ...repeated("refuse", turns)] },
      { kind: "short reads", count: 1 },
      { kind: "edit" },
    ],
    1,
  ],
];

test.each(skipping)("the key is free where %s", async (title, before, count) => {
  for (let turns = 0; turns < 10; turns += 1) {
    const world = new World(`skipping-${title.length}-${turns}`, journal, letters, { ...shape, on_lost: "skip" });
    for (const one of before(turns)) await world.let(one);
    await world.let({ kind: "short reads", count });
    await world.let(pushed(event("a")));
    await world.settle();
    expect(world.source.missed.size).toBeGreaterThan(0);
    expect(breaches(world, true)).toEqual([]);
  }
});
