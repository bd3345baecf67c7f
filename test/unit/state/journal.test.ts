import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { joinFeed, streamFeed } from "../../../engine/core/positions.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../../engine/state/journal.ts";
import { drawRun } from "../../../engine/state/runs.ts";
import { Store } from "../../../engine/state/store.ts";
import { keysAt, record, recordOf } from "../../conformance/journal.ts";
import { memoryRoot } from "../../support/memory-folder.ts";

let folder: string;
let store: Store;
let journal: StoreJournal;

beforeEach(async () => {
  folder = await mkdtemp(join(memoryRoot(), "sluice-state-"));
  open();
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

function open(): void {
  store = Store.open(folder);
  journal = new StoreJournal(store, new DeadLetters(store, (id) => journal.heldLetters(id)));
}

async function reopen(): Promise<void> {
  await store.close();
  open();
}

const range = (feed: string, first: number, count = 10) => ({ feed, base: 0, first, last: first + 9, count });

/** The batches whose keys are final. */
async function withKeys(): Promise<number[]> {
  return (await journal.finalKeys("orders", 0)).map(({ batch }) => batch);
}

async function committed(batch: number, clock: number, windows: number[]): Promise<void> {
  const keys = windows.flatMap((window, index) => keysAt([batch * 10 + index], clock, window));
  await journal.prepare(recordOf([], batch, { clock, keys }));
  await journal.commit(recordOf([], batch, { clock }));
}

describe("the stream is settled up to", () => {
  test("the first event that a pending batch names, and not up to a range without an event", async () => {
    await journal.place("orders", { [streamFeed]: 100 });
    const [empty, named] = [range(streamFeed, 20, 0), range(streamFeed, 30)];
    await journal.prepare(record(1, { madeOf: { kind: "released", ranges: [empty] } }));
    expect(journal.settledUpTo("orders")).toBe(100);
    await journal.prepare(record(2, { madeOf: { kind: "released", ranges: [empty, named] } }));
    expect(journal.settledUpTo("orders")).toBe(29);
  });

  test("its own positions, whatever is pending of other feeds", async () => {
    await journal.place("orders", { [streamFeed]: 100 });
    await journal.prepare(record(1, { madeOf: { kind: "source", ranges: [range("join:", 5)] } }));
    expect(journal.settledUpTo("orders")).toBe(100);
  });
});

test("what a source notes beside positions stays until it notes something else", async () => {
  const notes = { topicIds: { "cluster/orders": ["one"] } };
  await journal.place("orders", { a: 1 }, { notes });
  await journal.place("orders", { b: 2 });
  await reopen();
  expect(journal.progress("orders")).toMatchObject({ positions: { a: 1, b: 2 }, notes });
  const others = { topicIds: { "cluster/orders": ["one", "two"] } };
  await journal.place("orders", {}, { notes: others });
  expect(journal.progress("orders")).toMatchObject({ positions: { a: 1, b: 2 }, notes: others });
});

test("a rewind sets positions back with how far they had been read, at once, and not while a batch is pending", async () => {
  await journal.place("orders", { a: 59, b: 9 }, { notes: { starts: { c: "earliest" } } });
  const pending = recordOf([], 1);
  await journal.prepare(pending);
  await expect(journal.rewind("orders", [{ feed: "a", to: 20 }])).rejects.toMatchObject({ code: "REWIND_REFUSED" });
  expect(journal.progress("orders").positions).toEqual({ a: 59, b: 9 });
  await journal.commit(pending);
  await journal.rewind("orders", [{ feed: "a", to: 20 }]);
  await journal.rewind("orders", [{ feed: "a", to: 5 }]);
  await reopen();
  expect(journal.progress("orders")).toMatchObject({
    positions: { a: 4, b: 9 },
    notes: { starts: { c: "earliest" }, cutLogs: { a: { end: 5, next: 60, isSettled: true } } },
  });
});

test("the rows of a join wait from the commit that made them until they are settled or dropped", async () => {
  const made = record(1, { into: "join" });
  await journal.prepare(made);
  expect(journal.waitingRows("orders")).toBe(0);
  await journal.commit({ ...made, joined: 42 });
  await committed(2, 0, []);
  await reopen();
  expect(journal.waitingRows("orders")).toBe(42);
  await journal.place("orders", { [joinFeed]: 40 });
  expect(journal.waitingRows("orders")).toBe(2);
  await journal.rowsDropped("orders");
  expect(journal.waitingRows("orders")).toBe(0);
});

describe("keys", () => {
  test("with a short window go when they expire, though older ones with a long window stay", async () => {
    await committed(1, 0, [10_000]);
    await committed(2, 0, [10]);
    await committed(3, 5, [10_000]);
    expect(await withKeys()).toEqual([1, 2, 3]);
    await committed(4, 50, []);
    expect(await withKeys()).toEqual([1, 3]);
  });

  test("of one batch come in one page, however many they are", async () => {
    // As much as a page holds, and then a block of another window.
    const many = keysAt(Array.from({ length: 4 * 65_536 }, (_, index) => index));
    const batch = record(1, { keys: [...many, ...keysAt([1], 0, 200)] });
    await journal.prepare(batch);
    await journal.commit(batch);
    await committed(2, 0, [100]);
    expect((await journal.finalKeys("orders", 0)).map((block) => [block.batch, block.until])).toEqual([
      [1, 100],
      [1, 200],
    ]);
    expect((await journal.finalKeys("orders", 1)).map((block) => block.batch)).toEqual([2]);
  });

  test("that are forgotten are gone, and those that a duplicate waits for have expired", async () => {
    await committed(1, 0, [100]);
    await committed(2, 0, [100]);
    await journal.prepare(record(3, { waiting: [{ position: 30, print: [1, 2, 3, 4], window: 100, of: 2 }] }));
    await journal.forgetKeys("orders");
    expect(await journal.finalKeys("orders", 0)).toMatchObject([{ batch: 2, since: 0, until: 0 }]);
  });

  test("of one dedup are forgotten without those of the others, and of an earlier version once none is left", async () => {
    const blocks = [
      ...keysAt([10], 0, 100).map((block) => ({ ...block, dedup: "one" })),
      ...keysAt([11], 0, 100).map((block) => ({ ...block, dedup: "other" })),
    ];
    await committed(1, 0, [100]);
    await journal.prepare(recordOf([], 2, { keys: blocks }));
    await reopen();
    expect(journal.pending("orders")[0]!.keys.map(({ dedup }) => dedup)).toEqual(["one", "other"]);
    await journal.commit(recordOf([], 2));
    expect(journal.finalKeyCount("orders")).toBe(3);
    await store.write(() => journal.forgetKeysInWrite("orders", new Set(["other"])));
    expect(await withKeys()).toEqual([1, 2]);
    expect(journal.finalKeyCount("orders")).toBe(2);
    await store.write(() => journal.forgetKeysInWrite("orders", new Set()));
    expect(journal.finalKeyCount("orders")).toBe(0);
  });

  test("a deletion that fails forgets nothing of what is pending", async () => {
    await journal.prepare(record(1));
    const failed = store.write(() => {
      journal.forgetInWrite("orders");
      throw new Error("simulated");
    });
    await expect(failed).rejects.toThrow("simulated");
    expect(journal.pendingCount("orders")).toBe(1);
    expect(journal.namedRevisions("orders")).toEqual(new Set([1]));
  });

  test("have a salt that each pipeline draws once", async () => {
    const [orders, other] = await Promise.all([journal.salt("orders"), journal.salt("other")]);
    expect(orders).toHaveLength(16);
    expect(Buffer.from(other)).not.toEqual(Buffer.from(orders));
    await reopen();
    expect(Buffer.from(await journal.salt("orders"))).toEqual(Buffer.from(orders));
    await store.write(() => journal.forgetInWrite("orders"));
    journal.forgotten("orders");
    expect(Buffer.from(await journal.salt("orders"))).not.toEqual(Buffer.from(orders));
  });
});

test("each run has an id of its own, and knows those before it", async () => {
  const first = await drawRun(store);
  await reopen();
  const second = await drawRun(store);
  await reopen();
  const third = await drawRun(store);
  expect(first.run).toMatch(/^[0-9a-f]{8}$/);
  expect([...first.earlier]).toEqual([]);
  expect([...third.earlier].toSorted()).toEqual([first.run, second.run].toSorted());
});
