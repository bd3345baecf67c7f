import { expect, test } from "vitest";
import type { Push } from "../../../engine/core/push.ts";
import { frameSize, longStep, readFrame, writeFrame, writeLongFrame } from "../../../engine/streams/embedded/frame.ts";

const place = { first: 5, group: 3 };

function pushOf(size: number): Push {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
  return { bytes: Buffer.alloc(size, bytes), ends: [1, 100, size], receivedAt: 7, signal: "logs" };
}

test.each([longStep + 1, 3 * longStep, 3 * longStep + 17])(
  "a long frame of %d bytes is written as a short one is, and lets other work go on meanwhile",
  async (size) => {
    const push = pushOf(size);
    const [expected, found] = [Buffer.alloc(frameSize(push) + 3), Buffer.alloc(frameSize(push) + 3)];
    writeFrame(expected, 3, push, place);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    const end = await writeLongFrame(found, 3, push, place);
    clearInterval(counting);
    expect(found.equals(expected)).toBe(true);
    expect(end).toBe(found.length);
    expect(turns).toBeGreaterThan(0);
    expect(readFrame(found, 3, 2, 5)).toMatchObject({ kind: "frame", first: 5, count: 3, group: 3, signal: "logs" });
  },
);
