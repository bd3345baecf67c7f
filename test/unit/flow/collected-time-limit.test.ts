import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { isOutOfTime, withTimeLimit } from "../../../engine/flow/time-limit.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const never = new AbortController().signal;

/** Work that only ends when it is told to, while what nobody holds is collected. */
async function untilAborted(signal: AbortSignal): Promise<AbortSignal> {
  const told = once(signal, "abort");
  for (let round = 0; round < 5; round += 1) {
    await sleep(1);
    collect();
  }
  await told;
  return signal;
}

test("a limit ends work also where what nobody holds is collected meanwhile", async () => {
  expect(isOutOfTime(await withTimeLimit(never, 100, untilAborted))).toBe(true);
});

test("the given signal ends it as well, and a limit that is not reached is forgotten", async () => {
  const given = new AbortController();
  const work = withTimeLimit(given.signal, 3_600_000, untilAborted);
  given.abort();
  const ended = await work;
  expect([isOutOfTime(ended), (ended.reason as Error).name]).toEqual([false, "AbortError"]);
});
