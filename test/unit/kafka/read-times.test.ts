import { beforeEach, expect, test } from "vitest";
import { mostLagging } from "../../../engine/sources/kafka/positions/lag.ts";
import { ReadTimes } from "../../../engine/sources/kafka/positions/read-times.ts";

const feed = "c/orders/0";
const hour = 3_600_000;

let times: ReadTimes;
beforeEach(() => {
  times = new ReadTimes();
});

const at = (ago: number | undefined): number | undefined => (ago === undefined ? undefined : Date.now() - ago);

/** Offsets `from` to `end` (excluded), written so long ago. */
const span = (from: number, end: number, first?: number, last = first) => {
  return { from, end, first: at(first), last: at(last) };
};
/** In hours. */
const ageAt = (offset: number): number | undefined => {
  const age = times.ageAt(feed, offset);
  return age === undefined ? undefined : Math.round(age / hour);
};

test("the age of a record is that of the span in which it was fetched, and behind all of them that of the last", () => {
  times.fetched(feed, [span(0, 10, 9 * hour), span(10, 20, 7 * hour, 6 * hour)]);
  times.fetched(feed, [span(20, 30, 3 * hour)]);
  expect([0, 9, 10, 19, 20, 30].map(ageAt)).toEqual([9, 9, 7, 7, 3, 3]);
});

test("what is read again replaces what had been fetched from there on", () => {
  times.fetched(feed, [span(0, 10, 9 * hour), span(10, 20, 8 * hour), span(20, 30, 7 * hour)]);
  times.fetched(feed, [span(15, 25, 2 * hour)]);
  expect([14, 15, 25].map(ageAt)).toEqual([8, 2, 2]);
});

test("it is unknown where nothing was read, where records have no time, and where a clock is ahead", () => {
  expect(ageAt(0)).toBeUndefined();
  times.fetched(feed, [span(5, 10), span(10, 20, -hour)]);
  expect([0, 5, 10, 20].map(ageAt)).toEqual([undefined, undefined, undefined, undefined]);
  times.fetched(feed, [span(20, 30, -1_000)]);
  expect(ageAt(20)).toBe(0);
});

test("of more than a thousand partitions those that lag most are told, first those that are unknown", () => {
  const partitions = Array.from({ length: 1_500 }, (_, partition) => ({ topic: "orders", partition, lag: partition }));
  const told = mostLagging([...partitions, { topic: "orders", partition: 2_000 }]);
  expect(told).toHaveLength(1_000);
  expect(told.slice(0, 2).map(({ partition }) => partition)).toEqual([2_000, 1_499]);
});
