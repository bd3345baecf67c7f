import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { stopSignal } from "../../../reconciler/cli/main.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"], now: 1 }));
afterEach(() => void vi.useRealTimers());

function watched() {
  const exit = vi.fn();
  const process = Object.assign(new EventEmitter(), { exit });
  return { process, exit, signal: stopSignal(process as unknown as NodeJS.Process) };
}

test.each(["SIGINT", "SIGTERM"])("%s aborts, and does not exit", (name) => {
  const { process, exit, signal } = watched();
  expect(signal.aborted).toBe(false);
  process.emit(name);
  expect([signal.aborted, exit.mock.calls]).toEqual([true, []]);
});

test.each([
  ["the same signal passed on by npm a moment later is the same wish", 20, []],
  ["a second one after a while ends the process at once", 2000, [[1]]],
])("%s", (_, pause, exits) => {
  const { process, exit } = watched();
  process.emit("SIGINT");
  vi.advanceTimersByTime(pause);
  process.emit("SIGINT");
  expect(exit.mock.calls).toEqual(exits);
});
