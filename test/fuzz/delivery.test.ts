import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DeadLetters } from "../../engine/state/dead-letters.ts";
import type { StoreJournal } from "../../engine/state/journal.ts";
import { breaches } from "../support/model/breaches.ts";
import type { ModelEvent } from "../support/model/events.ts";
import { deaths, repeated, tricks, type Trick } from "../support/model/target.ts";
import type { Journal } from "../../engine/core/journal.ts";
import { World, type Happening, type WorldOptions } from "../support/model/world.ts";
import { openJournal } from "../support/journal.ts";
import { isLongForm, seed, triesOf } from "./tries.ts";

const numRuns = triesOf(45);
const timeout = 120_000 + numRuns * 200;

let close: () => Promise<void>;
let letters: DeadLetters;
let journal: StoreJournal;
let worlds = 0;

beforeAll(async () => void ({ journal, letters, close } = await openJournal()));

afterAll(() => close());

const event: fc.Arbitrary<Omit<ModelEvent, "id">> = fc.record({
  key: fc.constantFrom("a", "b", "c", "d", "e"),
  fate: fc.constantFrom("row", "row", "row", "row", "transform", "encoder", "server", "even"),
  partition: fc.integer({ min: 1, max: 3 }),
});

const pushes = fc.record({ kind: fc.constant("push"), events: fc.array(event, { minLength: 1, maxLength: 8 }) });
const work = fc.record({ kind: fc.constant("work"), turns: fc.integer({ min: 0, max: 30 }) });
const someTricks = (some: readonly Trick[], length: fc.ArrayConstraints) =>
  fc.record({ kind: fc.constant("tricks"), tricks: fc.array(fc.constantFrom(...some), length) });
const shortReads = fc.record({ kind: fc.constant("short reads"), count: fc.integer({ min: 1, max: 3 }) });
const compaction = fc.record({ kind: fc.constant("compact") });

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: pushes },
  { weight: 3, arbitrary: someTricks(tricks, { maxLength: 4 }) },
  { weight: 4, arbitrary: work },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("crash") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reprocess") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("stop", "edit", "terminate", "mend") }) },
  { weight: 1, arbitrary: shortReads },
) as fc.Arbitrary<Happening>;

/** What happens where events go from the source, and where the table takes no row for a while. */
const goneBy = (how: fc.Arbitrary<unknown>): fc.Arbitrary<Happening[]> =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: pushes },
      { weight: 4, arbitrary: someTricks(["answer", "refuse", "setup"], { minLength: 1, maxLength: 20 }) },
      { weight: 1, arbitrary: someTricks(tricks, { maxLength: 4 }) },
      { weight: 4, arbitrary: work },
      { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("wrong", "stop", "edit") }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("mend", "reprocess", "crash") }) },
      { weight: 3, arbitrary: how },
    ) as fc.Arbitrary<Happening>,
    { minLength: 3, maxLength: 25 },
  );

/** What happens where other writers are about, and the server dies and comes back. */
const harsher: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 12, arbitrary: happening },
  { weight: 2, arbitrary: someTricks([...deaths, ...tricks], { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("others"), blocks: fc.integer({ min: 1, max: 3 }) }) },
) as fc.Arbitrary<Happening>;

const stories = fc.array(happening, { minLength: 3, maxLength: 25 });
const harsherStories = fc.array(harsher, { minLength: 3, maxLength: 25 });
const shapes = fc.record(
  {
    hasDedup: fc.boolean(),
    replicas: fc.integer({ min: 1, max: 3 }),
    partitions: fc.integer({ min: 1, max: 3 }),
    topics: fc.integer({ min: 1, max: 2 }),
  },
  { requiredKeys: ["hasDedup", "replicas"] },
);

async function told(story: readonly Happening[], options: WorldOptions): Promise<World> {
  worlds += 1;
  const world = new World(`model-${worlds}`, journal, letters, options);
  for (const one of story) await world.let(one);
  await world.settle();
  return world;
}

