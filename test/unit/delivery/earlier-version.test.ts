import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import { DataDir } from "../../../engine/state/data-dir.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../../engine/state/journal.ts";
import { recordOf, storedRecord, type StoredRecord } from "../../../engine/state/journal-formats.ts";
import { Store } from "../../../engine/state/store.ts";
import { breaches } from "../../support/model/breaches.ts";
import type { ModelEvent } from "../../support/model/events.ts";
import type { ModelTarget } from "../../support/model/target.ts";
import { World, type WorldOptions } from "../../support/model/world.ts";

/**
 * A data dir of the version before, whose process was killed while each of its pipelines had batches pending, and what
 * is beside it: what the pipelines were given, and what their tables held by then.
 */
const earlier = fileURLToPath(new URL("earlier-version/", import.meta.url));

interface Beside {
  options: Partial<WorldOptions>;
  revision: number;
  events: Omit<ModelEvent, "id">[];
  target: Partial<ModelTarget>;
}

let folder: string;
let dataDir: DataDir;
let store: Store;
let letters: DeadLetters;
let journal: StoreJournal;
let beside: Record<string, Beside>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-earlier-"));
  await cp(join(earlier, "data-dir"), folder, { recursive: true });
  beside = JSON.parse(await readFile(join(earlier, "beside.json"), "utf8")) as typeof beside;
  dataDir = await DataDir.take(folder);
  store = Store.open(dataDir.folder("state"));
  letters = new DeadLetters(store, (id) => journal.heldLetters(id));
  journal = new StoreJournal(store, letters);
});

afterAll(async () => {
  await store.close();
  dataDir.release();
  await rm(folder, { recursive: true, force: true });
});

/** What a record says beside its ranges, times and token. */
function summaryOf({ state, madeOf, rows, excluded, rejections, keys, waiting, only }: BatchRecord): unknown {
  const { kind, target } = state;
  return {
    state: kind,
    rows,
    ...(excluded.length > 0 && { excluded }),
    ...(rejections.length > 0 && { dead: rejections.map(({ position }) => position) }),
    ...(target !== undefined && { blocks: target.blocks }),
    ...(kind === "written" && state.at !== undefined && { isTimed: true }),
    ...(keys.length > 0 && { keys: keys.map(({ positions }) => positions) }),
    ...(waiting.length > 0 && { waiting: waiting.map(({ position, of }) => ({ position, of })) }),
    ...(only && { only }),
    ...(madeOf.kind === "letters" && { letters: madeOf.numbers }),
    ...(madeOf.kind === "released" && { isReleased: true }),
  };
}

const cases: [id: string, pending: unknown[]][] = [
  ["prepared", [{ state: "prepared", rows: 3 }]],
  ["sent, all in", [{ state: "sent", rows: 3, blocks: 0 }]],
  ["sent, part in", [{ state: "sent", rows: 3, blocks: 0 }]],
  ["refused", [{ state: "refused", rows: 2, dead: [2, 4], blocks: 0 }]],
  ["refused, never sent", [{ state: "refused", rows: 3 }]],
  ["view failed", [{ state: "viewFailed", rows: 3, blocks: 0 }]],
  [
    "written",
    [
      { state: "refused", rows: 3, blocks: 1 },
      { state: "written", rows: 3, blocks: 0, isTimed: true },
    ],
  ],
  [
    "written, without rows",
    [
      { state: "sent", rows: 3, blocks: 0 },
      { state: "written", rows: 0, dead: [4, 5, 6], blocks: 0 },
    ],
  ],
  ["excluded", [{ state: "refused", rows: 2, excluded: [2], dead: [2], blocks: 0, keys: [[1, 2, 3]] }]],
  ["excluded, sent", [{ state: "sent", rows: 2, excluded: [2], dead: [2], blocks: 0, keys: [[1, 2, 3]] }]],
  ["letters", [{ state: "refused", rows: 1, dead: [1], blocks: 1, letters: [1, 2] }]],
  [
    "waiting",
    [
      { state: "refused", rows: 3, blocks: 0, keys: [[1, 2, 3]] },
      { state: "sent", rows: 2, blocks: 0, keys: [[5, 6]], waiting: [{ position: 4, of: 1 }] },
    ],
  ],
  [
    "released",
    [
      {
        state: "refused",
        rows: 1,
        blocks: 2,
        keys: [[4]],
        waiting: [{ position: 6, of: 3 }],
        only: [4],
        isReleased: true,
      },
    ],
  ],
  ["made again with its token", [{ state: "sent", rows: 3, blocks: 0, only: [1, 2, 3] }]],
  [
    "partitions, released",
    [
      {
        state: "sent",
        rows: 1,
        blocks: 2,
        keys: [[0]],
        waiting: [{ position: 2, of: 3 }],
        only: [0],
        isReleased: true,
      },
    ],
  ],
  [
    "partitions",
    [
      { state: "sent", rows: 2, dead: [2 ** 40], blocks: 0, keys: [[0, 2], [2 ** 40]] },
      { state: "sent", rows: 3, blocks: 1, keys: [[0, 2, 2 ** 40]] },
    ],
  ],
];

test("every pipeline of the data dir is looked at", () => {
  expect(cases.map(([id]) => id).toSorted()).toEqual(Object.keys(beside).toSorted());
});

test("records are kept in the same form as before", () => {
  const stored = Array.from(store.table<StoredRecord, [string, number]>("journal").getRange(), ({ value }) => value);
  expect(stored.length).toBeGreaterThan(cases.length);
  expect(stored.map((record) => storedRecord(recordOf(record, [])))).toEqual(stored);
});

test("keys are counted where their number was not stored", async () => {
  const loaded = await Promise.all(cases.map(([id]) => journal.finalKeys(id, 0)));
  const counts = loaded.map((page) => page.reduce((sum, { prints }) => sum + prints.length / 16, 0));
  expect(Math.max(...counts)).toBeGreaterThan(0);
  expect(cases.map(([id]) => journal.finalKeyCount(id))).toEqual(counts);
});

test.each(cases)("%s: is read as it was written, and each event is settled once", async (id, pending) => {
  expect(journal.pending(id).map(summaryOf)).toEqual(pending);
  const { options, revision, events, target } = beside[id]!;
  const always = {
    hasDedup: false,
    replicas: 1,
    window: 10_000,
    on_uncertain: "insert",
    on_view_error: "pause",
  } as const;
  const world = new World(id, journal, letters, { ...always, ...options, revision, left: { events, target } });
  await world.settle();
  expect(journal.pending(id)).toEqual([]);
  expect(breaches(world, options.hasDedup === true)).toEqual([]);
});
