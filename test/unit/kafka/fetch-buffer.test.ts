import { expect, test } from "vitest";
import { mostEventBytes } from "../../../engine/core/dead-letter.ts";
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

/** Batches of `count` events of so many bytes each, at offsets from 0 on. */
function sized(count: number, bytes: number): Buffer {
  const records = Array.from({ length: count }, (_, delta) => ({ delta, value: Buffer.alloc(bytes, 0x20) }));
  return batchBytes({ records });
}

test("events of one batch are handed out in shares of about so many bytes, however many it holds", () => {
  const buffer = new FetchBuffer(codecs, 10_000);
  buffer.push("a", 0, fetched(sized(50, 1_000)));
  const shares: number[] = [];
  while (!buffer.isEmpty) for (const { events } of buffer.take(4_096, 7_500)) shares.push(events.length);
  expect(shares).toEqual([8, 8, 8, 8, 8, 8, 2]);
});

test("a single event that is larger than a share is handed out alone", () => {
  const buffer = new FetchBuffer(codecs, 10_000);
  buffer.push("a", 0, fetched(sized(3, 5_000)));
  expect(buffer.take(100, 10).map(({ last, events }) => [last, events.length])).toEqual([[0, 1]]);
});

test("events that are too large are named, and no others", () => {
  const buffer = new FetchBuffer(codecs, 10_000);
  const values = [1, mostEventBytes, mostEventBytes + 1, 2].map((size) => Buffer.alloc(size, 0x20));
  const records = values.map((value, delta) => ({ delta, value }));
  buffer.push("a", 5, fetched(batchBytes({ baseOffset: 5, records })));
  const chunks = buffer.take(100, Infinity);
  expect(chunks.map(({ oversized }) => oversized)).toEqual([new Set([7])]);
});

test("so many bytes are handed out as are asked for, and not one event more", () => {
  const { buffer } = filled();
  const [first] = buffer.take(3, Infinity);
  const bytes = first!.events.reduce((sum, { size }) => sum + size, 0);
  expect(buffer.take(3, 0)).toEqual([]);
  expect(buffer.take(20, bytes)).toMatchObject([{ feed: "a", last: 5 }]);
});
