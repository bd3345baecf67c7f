import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FreezeDetector, OwnerCheck } from "../../../engine/sources/kafka/group/owner-check.ts";

let clocks: { monotonic: number; wall: number };
let detector: FreezeDetector;

beforeEach(() => {
  clocks = { monotonic: 1_000, wall: 1_700_000_000_000 };
  vi.spyOn(performance, "now").mockImplementation(() => clocks.monotonic);
  vi.spyOn(Date, "now").mockImplementation(() => clocks.wall);
  detector = new FreezeDetector(15_000);
  detector.begin();
});
afterEach(() => {
  detector.end();
  vi.restoreAllMocks();
});

test.each<[string, number, number, boolean]>([
  ["a moment passes", 3_000, 3_000, false],
  ["the process was stopped", 40_000, 40_000, true],
  ["the machine was frozen, which only the wall clock shows", 10, 40_000, true],
  ["the machine was frozen, which the wall clock does not show yet", 40_000, 10, true],
  ["the wall clock was set back", 10, -40_000, true],
])("%s", (_what, monotonic, wall, wasFrozen) => {
  clocks.monotonic += monotonic;
  clocks.wall += wall;
  expect(detector.wasFrozen).toBe(wasFrozen);
  // It stays so until it is reset.
  expect(detector.wasFrozen).toBe(wasFrozen);
  detector.reset();
  expect(detector.wasFrozen).toBe(false);
});

test("counts from its beginning, and no more after its end", () => {
  clocks.monotonic += 60_000;
  detector.begin();
  expect(detector.wasFrozen).toBe(false);
  detector.end();
  clocks.monotonic += 60_000;
  expect(detector.wasFrozen).toBe(false);
});

test("no write is allowed after a freeze until a check has succeeded", async () => {
  const answers = [new Error("another owns the group"), new Error("another owns the group"), undefined];
  let [checks, told] = [0, 0];
  const owner = new OwnerCheck(
    30_000,
    async () => {
      const error = answers[checks];
      checks += 1;
      if (error !== undefined) throw error;
    },
    () => (told += 1),
  );
  owner.begin();
  try {
    clocks.monotonic += 60_000;
    await expect(owner.passed()).rejects.toThrow("another owns the group");
    await expect(owner.passed()).rejects.toThrow("another owns the group");
    await owner.passed();
    await owner.passed();
    expect([checks, told]).toEqual([3, 1]);
  } finally {
    owner.end();
  }
});