const wide = { window: 10_000, on_uncertain: "insert", on_view_error: "pause" } as const;
const narrow = { window: 2, on_view_error: "skip" } as const;

const settlesOnce = fc.asyncProperty(stories, shapes, async (story, shape) => {
  expect(breaches(await told(story, { ...shape, ...wide }), shape.hasDedup)).toEqual([]);
});
const losesWhatIsMissed = fc.asyncProperty(goneBy(shortReads), shapes, async (story, shape) => {
  const world = await told(story, { ...shape, ...wide, on_lost: "skip" });
  expect(breaches(world, shape.hasDedup)).toEqual([]);
});
const settlesTheNewest = fc.asyncProperty(goneBy(compaction), shapes, async (story, shape) => {
  const world = await told(story, { partitions: 1, ...shape, ...wide });
  expect(breaches(world, shape.hasDedup)).toEqual([]);
});
const doesAsChosen = fc.asyncProperty(
  harsherStories,
  shapes,
  fc.constantFrom("insert", "skip"),
  async (story, shape, on_uncertain) => {
    const world = await told(story, { ...shape, ...narrow, on_uncertain });
    const allowed = on_uncertain === "insert" ? "doubled" : "lost";
    expect(breaches(world, shape.hasDedup).filter((breach) => !breach.startsWith(allowed))).toEqual([]);
  },
);

type Assert = (how: { numRuns: number; seed: number }) => Promise<void>;

/** Each is tried for this share of the stories. */
const properties: [title: string, share: number, assert: Assert][] = [
  [
    "whatever happens, each event is settled once: as a row, as a letter, or dropped for a row with its key",
    1,
    (how) => fc.assert(settlesOnce, how),
  ],
  [
    "with on_lost: skip nothing is lost but what the source misses, and what comes later with its key is written",
    1 / 3,
    (how) => fc.assert(losesWhatIsMissed, how),
  ],
  ["of a compacted topic, the newest event of each key is settled", 1 / 3, (how) => fc.assert(settlesTheNewest, how)],
  [
    "outside of the window, and where the server dies, nothing is lost with on_uncertain: insert, and nothing doubled with skip",
    1 / 3,
    (how) => fc.assert(doesAsChosen, how),
  ],
];

test.each(properties)("%s", { timeout }, (_title, share, assert) =>
  assert({ numRuns: Math.ceil(numRuns * share), seed }),
);

test.skipIf(isLongForm).each(properties)("%s: in more stories", { tags: ["rest"], timeout }, (_title, share, assert) =>
  assert({ numRuns: Math.ceil(100 * share), seed: seed + 1 }),
);

/** One batch is written; what comes back to the next one, of two partitions, is `tricks`; then there is `more`. */
async function second(
  tricksOf: readonly Trick[],
  more: Happening[],
  options: Partial<WorldOptions> = {},
): Promise<World> {
  const row = { key: "a", fate: "row", partition: 1 } as const;
  const story: Happening[] = [
    { kind: "push", events: [row] },
    { kind: "work", turns: 30 },
    { kind: "tricks", tricks: [...tricksOf] },
    { kind: "push", events: [row, { ...row, partition: 2 }] },
    ...more,
    { kind: "work", turns: 30 },
  ];
  return told(story, { hasDedup: false, replicas: 1, ...wide, ...options });
}

/** Tokens of a server that died are not believed; held off meanwhile, so that something can happen before the repeat. */
const restarted = (trick: Trick): Trick[] => [trick, ...repeated("refuse", 5)];
const others: Happening[] = [
  { kind: "work", turns: 5 },
  { kind: "others", blocks: 1 },
];

