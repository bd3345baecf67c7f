import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AwaitedCommit } from "../../../reconciler/hook/awaited-commit.ts";

const pushed = "1".repeat(40);
const newer = "2".repeat(40);

let polls = 0;
let followed: string | undefined;
let awaited: AwaitedCommit;

beforeEach(() => {
  vi.useFakeTimers();
  polls = 0;
  followed = "0".repeat(40);
  awaited = new AwaitedCommit(
    () => (polls += 1),
    () => followed,
  );
});

afterEach(() => void vi.useRealTimers());

test("a commit that does not show is asked for five times within 20 seconds, and then no more", () => {
  awaited.expect(pushed);
  expect(polls).toBe(0);
  vi.advanceTimersByTime(1000);
  expect(polls).toBe(1);
  vi.advanceTimersByTime(19_000);
  expect(polls).toBe(5);
  vi.advanceTimersByTime(3_600_000);
  expect(polls).toBe(5);
});

test("one that is there is not asked for, and one that comes ends it", () => {
  awaited.expect(pushed);
  vi.advanceTimersByTime(3000);
  followed = pushed;
  vi.advanceTimersByTime(3_600_000);
  expect(polls).toBe(2);
  awaited.expect(pushed);
  vi.advanceTimersByTime(3_600_000);
  expect(polls).toBe(2);
});

test("a newer push takes the place of the one before", () => {
  awaited.expect(pushed);
  vi.advanceTimersByTime(500);
  awaited.expect(newer);
  vi.advanceTimersByTime(999);
  expect(polls).toBe(0);
  vi.advanceTimersByTime(1);
  followed = newer;
  vi.advanceTimersByTime(3_600_000);
  expect(polls).toBe(1);
});

test("closed, it asks for nothing more", () => {
  awaited.expect(pushed);
  awaited.close();
  vi.advanceTimersByTime(3_600_000);
  expect(polls).toBe(0);
});
