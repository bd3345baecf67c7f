import { afterEach, expect, test } from "vitest";
import { SimulatedClock } from "../../support/simulation/clock.ts";

const clock = new SimulatedClock();
afterEach(() => clock.uninstall());

test("what was set in the real time can be cleared in a simulated one", async () => {
  const ran: string[] = [];
  const timer = setTimeout(() => ran.push("timer"), 1);
  const interval = setInterval(() => ran.push("interval"), 1);
  const immediate = setImmediate(() => ran.push("immediate"));
  clock.install();
  clearTimeout(timer);
  clearInterval(interval);
  clearImmediate(immediate);
  clearTimeout(undefined);
  clock.uninstall();
  await new Promise((resolve) => void setTimeout(resolve, 5));
  expect(ran).toEqual([]);
});
