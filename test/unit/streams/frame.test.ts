import { expect, test } from "vitest";
import type { Push } from "../../../engine/core/push.ts";
import { frameSize, longFrame, longStep, readFrame, writeFrame } from "../../../engine/streams/embedded/frame.ts";

const place = { first: 5, group: 3 };

function pushOf(size: number): Push {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
  return { bytes: Buffer.alloc(size, bytes), ends: [1, 100, size], receivedAt: 7, signal: "logs" };
}

/** Counts the turns of the event loop, which no clock decides. */
class LoopTurns {
  #turns = 0;
  #next = setImmediate(() => this.#count());

  stop(): number {
    clearImmediate(this.#next);
    return this.#turns;
  }

  #count(): void {
    this.#turns += 1;
    this.#next = setImmediate(() => this.#count());
  }
}

test.each([longStep + 1, 3 * longStep, 3 * longStep + 17])(
  "a long frame of %d bytes is written as a short one is, and lets other work go on meanwhile",
  async (size) => {
    const push = pushOf(size);
    const expected = Buffer.alloc(frameSize(push));
    writeFrame(expected, 0, push, place);
    const loop = new LoopTurns();
    const [before, after] = await longFrame(push, place);
    expect(loop.stop()).toBeGreaterThanOrEqual(Math.ceil(size / longStep));
    // Its events are not copied.
    expect(after).toBe(push.bytes);
    const found = Buffer.concat([before, after]);
    expect(found.equals(expected)).toBe(true);
    expect(readFrame(found, 0, 2, 5)).toMatchObject({ kind: "frame", first: 5, count: 3, group: 3, signal: "logs" });
  },
);
