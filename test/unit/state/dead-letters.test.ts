import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  defaultDeadLetterLimits,
  letterBytes,
  type DeadLetterLimits,
  type Rejection,
} from "../../../engine/core/dead-letter.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { Store } from "../../../engine/state/store.ts";
import { memoryRoot } from "../../support/memory-folder.ts";

const id = "orders";
const none = { count: 0, bytes: 0 };
const full = expect.objectContaining({ code: "DEAD_LETTERS_FULL" });
let folder: string;
let store: Store;
/** Numbers of letters that pending batches are made of. */
let locked: Set<number>;

beforeEach(async () => {
  folder = await mkdtemp(join(memoryRoot(), "sluice-letters-"));
  store = Store.open(folder);
  locked = new Set();
});

afterEach(async () => {
  vi.useRealTimers();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const lettersWith = (limits: Partial<DeadLetterLimits> = {}): DeadLetters =>
  new DeadLetters(store, () => locked, { ...defaultDeadLetterLimits, ...limits });

/** The same letters, as the next process reads them. */
async function reopened(limits: Partial<DeadLetterLimits> = {}): Promise<DeadLetters> {
  await store.close();
  store = Store.open(folder);
  return lettersWith(limits);
}

function rejection(position: number, size = 10): Rejection {
  const error = "it misses the field id";
  return { component: "ingestor", reason: "parse_error", error, original_message: "x".repeat(size), position };
}

const added = (letters: DeadLetters, ...rejections: Rejection[]): Promise<void> =>
  store.write(() => letters.addInWrite(id, rejections));
const bytesOf = (letters: DeadLetters): number => letters.queue(id).state().bytes;
const oneBytes = letterBytes(rejection(1));

const positions = (page: { messages: { position: number }[] }): number[] =>
  page.messages.map(({ position }) => position);

describe("a list", () => {
  test("has those of a component, with a reason, and of a time; its cursor goes on", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const letters = lettersWith();
    const all: Partial<Rejection>[] = [{}, { component: "sink", reason: "x" }, { reason: "x" }, { component: "sink" }];
    for (const [index, fields] of all.entries()) {
      vi.setSystemTime(Date.parse("2026-01-01T00:00:00Z") + index * 1_000);
      await added(letters, { ...rejection(2 * index), ...fields }, { ...rejection(2 * index + 1), ...fields });
    }
    const queue = letters.queue(id);
    expect(positions(queue.list(10, undefined, { component: "sink" }))).toEqual([2, 3, 6, 7]);
    expect(positions(queue.list(10, undefined, { reason: "x" }))).toEqual([2, 3, 4, 5]);
    expect(positions(queue.list(10, undefined, { component: "sink", reason: "x" }))).toEqual([2, 3]);
    const [since, until] = ["2026-01-01T00:00:01.000Z", "2026-01-01T00:00:03.000Z"];
    expect(positions(queue.list(10, undefined, { since, until }))).toEqual([2, 3, 4, 5]);
    const first = queue.list(3, undefined, { component: "sink" });
    expect([positions(first), first.has_more]).toEqual([[2, 3, 6], true]);
    expect(queue.list(3, first.next_cursor, { component: "sink" })).toMatchObject({
      messages: [{ position: 7 }],
      has_more: false,
    });
    expect(queue.list(8)).toMatchObject({ has_more: false });
  });

  test("looks at a bounded number of letters at once, and its cursor goes on behind them", async () => {
    const letters = lettersWith();
    await added(letters, ...Array.from({ length: 10_001 }, (_, at) => rejection(at, 1)), {
      ...rejection(77),
      component: "sink",
    });
    const queue = letters.queue(id);
    const first = queue.list(1, undefined, { component: "sink" });
    expect(first).toEqual({ messages: [], next_cursor: "10000", has_more: true });
    expect(positions(queue.list(1, first.next_cursor, { component: "sink" }))).toEqual([77]);
  });
});

describe("bytes", () => {
  test("grow and shrink with the letters, and are kept", async () => {
    const letters = lettersWith();
    const big = { ...rejection(3, 5000), source_message: "ö".repeat(100), feed: "f", origin: "logs" };
    await added(letters, rejection(1), rejection(2), big);
    expect(bytesOf(letters)).toBe(2 * oneBytes + letterBytes(big));
    expect(letterBytes(big)).toBe(letterBytes(rejection(3, 5000)) + 200 + 1 + 4);
    await letters.queue(id).consume(1);
    expect(bytesOf(letters)).toBe(oneBytes + letterBytes(big));
    await letters.queue(id).discard({ mode: "selected", message_ids: ["3", "77"] });
    expect(bytesOf(await reopened())).toBe(oneBytes);
  });

  test("after a purge are those of the locked letters", async () => {
    const letters = lettersWith();
    await added(letters, rejection(1), rejection(2, 700), rejection(3));
    locked = new Set([2]);
    expect(await letters.queue(id).purge()).toBe(2);
    expect(letters.queue(id).state()).toMatchObject({ total_messages: 1, bytes: letterBytes(rejection(2, 700)) });
    locked = new Set();
    await letters.queue(id).purge();
    expect(letters.queue(id).state()).toMatchObject({ total_messages: 0, bytes: 0 });
  });

  test("of letters that an earlier version stored are counted at the start", async () => {
    await added(lettersWith(), rejection(1), rejection(2));
    const summaries = store.table<Record<string, unknown>, string>("dead-letter-summaries");
    const { bytes: _bytes, ...earlier } = summaries.get(id)!;
    await store.write(() => summaries.putSync(id, earlier));
    const letters = await reopened();
    expect(bytesOf(letters)).toBe(2 * oneBytes);
    await added(letters, rejection(3));
    expect(bytesOf(await reopened())).toBe(3 * oneBytes);
  });

  test("of a deleted pipeline do not count for another one of its name", async () => {
    const letters = lettersWith();
    await added(letters, rejection(1));
    await store.write(() => letters.forgetInWrite(id));
    expect(letters.queue(id).state()).toMatchObject({ total_messages: 0, bytes: 0 });
  });
});

describe("bounds", () => {
  test.each<[string, Partial<DeadLetterLimits>, RegExp]>([
    ["count", { maxCount: 2 }, /2 are held, and dead_letters_max_count is 2/],
    ["bytes", { maxBytes: 2 * oneBytes }, /they take \d+ bytes, and dead_letters_max_size is \d+/],
  ])("of %s refuse new batches from then on, also in the next process", async (_, limits, message) => {
    const letters = lettersWith(limits);
    await added(letters, rejection(1));
    letters.checkRoom(id, none);
    await added(letters, rejection(2));
    expect(() => letters.checkRoom(id, none)).toThrow(full);
    expect(() => letters.checkRoom(id, none)).toThrow(message);
    letters.checkRoom("another", none);

    const again = await reopened(limits);
    expect(() => again.checkRoom(id, none)).toThrow(full);
    await again.queue(id).consume(1);
    again.checkRoom(id, none);
  });

  test("count what pending batches will add", async () => {
    const letters = lettersWith({ maxCount: 3, maxBytes: 3 * oneBytes });
    await added(letters, rejection(1));
    letters.checkRoom(id, { count: 1, bytes: oneBytes });
    expect(() => letters.checkRoom(id, { count: 2, bytes: 0 })).toThrow(full);
    expect(() => letters.checkRoom(id, { count: 0, bytes: 2 * oneBytes })).toThrow(full);
  });

  test("of the disk leave the larger part to others, and always some megabytes", async () => {
    const megabyte = 1024 * 1024;
    const letters = lettersWith();
    const free = vi.spyOn(store, "freeBytes");
    free.mockReturnValue(248 * megabyte);
    expect(letters.queue(id).state().max_bytes).toBe(100 * megabyte);
    expect(() => letters.checkRoom(id, { count: 1, bytes: 100 * megabyte })).toThrow(/half of what is free/);
    letters.checkRoom(id, { count: 1, bytes: 100 * megabyte - 1 });
    free.mockReturnValue(0);
    letters.checkRoom(id, { count: 1, bytes: 8 * megabyte - 1 });
    expect(() => letters.checkRoom(id, { count: 1, bytes: 8 * megabyte })).toThrow(full);
  });
});

describe("age", () => {
  const day = 24 * 3_600_000;

  /** Letters of three days, one thousand and two of the first. */
  async function ofThreeDays(): Promise<DeadLetters> {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
    const letters = lettersWith({ maxAge: 2 * day });
    await added(letters, ...Array.from({ length: 1002 }, (_, index) => rejection(index)));
    vi.setSystemTime(Date.now() + day);
    await added(letters, rejection(2000));
    vi.setSystemTime(Date.now() + day);
    await added(letters, rejection(3000));
    return letters;
  }

  test("removes older letters, however many, and no younger one", async () => {
    const letters = await ofThreeDays();
    expect(await letters.expire(id)).toBe(0);
    vi.setSystemTime(Date.now() + 1);
    expect(await letters.expire(id)).toBe(1002);
    expect(letters.queue(id).state()).toMatchObject({ total_messages: 2, bytes: 2 * oneBytes });
    vi.setSystemTime(Date.now() + day);
    expect(await letters.expire(id)).toBe(1);
  });

  test("does not remove a letter that is being reprocessed", async () => {
    const letters = await ofThreeDays();
    locked = new Set([1, 1002]);
    vi.setSystemTime(Date.now() + 1);
    expect(await letters.expire(id)).toBe(1000);
    expect(letters.queue(id).state().total_messages).toBe(4);
  });

  test("is no bound by default", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
    const letters = lettersWith();
    await added(letters, rejection(1));
    vi.setSystemTime(Date.now() + 10_000 * day);
    expect(await letters.expire(id)).toBe(0);
  });
});

