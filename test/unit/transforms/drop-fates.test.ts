import { afterAll, beforeAll, expect, test } from "vitest";
import type { BatchRecord, KeyBlock, WaitingDrop } from "../../../engine/core/journal.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import { RememberedKeys } from "../../../engine/transforms/dedup/remembered-keys.ts";
import { openJournal } from "../../support/journal.ts";

const minute = 60_000;
const noon = Date.UTC(2026, 5, 1, 12);

let close: () => Promise<void>;
let journal: StoreJournal;

beforeAll(async () => void ({ journal, close } = await openJournal()));

afterAll(() => close());

const printOf = (key: number): Uint32Array => Uint32Array.from([key, key, key, key]);

const keysOf = (since: number, ...keys: number[]): KeyBlock => ({
  since,
  until: since + minute,
  positions: keys,
  prints: new Uint8Array(Uint32Array.from(keys.flatMap((key) => [...printOf(key)])).buffer),
});

/** A batch at some minutes after noon. The position of an event is its key. */
function recordOf(pipeline_id: string, batch: number, minutes: number, over: Partial<BatchRecord>): BatchRecord {
  return {
    batch,
    pipeline_id,
    madeOf: { kind: "source", ranges: [{ feed: "", base: 0, first: batch, last: batch, count: 1 }] },
    revision: 1,
    token: `token ${batch}`,
    clock: noon + minutes * minute,
    oldest: 0,
    rows: 1,
    rejections: [],
    excluded: [],
    keys: [],
    waiting: [],
    state: { kind: "prepared" },
    ...over,
  };
}

const dropOf = (key: number, of?: number): WaitingDrop => ({
  position: 100 + key,
  print: [...printOf(key)],
  window: minute,
  ...(of === undefined ? {} : { of }),
});

async function loaded(pipeline_id: string, minutes: number): Promise<RememberedKeys> {
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  await keys.load(journal, pipeline_id, noon + minutes * minute);
  return keys;
}

/** Batch 1 brings the keys 1 and 2 and is written but for 2; batch 2 is under way, with drops that repeat both. */
async function begun(pipeline_id: string, isNamed: boolean): Promise<BatchRecord> {
  const first = recordOf(pipeline_id, 1, 0, { keys: [keysOf(noon, 1, 2)], excluded: [2] });
  await journal.prepare(first);
  const of = isNamed ? 1 : undefined;
  const second = recordOf(pipeline_id, 2, 0.5, { waiting: [dropOf(1, of), dropOf(2, of)] });
  await journal.prepare(second);
  await journal.commit(first);
  return second;
}

const fates = (keys: RememberedKeys, { waiting }: BatchRecord): Promise<unknown[]> =>
  Promise.all(waiting.map((drop) => keys.fateOfDrop(2, drop)));

test("a drop of an earlier run is a repeat where its key is final, however late it is by now", async () => {
  for (const isNamed of [true, false]) {
    const pipeline_id = `late, ${isNamed}`;
    const second = await begun(pipeline_id, isNamed);
    const keys = await loaded(pipeline_id, 600);
    expect(await fates(keys, second)).toEqual(["written", "free"]);
    expect(keys.look(printOf(1), noon + 600 * minute)).toBe("first");
  }
});

test("a drop keeps the key that it waits for on disk, whatever expires, and whatever the clock is set to", async () => {
  const second = await begun("kept", true);
  await journal.setBack("kept", noon + 10 * minute, noon - 600 * minute);
  const third = recordOf("kept", 3, 0, { clock: noon + 600 * minute, keys: [keysOf(noon + 600 * minute, 3)] });
  await journal.prepare(third);
  await journal.commit(third);
  expect(await fates(await loaded("kept", 600), second)).toEqual(["written", "free"]);
  await journal.commit(second);
  const fourth = recordOf("kept", 4, 700, {});
  await journal.prepare(fourth);
  await journal.commit(fourth);
  expect(await journal.finalKeys("kept", 0)).toEqual([]);
});

test("a terminate forgets all keys for later events, and none for drops of batches that it keeps", async () => {
  const second = await begun("terminated", true);
  await journal.forgetKeys("terminated");
  const keys = await loaded("terminated", 0.7);
  expect(keys.look(printOf(1), noon + 0.7 * minute)).toBe("first");
  expect(await fates(keys, second)).toEqual(["written", "free"]);
});

test("a drop says what became of the key that it waited for, also where a later event has that key by now", async () => {
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  const see = (batch: number, position: number, clock: number) =>
    keys.see(printOf(7), position, batch, noon + clock * minute, minute);
  expect([see(1, 1, 0), see(2, 2, 0.5), see(3, 3, 2), see(4, 4, 2.5)]).toEqual([
    "first",
    "waiting",
    "first",
    "waiting",
  ]);
  keys.written(recordOf("p", 1, 0, {}));
  keys.release(3);
  const drop = { position: 2, print: [7, 7, 7, 7] };
  expect(await keys.fateOfDrop(2, drop)).toBe("written");
  expect(await keys.fateOfDrop(4, { ...drop, position: 4 })).toBe("free");
});
