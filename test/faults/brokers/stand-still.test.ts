/** @module-tag rest */
import { expect, test } from "vitest";
import { median, standStills } from "./stand-still.ts";

const acked = (partition: number, ...times: number[]) =>
  times.map((at) => ({ partition, id: partition * 1_000 + at, at }));
const arrivals = (...pairs: [number, number][]) => new Map(pairs);

test("a stand-still begins with the last arrival, or with the first message after it", () => {
  const messages = acked(0, 10, 20, 30, 40);
  expect(standStills(messages, arrivals([10, 15], [20, 90], [30, 90], [40, 90]), [0])).toEqual([70]);
  expect(standStills(messages, arrivals([10, 15], [20, 22], [30, 90], [40, 90]), [0])).toEqual([60]);
});

test("a partition that is read does not hide one that is not", () => {
  const messages = [...acked(0, 10, 20, 30), ...acked(1, 10)];
  const found = standStills(messages, arrivals([10, 11], [20, 21], [30, 31], [1_010, 99]), [0]);
  expect(found).toEqual([89]);
});

test("what is read at last, one after the other, is no stand-still", () => {
  const messages = acked(0, 10, 11, 12);
  expect(standStills(messages, arrivals([10, 50], [11, 60], [12, 70]), [0])).toEqual([40]);
});

test("a stand-still counts for each span that it reaches into, and for none before all of them", () => {
  const messages = acked(0, 10, 20, 30);
  expect(standStills(messages, arrivals([10, 14], [20, 25], [30, 37]), [15, 30])).toEqual([5, 7]);
  expect(standStills(messages, arrivals([10, 14], [20, 37], [30, 38]), [15, 30])).toEqual([17, 17]);
});

test("messages that never arrive count for nothing", () => {
  expect(standStills(acked(0, 10, 20), arrivals([20, 21]), [0])).toEqual([1]);
});

test("the middle one of an odd number, and 0 of none", () => {
  expect([median([3, 1, 2]), median([])]).toEqual([2, 0]);
});