const move = (letters: DeadLetters, from: string, to: string): Promise<void> =>
  store.write(() => letters.moveInWrite(from, to));
const add = (letters: DeadLetters, of: string, ...numbers: number[]): Promise<void> =>
  store.write(() =>
    letters.addInWrite(
      of,
      numbers.map((number) => rejection(number)),
    ),
  );
const heldBy = (letters: DeadLetters, of: string): number[] => positions(letters.queue(of).list(10));

describe("of a pipeline with another id", () => {
  test("stay where they are, apart from those of others that get its former ids", async () => {
    const letters = lettersWith();
    await add(letters, id, 1, 2);
    await move(letters, id, "sales");
    expect([heldBy(letters, id), await letters.queue(id).purge()]).toEqual([[], 0]);
    await add(letters, id, 10);
    await add(letters, "sales", 3);
    await move(letters, id, "returns");
    await add(letters, id, 20, 21);
    const again = await reopened();
    expect([id, "sales", "returns"].map((of) => heldBy(again, of))).toEqual([[20, 21], [1, 2, 3], [10]]);
    expect(again.queue("sales").state()).toMatchObject({ total_messages: 3, bytes: 3 * oneBytes });
    await again.queue("returns").purge();
    await store.write(() => again.forgetInWrite(id));
    expect([id, "sales", "returns"].map((of) => heldBy(again, of))).toEqual([[], [1, 2, 3], []]);
    expect(await again.queue("sales").consume(1)).toMatchObject([{ message_id: "1" }]);
    await move(again, "sales", id);
    expect([heldBy(again, id), heldBy(again, "sales")]).toEqual([[2, 3], []]);
  });

  test("are not written anew, however many they are", async () => {
    const letters = lettersWith();
    await add(letters, id, ...Array.from({ length: 100 }, (_, number) => number));
    const puts = vi.fn();
    const table = store.table.bind(store);
    vi.spyOn(store, "table").mockImplementation((name) => {
      const of = table(name);
      return Object.assign(Object.create(of) as typeof of, {
        putSync: (...values: Parameters<typeof of.putSync>) => (puts(name), of.putSync(...values)),
      });
    });
    await move(lettersWith(), id, "sales");
    expect(puts.mock.calls).toEqual([["dead-letter-summaries"]]);
  });
});
