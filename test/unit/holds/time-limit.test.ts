import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { withinTime } from "../../../reconciler/holds/time-limit.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const never = new AbortController().signal;

/** Work that only ends when it is told to, while what nobody holds is collected. */
async function untilAborted(signal: AbortSignal): Promise<unknown> {
  const told = once(signal, "abort");
  for (let round = 0; round < 5; round += 1) {
    await sleep(1);
    collect();
  }
  await told;
  return (signal.reason as Error).name;
}

test("a limit ends work also where what nobody holds is collected meanwhile", async () => {
  expect(await withinTime(100, never, untilAborted)).toBe("TimeoutError");
});

test("the given signal ends it as well, and a limit that is not reached is forgotten", async () => {
  const given = new AbortController();
  const work = withinTime(3_600_000, given.signal, untilAborted);
  given.abort();
  expect(await work).toBe("AbortError");
});
