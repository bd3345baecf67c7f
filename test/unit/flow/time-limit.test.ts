import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isOutOfTime, withTimeLimit } from "../../../engine/flow/time-limit.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Resolves with the signal once it aborts. */
const untilAborted = (signal: AbortSignal): Promise<AbortSignal> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal);
    signal.addEventListener("abort", () => resolve(signal), { once: true });
  });

test("work is told when its time is over, and that this is the reason", async () => {
  const limited = withTimeLimit(new AbortController().signal, 5_000, untilAborted);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(isOutOfTime(await limited)).toBe(true);
});

test.each(["before it begins", "while it runs"])(
  "work that its caller gives up %s has another reason",
  async (when) => {
    const controller = new AbortController();
    if (when === "before it begins") controller.abort();
    const limited = withTimeLimit(controller.signal, 5_000, untilAborted);
    controller.abort();
    expect(isOutOfTime(await limited)).toBe(false);
  },
);

test.each([
  ["that ends", () => Promise.resolve()],
  ["that fails", () => Promise.reject(new Error("no"))],
])("work %s leaves no timer behind", async (_title, work) => {
  await withTimeLimit(new AbortController().signal, 5_000, work).catch(() => undefined);
  expect(vi.getTimerCount()).toBe(0);
});
