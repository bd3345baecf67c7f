import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sleep } from "../../../engine/flow/sleep.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Whether a promise has resolved by now. */
async function isDone(work: Promise<void>): Promise<boolean> {
  let done = false;
  void work.then(() => (done = true));
  await Promise.resolve();
  await Promise.resolve();
  return done;
}

describe("sleep", () => {
  test("resolves when its time has passed, by the timers of that moment", async () => {
    const work = sleep(1_000);
    await vi.advanceTimersByTimeAsync(999);
    expect(await isDone(work)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await isDone(work)).toBe(true);
  });

  test("resolves when the signal aborts, and leaves no timer", async () => {
    const leave = new AbortController();
    const work = sleep(1_000, leave.signal);
    leave.abort();
    expect(await isDone(work)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("does not begin where the signal has aborted", async () => {
    expect(await isDone(sleep(1_000, AbortSignal.abort()))).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
