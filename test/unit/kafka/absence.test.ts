import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Absence } from "../../../engine/sources/kafka/group/absence.ts";

let clocks: { monotonic: number; wall: number };
let absence: Absence;

beforeEach(() => {
  clocks = { monotonic: 1_000, wall: 1_700_000_000_000 };
  vi.spyOn(performance, "now").mockImplementation(() => clocks.monotonic);
  vi.spyOn(Date, "now").mockImplementation(() => clocks.wall);
  absence = new Absence(15_000);
  absence.begin();
});
afterEach(() => {
  absence.end();
  vi.restoreAllMocks();
});

test.each<[string, number, number, boolean]>([
  ["a moment passes", 3_000, 3_000, false],
  ["the process was stopped", 40_000, 40_000, true],
  ["the machine was frozen, which only the wall clock shows", 10, 40_000, true],
  ["the machine was frozen, which the wall clock does not show yet", 40_000, 10, true],
  ["the wall clock was set back", 10, -40_000, true],
])("%s", (_what, monotonic, wall, wasAway) => {
  clocks.monotonic += monotonic;
  clocks.wall += wall;
  expect(absence.wasAway).toBe(wasAway);
  // It stays so until somebody has looked.
  expect(absence.wasAway).toBe(wasAway);
  absence.over();
  expect(absence.wasAway).toBe(false);
});

test("counts from its beginning, and no more after its end", () => {
  clocks.monotonic += 60_000;
  absence.begin();
  expect(absence.wasAway).toBe(false);
  absence.end();
  clocks.monotonic += 60_000;
  expect(absence.wasAway).toBe(false);
});
