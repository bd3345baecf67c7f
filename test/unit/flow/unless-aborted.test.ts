import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { unlessAborted } from "../../../engine/flow/unless-aborted.ts";

test("is what the work is, or throws as the work does; undefined once the signal has aborted", async () => {
  const leave = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), leave.signal)).toBe(1);
  await expect(unlessAborted(Promise.reject(new Error("full")), leave.signal)).rejects.toThrow("full");
  const waiting = unlessAborted(new Promise(() => undefined), leave.signal);
  leave.abort();
  expect(await waiting).toBeUndefined();
  expect(await unlessAborted(new Promise(() => undefined), leave.signal)).toBeUndefined();
});

test("keeps nothing of a work that has ended", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const leave = new AbortController();
  const results: WeakRef<object>[] = [];
  for (let count = 0; count < 10; count += 1) {
    results.push(new WeakRef((await unlessAborted(Promise.resolve({ count }), leave.signal))!));
  }
  // What a WeakRef was made for is kept until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(results.filter((result) => result.deref() !== undefined).length).toBeLessThan(2);
  expect(leave.signal.aborted).toBe(false);
});
