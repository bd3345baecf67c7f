import { afterEach, expect, test } from "vitest";
import { SimulatedClock } from "../../support/simulation/clock.ts";
import { SimulatedNetwork } from "../../support/simulation/network.ts";

const clock = new SimulatedClock();
afterEach(() => clock.uninstall());

function onTimeout(): void {}

test("a time limit that is taken back leaves no listener on its socket", () => {
  clock.install();
  const socket = new SimulatedNetwork(() => 0).connect("10.0.0.8", 8123);
  for (let request = 0; request < 3; request += 1) {
    socket.setTimeout(5_000, onTimeout);
    socket.setTimeout(0, onTimeout);
  }
  expect(socket.listenerCount("timeout")).toBe(0);
});
