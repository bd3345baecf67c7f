import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Wake } from "../../../reconciler/hook/wake.ts";

let looks = 0;
let wake: Wake;

beforeEach(() => {
  vi.useFakeTimers();
  looks = 0;
  wake = new Wake(() => (looks += 1));
});

afterEach(() => void vi.useRealTimers());

test("the first push is a look at once, and all others of that second are one", () => {
  for (let count = 0; count < 1000; count += 1) wake.ask();
  expect(looks).toBe(1);
  vi.advanceTimersByTime(999);
  wake.ask();
  expect(looks).toBe(1);
  vi.advanceTimersByTime(1);
  expect(looks).toBe(2);
  vi.advanceTimersByTime(10_000);
  expect(looks).toBe(2);
  wake.ask();
  expect(looks).toBe(3);
});

test("pushes without end are one look a second", () => {
  for (let milliseconds = 0; milliseconds < 5000; milliseconds += 10) {
    wake.ask();
    vi.advanceTimersByTime(10);
  }
  expect(looks).toBe(6);
});

test("closed, it asks for nothing more", () => {
  wake.ask();
  wake.ask();
  wake.close();
  vi.advanceTimersByTime(10_000);
  expect(looks).toBe(1);
});
