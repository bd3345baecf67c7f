import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeyedMutex, Mutex } from "../../../engine/flow/mutex.ts";

const moment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A promise, and what settles it. */
function open<Result>() {
  let resolve!: (result: Result) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<Result>((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}

describe("a mutex", () => {
  test("runs work one after the other, in the order in which it was given", async () => {
    const works = fc.array(fc.record({ moments: fc.nat({ max: 3 }), fails: fc.boolean() }), { maxLength: 12 });
    const property = fc.asyncProperty(works, async (given) => {
      const mutex = new Mutex();
      const said: string[] = [];
      const results = given.map(({ moments, fails }, index) =>
        mutex.run(async () => {
          said.push(`${index} begins`);
          for (let left = moments; left > 0; left -= 1) await moment();
          said.push(`${index} ends`);
          if (fails) throw new Error(`${index} failed`);
          return index;
        }),
      );
      const settled = await Promise.allSettled(results);
      expect(said).toEqual(given.flatMap((_work, index) => [`${index} begins`, `${index} ends`]));
      expect(settled.map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).message))).toEqual(
        given.map(({ fails }, index) => (fails ? `${index} failed` : index)),
      );
    });
    await fc.assert(property, { numRuns: 50 });
  });

  test("begins no work within the call that gives it", async () => {
    const mutex = new Mutex();
    let hasBegun = false;
    const work = mutex.run(async () => void (hasBegun = true));
    expect(hasBegun).toBe(false);
    await work;
    expect(hasBegun).toBe(true);
  });

  test("runs what follows where work throws before its first await", async () => {
    const mutex = new Mutex();
    const failed = mutex.run(() => {
      throw new Error("at once");
    });
    const next = mutex.run(async () => "next");
    await expect(failed).rejects.toThrow("at once");
    expect(await next).toBe("next");
  });

  test("is idle when nothing runs or waits, and says so each time", async () => {
    let times = 0;
    const mutex = new Mutex(() => (times += 1));
    expect(mutex.isIdle).toBe(true);
    const [first, second] = [open<void>(), open<void>()];
    const failed = mutex.run(() => first.promise);
    const worked = mutex.run(() => second.promise);
    first.reject(new Error("first"));
    await expect(failed).rejects.toThrow("first");
    await moment();
    expect([mutex.isIdle, times]).toEqual([false, 0]);
    second.resolve();
    await worked;
    await moment();
    expect([mutex.isIdle, times]).toEqual([true, 1]);
    await mutex.run(moment);
    await moment();
    expect(times).toBe(2);
  });

  test("resolves `ended` when all that was given so far has ended, also where it failed", async () => {
    const mutex = new Mutex();
    await mutex.ended();
    const work = open<void>();
    const failed = mutex.run(() => work.promise);
    let hasEnded = false;
    const ended = mutex.ended().then(() => (hasEnded = true));
    await moment();
    expect(hasEnded).toBe(false);
    work.reject(new Error("it failed"));
    await expect(failed).rejects.toThrow("it failed");
    await ended;
    expect(mutex.isIdle).toBe(true);
  });
});

describe("a mutex by key", () => {
  test("delays work of the same key alone", async () => {
    const mutex = new KeyedMutex<string>();
    const said: string[] = [];
    const held = open<void>();
    const a = mutex.run("a", () => held.promise);
    const nextOfA = mutex.run("a", async () => void said.push("next of a"));
    await mutex.run("b", async () => void said.push("b"));
    expect(said).toEqual(["b"]);
    held.resolve();
    await Promise.all([a, nextOfA]);
    expect(said).toEqual(["b", "next of a"]);
  });

  test("forgets a key with its last work, whether that worked or failed", async () => {
    const mutex = new KeyedMutex<string>();
    const ids = Array.from({ length: 100 }, (_, index) => `pipeline-${index}`);
    const works = ids.flatMap((id, index) => [
      mutex.run(id, moment),
      mutex.run(id, async () => {
        if (index % 2 === 0) throw new Error(id);
      }),
    ]);
    expect(mutex.size).toBe(100);
    await Promise.allSettled(works);
    await moment();
    expect(mutex.size).toBe(0);
  });

  test("keeps order where work is given just as the work before ends", async () => {
    const mutex = new KeyedMutex<string>();
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      await moment();
      running -= 1;
    };
    const chains = Array.from({ length: 5 }, async () => {
      for (let times = 0; times < 20; times += 1) await mutex.run("a", work);
    });
    await Promise.all(chains);
    await moment();
    expect([most, running, mutex.size]).toEqual([1, 0, 0]);
  });
});
