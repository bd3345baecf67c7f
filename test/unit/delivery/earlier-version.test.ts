import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import { DataDir } from "../../../engine/state/data-dir.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../../engine/state/journal.ts";
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
function told({ heard, rows, excluded, rejections, target, written_at, ...record }: BatchRecord): unknown {
  return {
    heard,
    rows,
    ...(excluded.length > 0 && { excluded }),
    ...(rejections.length > 0 && { dead: rejections.map(({ position }) => position) }),
    ...(target !== undefined && { blocks: target.blocks }),
    ...(written_at !== undefined && { isTimed: true }),
    ...(record.keys && { keys: record.keys.map(({ positions }) => positions) }),
    ...(record.waiting && { waiting: record.waiting.map(({ position, of }) => ({ position, of })) }),
    ...(record.only && { only: record.only }),
    ...(record.letters && { letters: record.letters }),
    ...(record.isAside && { isAside: true }),
  };
}

const cases: [id: string, pending: unknown[]][] = [
  ["prepared", [{ heard: "nothing", rows: 3 }]],
  ["sent, all in", [{ heard: "nothing", rows: 3, blocks: 0 }]],
  ["sent, part in", [{ heard: "nothing", rows: 3, blocks: 0 }]],
  ["refused", [{ heard: "refused", rows: 2, dead: [2, 4], blocks: 0 }]],
  ["refused, never sent", [{ heard: "refused", rows: 3 }]],
  ["view failed", [{ heard: "view", rows: 3, blocks: 0 }]],
  [
    "written",
    [
      { heard: "refused", rows: 3, blocks: 1 },
      { heard: "written", rows: 3, blocks: 0, isTimed: true },
    ],
  ],
  [
    "written, without rows",
    [
      { heard: "nothing", rows: 3, blocks: 0 },
      { heard: "written", rows: 0, dead: [4, 5, 6], blocks: 0 },
    ],
  ],
  ["excluded", [{ heard: "refused", rows: 2, excluded: [2], dead: [2], blocks: 0, keys: [[1, 2, 3]] }]],
  ["excluded, sent", [{ heard: "nothing", rows: 2, excluded: [2], dead: [2], blocks: 0, keys: [[1, 2, 3]] }]],
  ["letters", [{ heard: "refused", rows: 1, dead: [1], blocks: 1, letters: [1, 2] }]],
  [
    "waiting",
    [
      { heard: "refused", rows: 3, blocks: 0, keys: [[1, 2, 3]] },
      { heard: "nothing", rows: 2, blocks: 0, keys: [[5, 6]], waiting: [{ position: 4, of: 1 }] },
    ],
  ],
  [
    "released",
    [
      {
        heard: "refused",
        rows: 1,
        blocks: 2,
        keys: [[4]],
        waiting: [{ position: 6, of: 3 }],
        only: [4],
        isAside: true,
      },
    ],
  ],
  ["made again with its token", [{ heard: "nothing", rows: 3, blocks: 0, only: [1, 2, 3] }]],
  [
    "partitions, released",
    [
      {
        heard: "nothing",
        rows: 1,
        blocks: 2,
        keys: [[0]],
        waiting: [{ position: 2, of: 3 }],
        only: [0],
        isAside: true,
      },
    ],
  ],
  [
    "partitions",
    [
      { heard: "nothing", rows: 2, dead: [2 ** 40], blocks: 0, keys: [[0, 2], [2 ** 40]] },
      { heard: "nothing", rows: 3, blocks: 1, keys: [[0, 2, 2 ** 40]] },
    ],
  ],
];

test("every pipeline of the data dir is looked at", () => {
  expect(cases.map(([id]) => id).toSorted()).toEqual(Object.keys(beside).toSorted());
});

test.each(cases)("%s: is read as it was written, and each event is settled once", async (id, pending) => {
  expect(journal.pending(id).map(told)).toEqual(pending);
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
