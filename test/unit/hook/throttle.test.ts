import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Throttle } from "../../../reconciler/hook/rate-limit.ts";

let polls = 0;
let throttle: Throttle;

beforeEach(() => {
  vi.useFakeTimers();
  polls = 0;
  throttle = new Throttle(() => (polls += 1));
});

afterEach(() => void vi.useRealTimers());

test("the first push is a poll at once, and all others of that second are one", () => {
  for (let count = 0; count < 1000; count += 1) throttle.trigger();
  expect(polls).toBe(1);
  vi.advanceTimersByTime(999);
  throttle.trigger();
  expect(polls).toBe(1);
  vi.advanceTimersByTime(1);
  expect(polls).toBe(2);
  vi.advanceTimersByTime(10_000);
  expect(polls).toBe(2);
  throttle.trigger();
  expect(polls).toBe(3);
});

test("pushes without end are one poll a second", () => {
  for (let milliseconds = 0; milliseconds < 5000; milliseconds += 10) {
    throttle.trigger();
    vi.advanceTimersByTime(10);
  }
  expect(polls).toBe(6);
});

test("closed, it asks for nothing more", () => {
  throttle.trigger();
  throttle.trigger();
  throttle.close();
  vi.advanceTimersByTime(10_000);
  expect(polls).toBe(1);
});
