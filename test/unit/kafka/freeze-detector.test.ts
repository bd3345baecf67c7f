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

test.each<[string, number, number, number]>([
  ["a moment passes", 3_000, 3_000, 0],
  ["the process was stopped", 40_000, 40_000, 1],
  ["the machine was frozen, which only the wall clock shows", 10, 40_000, 1],
  ["the machine was frozen, which the wall clock does not show yet", 40_000, 10, 1],
  ["the wall clock was set back", 10, -40_000, 1],
])("%s", (_what, monotonic, wall, freezes) => {
  clocks.monotonic += monotonic;
  clocks.wall += wall;
  expect(detector.count).toBe(freezes);
  // Each counts once.
  expect(detector.count).toBe(freezes);
});

test("counts from its beginning, and no more after its end", () => {
  clocks.monotonic += 60_000;
  detector.begin();
  expect(detector.count).toBe(0);
  detector.end();
  clocks.monotonic += 60_000;
  expect(detector.count).toBe(0);
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

test("no write is allowed while the ownership is asked for, also after a freeze within the question", async () => {
  const questions: (() => void)[] = [];
  const owner = new OwnerCheck(
    30_000,
    () => new Promise((resolve) => questions.push(resolve)),
    () => undefined,
  );
  owner.begin();
  try {
    const allowed: string[] = [];
    const write = (name: string): Promise<number> => owner.passed().then(() => allowed.push(name));
    clocks.monotonic += 60_000;
    const writes = [write("first"), write("second")];
    await turn();
    expect([allowed, questions.length]).toEqual([[], 1]);
    clocks.monotonic += 60_000;
    questions[0]!();
    await turn();
    writes.push(write("third"));
    await turn();
    expect([allowed, questions.length]).toEqual([[], 2]);
    questions[1]!();
    await Promise.all(writes);
    expect(allowed).toEqual(["first", "second", "third"]);
  } finally {
    owner.end();
  }
});

test("no write is allowed after a doubt either, which is no freeze", async () => {
  const questions: (() => void)[] = [];
  let told = 0;
  const owner = new OwnerCheck(
    30_000,
    () => new Promise((resolve) => questions.push(resolve)),
    () => (told += 1),
  );
  owner.begin();
  try {
    await owner.passed();
    owner.doubt();
    let isAllowed = false;
    const write = owner.passed().then(() => (isAllowed = true));
    await turn();
    expect(isAllowed).toBe(false);
    questions[0]!();
    await write;
    await owner.passed();
    expect(told).toBe(0);
  } finally {
    owner.end();
  }
});

/** Lets everything run that is ready. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
