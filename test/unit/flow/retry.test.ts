import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { backOff } from "../../../engine/flow/back-off.ts";
import { retry, retryWhile } from "../../../engine/flow/retry.ts";
import { sleep } from "../../../engine/flow/sleep.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that fails so many times, and then succeeds. */
function failing(times: number) {
  const work = {
    attempts: 0,
    run: async () => {
      work.attempts += 1;
      if (work.attempts <= times) throw new Error(`failure ${work.attempts}`);
      return "done";
    },
  };
  return work;
}

describe("retry", () => {
  test("resolves with the first success, and waits for nothing", async () => {
    const work = failing(0);
    expect(await retry(work.run, () => sleep(1_000))).toBe("done");
    expect([work.attempts, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("reports each failure with the number of its attempt, and attempts no sooner than the wait is over", async () => {
    const work = failing(3);
    const said: string[] = [];
    const done = retry(work.run, async (error, attempt) => {
      said.push(`${attempt}: ${(error as Error).message}`);
      await sleep(backOff(attempt, 100, 1_000, [1, 1]));
    });
    await vi.advanceTimersByTimeAsync(99);
    expect(work.attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(1 + 199);
    expect(work.attempts).toBe(2);
    await vi.advanceTimersByTimeAsync(1 + 399);
    expect(work.attempts).toBe(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(await done).toBe("done");
    expect(said).toEqual(["1: failure 1", "2: failure 2", "3: failure 3"]);
  });

  test("ends with what is thrown after a failure", async () => {
    const work = failing(5);
    const done = retry(work.run, async (_error, attempt) => {
      if (attempt === 2) throw new Error("no attempt mends it");
    });
    await expect(done).rejects.toThrow("no attempt mends it");
    expect(work.attempts).toBe(2);
  });

  test("takes work that throws before its first await for a failure", async () => {
    let attempts = 0;
    const work = (): Promise<number> => {
      attempts += 1;
      if (attempts === 1) throw new Error("at once");
      return Promise.resolve(attempts);
    };
    expect(await retry(work, async () => undefined)).toBe(2);
  });
});

describe("retryWhile", () => {
  test("resolves with the first success", async () => {
    const work = failing(2);
    expect(
      await retryWhile(
        () => true,
        work.run,
        async () => undefined,
      ),
    ).toBe("done");
    expect(work.attempts).toBe(3);
  });

  test("attempts nothing that is not wanted", async () => {
    const work = failing(0);
    expect(
      await retryWhile(
        () => false,
        work.run,
        async () => undefined,
      ),
    ).toBe(undefined);
    expect(work.attempts).toBe(0);
  });

  test("ends within a wait that the signal cuts off, without another attempt", async () => {
    const stop = new AbortController();
    const work = failing(5);
    const done = retryWhile(
      () => !stop.signal.aborted,
      work.run,
      (_error, attempt) => sleep(backOff(attempt, 60_000, 60_000), stop.signal),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    stop.abort();
    expect(await done).toBe(undefined);
    expect([work.attempts, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("lets an attempt end that is under way when it is not wanted any more", async () => {
    const stop = new AbortController();
    const answer = sleep(100).then(() => "done");
    const done = retryWhile(
      () => !stop.signal.aborted,
      () => answer,
      async () => undefined,
    );
    stop.abort();
    await vi.advanceTimersByTimeAsync(100);
    expect(await done).toBe("done");
  });

  test("ends with what is thrown after a failure", async () => {
    const done = retryWhile(
      () => true,
      failing(1).run,
      async (error) => {
        throw error;
      },
    );
    await expect(done).rejects.toThrow("failure 1");
  });
});
