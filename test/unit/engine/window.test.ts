import { expect, test } from "vitest";
import type { Reading } from "../../../engine/core/sink.ts";
import { isInsideWindow } from "../../../engine/window.ts";

const then: Reading = {
  table: "one",
  time: 1_000_000,
  blocks: 500,
  window: { entries: 100, seconds: Infinity },
  altered: 0,
  description: "",
  taken: 0,
};

const hour = { window: { entries: 10_000, seconds: 3600 } };

test.each<[string, Partial<Reading>, Partial<Reading>, boolean]>([
  ["at once", {}, {}, true],
  ["49 inserts later, of a window of 100", {}, { blocks: 549 }, true],
  ["50 inserts later, of a window of 100", {}, { blocks: 550 }, false],
  ["a year later without another insert, where the window has no seconds", {}, { time: 3e10 }, true],
  ["half an hour later, of a window of an hour", hour, { ...hour, time: 1_000_000 + 1_800_000 }, false],
  ["less than half an hour later, of a window of an hour", hour, { ...hour, time: 1_000_000 + 1_799_999 }, true],
  ["another table", {}, { table: "two" }, false],
  ["a window that was made larger after the batch was sent", {}, { blocks: 600, ...hour }, false],
  ["a window that was made smaller", {}, { blocks: 520, window: { entries: 30, seconds: Infinity } }, false],
  [
    "a target that recognises nothing",
    { window: { entries: 0, seconds: 0 } },
    { window: { entries: 0, seconds: 0 } },
    false,
  ],
  ["fewer blocks than before, within a minute", {}, { blocks: 10, time: 1_059_999 }, true],
  ["fewer blocks than before, after a minute", {}, { blocks: 10, time: 1_060_000 }, false],
])("%s", (_title, before, after, isInside) => {
  expect(isInsideWindow({ ...then, ...before }, { ...then, ...before, ...after })).toBe(isInside);
});

test("block numbers that may not be read are trusted for a minute", () => {
  const { blocks: _blocks, ...blind } = then;
  expect(isInsideWindow(blind, { ...blind, time: blind.time + 59_999 })).toBe(true);
  expect(isInsideWindow(blind, { ...blind, time: blind.time + 60_000 })).toBe(false);
  expect(isInsideWindow(then, { ...blind, time: blind.time + 60_000 })).toBe(false);
});
