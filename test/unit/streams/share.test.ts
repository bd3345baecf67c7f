import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EmbeddedStream } from "../../../engine/streams/embedded/embedded-stream.ts";
import { systemDisk } from "../../../engine/system/disk.ts";
import { pushOf } from "../../conformance/stream-scene.ts";

/** How much of the disk one stream takes. */

const megabyte = 1024 * 1024;
const unlimited = { max_bytes: Infinity, max_msgs: Infinity };
let folder: string;
/** What is free on the disk beside what the stream holds. */
let others: number;
let stream: EmbeddedStream;

const open = async (size: number, limits = unlimited): Promise<void> => {
  others = size;
  const disk = { ...systemDisk, freeBytes: async () => others - (stream?.state.bytes ?? 0) };
  stream = await EmbeddedStream.open(disk, folder, { limits, trimmed: 0, onAppended: () => undefined });
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-share-"));
});

afterEach(async () => {
  await stream.close();
  await rm(folder, { recursive: true, force: true });
});

/** Pushes a megabyte at a time until it is refused; returns how many were taken, and the error. */
async function fill(): Promise<{ taken: number; error: unknown }> {
  for (let taken = 0; ; taken += 1) {
    try {
      await stream.append(pushOf(["x".repeat(megabyte)]));
    } catch (error) {
      return { taken, error };
    }
  }
}

test("is a third of what was free beyond the reserve, as a half of the rest is left, and comes back with the space", async () => {
  await open(108 * megabyte);
  const { taken, error } = await fill();
  expect(error).toMatchObject({ code: "STREAM_FULL", message: expect.stringContaining("half of what is free") });
  expect(taken).toBe(20);
  expect(stream.maxBytes).toBeLessThan(20.6 * megabyte);

  await stream.trim(10);
  expect((await fill()).taken).toBe(10);
  others += 30 * megabyte;
  expect((await fill()).taken).toBeGreaterThanOrEqual(9);
});

test("is at least 8 MiB while the reserve is free, and nothing below it", async () => {
  await open(60 * megabyte);
  expect((await fill()).taken).toBe(7);
  others = 48 * megabyte;
  expect((await fill()).error).toMatchObject({ code: "DISK_FULL" });
  others = 58 * megabyte;
  await stream.trim(7);
  expect((await fill()).taken).toBe(7);
});

test("is no more than the limits of the stream", async () => {
  await open(10_000 * megabyte, { max_bytes: 5 * megabyte, max_msgs: Infinity });
  expect((await fill()).taken).toBe(4);
  expect(stream.maxBytes).toBe(5 * megabyte);
});
