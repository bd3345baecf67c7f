import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { Arrivals } from "../../../engine/flow/arrivals.ts";

const never = new AbortController().signal;
const nothing = (): boolean => false;

/** Counts what becomes of waits. */
function waitsOf(arrivals: Arrivals) {
  const ended: string[] = [];
  const wait = (name: string, ...how: Parameters<Arrivals["wait"]>): Promise<unknown> =>
    arrivals.wait(...how).then(() => ended.push(name));
  return { ended, wait };
}

describe("a wait", () => {
  test("is none where it is there, or the signal has aborted", async () => {
    const arrivals = new Arrivals();
    await arrivals.wait(() => true, undefined, never);
    await arrivals.wait(nothing, undefined, AbortSignal.abort());
  });

  test("ends when what it waits for is there, not with whatever came, and is told no more then", async () => {
    const arrivals = new Arrivals();
    const { ended, wait } = waitsOf(arrivals);
    let [count, asked] = [0, 0];
    const first = wait("one", () => count >= 1, undefined, never);
    const second = wait("two", () => (asked += 1) > 0 && count >= 2, undefined, never);
    count = 1;
    arrivals.came();
    await first;
    expect(ended).toEqual(["one"]);
    count = 2;
    arrivals.came();
    await second;
    expect(ended).toEqual(["one", "two"]);
    const before = asked;
    arrivals.came();
    expect(asked).toBe(before);
  });

  test("ends when its signal aborts", async () => {
    const stop = new AbortController();
    const waiting = new Arrivals().wait(nothing, performance.now() + 3_600_000, stop.signal);
    stop.abort();
    await waiting;
  });

  test("leaves nothing behind at its signal, which outlives many of them", async () => {
    const arrivals = new Arrivals();
    let isThere = false;
    const waiting = arrivals.wait(() => isThere, undefined, never);
    expect(getEventListeners(never, "abort")).toHaveLength(1);
    isThere = true;
    arrivals.came();
    await waiting;
    expect(getEventListeners(never, "abort")).toEqual([]);
  });

  test("ends at once where its time has passed", () => new Arrivals().wait(nothing, performance.now() - 1_000, never));

  test("ends when its time has come, also where the timer is early by the clock", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const waited = new Arrivals().wait(nothing, performance.now() + 60_000, never);
      // The timer fires at once, a minute before the clock is there.
      vi.advanceTimersByTime(60_000);
      await waited;
    } finally {
      vi.useRealTimers();
    }
  });
});