describe("a server that dies within an insert and comes back", () => {
  test.each<[string, Trick]>([
    ["with its tokens and without its rows gets them under a fresh token", "unknown, tokens alone"],
    ["with nothing of it gets it once", "unknown, restarted with nothing in"],
  ])("%s", async (_title, trick) => {
    const world = await second([trick], []);
    expect(breaches(world, false)).toEqual([]);
    expect(world.told.get("tokenWithoutRows")).toBe(1);
    expect(world.told.get("batchUncertain")).toBeUndefined();
  });

  test.each<[string, Trick, Happening[], string[], string[]]>([
    ["another writer's part hides that its rows are gone", "unknown, tokens alone", others, [], ["lost", "lost"]],
    ["all of it was written", "unknown, restarted with all in", [], ["doubled", "doubled"], []],
  ])("where %s, nobody can tell: on_uncertain decides", async (_title, trick, more, inserting, skipping) => {
    for (const [on_uncertain, expected] of [
      ["insert", inserting],
      ["skip", skipping],
    ] as const) {
      const world = await second(restarted(trick), more, { on_uncertain });
      expect(breaches(world, false).map((breach) => breach.split(":")[0])).toEqual(expected);
      expect(world.told.get("batchUncertain")).toBe(1);
    }
  });

  test("and did so before Sluice itself was killed is known from the record", async () => {
    const world = await second(restarted("unknown, tokens alone"), [...others, { kind: "crash" }]);
    expect(breaches(world, false)).toEqual([]);
    expect(world.told.get("batchUncertain")).toBe(1);
  });
});

test("a replica that lags behind is believed when it drops a repeat: nothing is doubled", async () => {
  const world = await second(["unknown, all in"], [], { isReplicated: true });
  expect(world.target.dropped).toBe(2);
  expect(breaches(world, false)).toEqual([]);
  expect(world.told.get("tokenWithoutRows")).toBeUndefined();
});

test.each(["pause", "crash"] as const)(
  "after refusals alone the window begins anew, whoever used it up in that time (%s)",
  async (kind) => {
    const held = repeated("refuse", 8);
    const meanwhile: Happening[] = [
      { kind: "work", turns: 8 },
      { kind: "others", blocks: 9_000 },
    ];
    const world = await second(
      [...held, "unknown, all in"],
      [...meanwhile, ...(kind === "crash" ? [{ kind } as const] : [])],
    );
    expect(breaches(world, false)).toEqual([]);
    expect(world.told.get("batchUncertain")).toBeUndefined();
    expect(world.target.dropped).toBe(2);
  },
);

/** Faults that somebody could make, each in one call of the journal. */
const faults: [string, (of: Journal) => Partial<Journal>][] = [
  [
    "a replay draws another token",
    (of) => ({ pending: (id) => of.pending(id).map((record) => ({ ...record, token: `${record.token}x` })) }),
  ],
  ["a batch under way is forgotten", (of) => ({ pending: (id) => of.pending(id).slice(1) })],
  [
    "an answer that never came is taken for a refusal",
    (of) => ({
      pending: (id) => of.pending(id).map((record) => ({ ...record, state: { kind: "refused" }, revision: 0 })),
    }),
  ],
  [
    "the letters of a commit are left out",
    (of) => ({ commit: (record, released) => of.commit({ ...record, rejections: [] }, released) }),
  ],
  ["drops that were judged again are not prepared", (of) => ({ commit: (record) => of.commit(record) })],
  ["keys are not remembered over a restart", () => ({ finalKeys: () => Promise.resolve([]) })],
  [
    "a replay does not know what dedup kept",
    (of) => ({
      pending: (id) => of.pending(id).map((record) => ({ ...record, keys: [] })),
    }),
  ],
];

test.each(faults)("a planted fault is found: %s", { tags: ["rest"], timeout }, async (_fault, sabotage) => {
  const details = await fc.check(
    fc.asyncProperty(stories, shapes, async (story, shape) => {
      expect(breaches(await told(story, { ...shape, ...wide, sabotage }), shape.hasDedup)).toEqual([]);
    }),
    { numRuns: 300, seed, endOnFailure: true },
  );
  expect(details.failed).toBe(true);
});
