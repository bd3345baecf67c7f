import { expect, test } from "vitest";
import { FetchBuffer } from "../../../engine/sources/kafka/reading/fetch-buffer.ts";
import { codecs } from "./read.ts";
import { batchBytes, fetched, numbered } from "./written.ts";

/** A buffer with ten events of each of two partitions. */
function filled(): { buffer: FetchBuffer; changes: () => number } {
  const buffer = new FetchBuffer(codecs, 10_000);
  let changes = 0;
  buffer.onChange = () => (changes += 1);
  for (const feed of ["a", "b"]) buffer.push(feed, 0, fetched(batchBytes({ records: numbered(10) })));
  return { buffer, changes: () => changes };
}

test("a buffer holds a partition until its last event is handed out, also while it is being read", () => {
  const { buffer } = filled();
  expect(buffer.take(4, Infinity)).toMatchObject([{ feed: "a", last: 3 }]);
  expect([buffer.holds("a"), buffer.holds("b"), buffer.holds("c")]).toEqual([true, true, false]);
  expect(buffer.take(16, Infinity)).toMatchObject([
    { feed: "a", last: 9 },
    { feed: "b", last: 9 },
  ]);
  expect(buffer.take(1, Infinity)).toEqual([]);
  expect([buffer.holds("a"), buffer.holds("b"), buffer.isEmpty]).toEqual([false, false, true]);
});

test("a partition that is dropped while it is read gives nothing more, and leaves the others", () => {
  const { buffer, changes } = filled();
  buffer.take(4, Infinity);
  const before = changes();
  buffer.drop("a");
  expect(changes()).toBeGreaterThan(before);
  expect(buffer.holds("a")).toBe(false);
  expect(buffer.take(20, Infinity)).toMatchObject([{ feed: "b", last: 9 }]);
});

test("a partition that is dropped before it is read gives back its room, and no more", () => {
  const [small, large] = [10, 100].map((count) => batchBytes({ records: numbered(count) }));
  const buffer = new FetchBuffer(codecs, small!.length + 1);
  buffer.push("a", 0, fetched(small!));
  expect(buffer.hasRoom).toBe(true);
  buffer.push("b", 0, fetched(large!));
  expect(buffer.hasRoom).toBe(false);
  buffer.drop("b");
  expect(buffer.hasRoom).toBe(true);
  buffer.push("c", 0, fetched(large!));
  buffer.drop("a");
  expect(buffer.hasRoom).toBe(false);
  expect(buffer.take(200, Infinity)).toMatchObject([{ feed: "c", last: 99 }]);
});

test("so many bytes are handed out as are asked for, and not one event more", () => {
  const { buffer } = filled();
  const [first] = buffer.take(3, Infinity);
  const bytes = first!.events.reduce((sum, { size }) => sum + size, 0);
  expect(buffer.take(3, 0)).toEqual([]);
  expect(buffer.take(20, bytes)).toMatchObject([{ feed: "a", last: 9 }]);
});
