import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EngineError } from "../../../engine/core/errors.ts";
import { type PushRates, RateLimits } from "../../../engine/ingest/rate-limits.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const unlimited = { eventsPerSecond: Infinity, bytesPerSecond: Infinity };
const limits = (rates: Partial<PushRates>): RateLimits => new RateLimits({ ...unlimited, ...rates });

/** Seconds after which a push may be sent again; 0 where it is taken. */
function retryAfter(rates: RateLimits, events: number, bytes: number, pipeline_id = "orders"): number {
  try {
    rates.take(pipeline_id, { events, bytes });
    return 0;
  } catch (error) {
    expect(error).toMatchObject({ code: "RATE_LIMITED", policy: "retry" });
    return Number((error as EngineError).details["retry_after"]);
  }
}

test("without a setting everything is taken", () => {
  const rates = limits({});
  for (let n = 0; n < 1000; n += 1) expect(retryAfter(rates, 1e6, 1e9)).toBe(0);
});

test("a pipeline pushes as many events as a second allows, and more as time goes on", () => {
  const rates = limits({ eventsPerSecond: 10 });
  const taken = (): number => Array.from({ length: 50 }, () => retryAfter(rates, 1, 100)).filter((s) => s === 0).length;
  expect(taken()).toBe(10);
  vi.advanceTimersByTime(500);
  expect(taken()).toBe(5);
  vi.advanceTimersByTime(60_000);
  expect(taken()).toBe(10);
});

test("a push that is larger than a second's worth is taken, and paid back before the next one", () => {
  const rates = limits({ bytesPerSecond: 1000 });
  expect(retryAfter(rates, 1, 4000)).toBe(0);
  expect(retryAfter(rates, 1, 1)).toBe(3);
  vi.advanceTimersByTime(2900);
  expect(retryAfter(rates, 1, 1)).toBe(1);
  vi.advanceTimersByTime(200);
  expect(retryAfter(rates, 1, 1)).toBe(0);
});

test("both rates hold, each pipeline has its own, and a refused push costs nothing", () => {
  const rates = limits({ eventsPerSecond: 2, bytesPerSecond: 100 });
  expect(retryAfter(rates, 1, 100)).toBe(0);
  for (let n = 0; n < 100; n += 1) expect(retryAfter(rates, 1, 1)).toBe(1);
  expect(retryAfter(rates, 1, 1, "other")).toBe(0);
  expect(retryAfter(rates, 1, 1, "other")).toBe(0);
  expect(retryAfter(rates, 1, 1, "other")).toBe(1);
  vi.advanceTimersByTime(100);
  expect(retryAfter(rates, 1, 1)).toBe(0);
});

test("what a deleted pipeline owes is forgotten", () => {
  const rates = limits({ bytesPerSecond: 100 });
  expect(retryAfter(rates, 1, 1e6)).toBe(0);
  rates.forget("orders");
  expect(retryAfter(rates, 1, 1)).toBe(0);
});
