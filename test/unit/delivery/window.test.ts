import { describe, expect, test } from "vitest";
import type { Reading } from "../../../engine/core/sink.ts";
import {
  completesOnlyView,
  isInsideWindow,
  mayHaveRestarted,
  standingOf,
} from "../../../engine/delivery/target-window.ts";

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
  [
    "half an hour later by our clock, where the server's was set back",
    hour,
    { ...hour, time: 0, taken: 1_800_000 },
    false,
  ],
  ["less than that, where the server's was set back", hour, { ...hour, time: 0, taken: 1_799_999 }, true],
  [
    "less than that since a look at another time, where the server's was set back",
    { ...hour, taken: 1_000_000 },
    { ...hour, time: 0, taken: 1_000_000 + 1_799_999 },
    true,
  ],
  ["some time later, where both clocks were set back", hour, { ...hour, time: 0, taken: -1 }, false],
  ["where both clocks were set back, and the window has no seconds", {}, { time: 0, taken: -1 }, true],
  ["another table", {}, { table: "two" }, false],
  ["the same table of another server", { server: "a" }, { server: "b" }, false],
  ["the same table, of a server that did not tell before", {}, { server: "b" }, true],
  ["the same server, where several have answered in turn", { server: "a" }, { isOneOfSeveral: true }, false],
  [
    "the same server, where several had answered in turn before",
    { server: "a", isOneOfSeveral: true },
    { isOneOfSeveral: false },
    false,
  ],
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

/** A server that had run for ten minutes. */
const up: Reading = { ...then, uptime: 600 };
const later = (seconds: number, uptime: number): Reading => ({ ...up, time: up.time + seconds * 1000, uptime });

describe("a server may have been started since", () => {
  test.each<[string, Reading, Reading, boolean]>([
    ["not at once", up, up, false],
    ["not where it has run on", up, later(60, 660), false],
    ["not where its seconds were cut off differently", up, later(60, 659.2), false],
    ["not where its clock was corrected by a minute in a day", up, later(86_400, 600 + 86_340), false],
    ["not where its clock was set back", up, { ...up, time: 0, uptime: 700 }, false],
    [
      "where its clock was set back, and it has run for less than we have",
      up,
      { ...up, time: 0, taken: 3_600_000, uptime: 700 },
      true,
    ],
    ["by a shorter time that it has run for", up, later(60, 3), true],
    ["long ago", up, later(3_600, 3_500), true],
    ["where its machine stood still, which its clock shows and its uptime does not", up, later(900, 640), true],
    ["within a second of a look at one that had run for one", { ...up, uptime: 1 }, later(1.2, 0), true],
    ["where a record of a former version has no such time", then, later(60, 3), true],
    ["not where that record is younger than the server", then, later(60, 660), false],
    ["not where it tells no such time, as its tokens can be believed", up, { ...then, time: up.time + 60_000 }, false],
    ["not where the table is replicated", up, { ...later(60, 3), isReplicated: true }, false],
  ])("%s", (_title, before, after, isRestarted) => {
    expect(mayHaveRestarted(before, after)).toBe(isRestarted);
  });
});

test.each<[string, Partial<Reading>, ReturnType<typeof standingOf>]>([
  ["without another part nothing of the batch is there", {}, "absent"],
  ["with another part nobody can tell", { blocks: up.blocks! + 1 }, "uncertain"],
  ["with fewer parts nobody can tell", { blocks: up.blocks! - 1 }, "uncertain"],
  ["into another table nobody can tell", { table: "two" }, "uncertain"],
])("after a new start of the server, %s", (_title, changes, standing) => {
  expect(standingOf(up, { ...later(60, 3), ...changes })).toBe(standing);
  expect(standingOf(up, { ...later(50, 650), ...changes })).toBe("table" in changes ? "uncertain" : "recognised");
});

test.each<[string, Reading]>([
  ["its machine stood still", later(900, 640)],
  ["its clock was set forward", later(62, 660)],
  ["it was started again and has run for longer than before", later(3_600, 3_500)],
])("the server may have been started again or not, as if %s: what was sent may still be under way", (_title, now) => {
  expect(standingOf(up, now)).toBe("uncertain");
});

test("after a new start of the server, parts that may not be read tell nothing", () => {
  const { blocks: _blocks, ...blind } = up;
  expect(standingOf(blind, { ...blind, time: up.time + 10_000, uptime: 3 })).toBe("uncertain");
});

describe("a repeat can complete a view whose table remembers nothing", () => {
  const none = { entries: 0, seconds: Infinity };
  const behind: Reading = { ...then, window: none, own: then.window, views: { "d.v": "1" } };

  test.each<[string, Reading, Reading, boolean]>([
    ["where it is the only one", behind, behind, true],
    ["not beside another", behind, { ...behind, views: { "d.v": "1", "d.w": "2" } }, false],
    ["not where another one was there", { ...behind, views: { "d.v": "1", "d.w": "2" } }, behind, false],
    ["not where the target does not recognise the repeat", behind, { ...behind, blocks: 550 }, false],
    ["not where the target remembers nothing", { ...behind, own: none }, { ...behind, own: none }, false],
    ["not where an earlier version has read it", { ...then, window: none }, behind, false],
  ])("%s", (_title, before, after, completes) => {
    expect(completesOnlyView(before, after)).toBe(completes);
  });
});

describe("the block numbers of a replicated table are compared by partition", () => {
  const entries = { window: { entries: 100, seconds: Infinity } };
  const of = (partitions: Record<string, number>, time = then.time): Reading => {
    const blocks = Object.values(partitions).reduce((sum, used) => sum + used, 0);
    return { ...then, ...entries, time, isReplicated: true, blocks, partitions };
  };

  test.each<[string, Reading, Reading, boolean]>([
    ["a partition that has grown", of({ a: 500 }), of({ a: 549 }), true],
    ["two that have grown together", of({ a: 500, b: 10 }), of({ a: 530, b: 30 }), false],
    ["a new one", of({ a: 500 }), of({ a: 500, b: 50 }), false],
    ["a new one in place of one that was dropped", of({ a: 60, b: 5 }), of({ b: 65 }, then.time + 60_000), false],
    ["the same within a minute", of({ a: 60, b: 5 }), of({ b: 65 }, then.time + 59_999), true],
    ["one whose last parts were dropped", of({ a: 60, b: 5 }), of({ a: 50, b: 15 }, then.time + 60_000), false],
    [
      "a reading of an earlier version",
      { ...of({}), partitions: undefined, blocks: 500 } as never,
      of({ a: 549 }),
      true,
    ],
  ])("%s", (_title, before, after, isInside) => {
    expect(isInsideWindow(before, after)).toBe(isInside);
  });
});
