import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StreamSource } from "../../../engine/sources/stream/stream-source.ts";
import { EmbeddedReader } from "../../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../../engine/streams/embedded/embedded-stream.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import { systemDisk } from "../../../engine/system/disk.ts";

let folder: string;
let stream: EmbeddedStream;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-source-"));
  stream = await EmbeddedStream.open(systemDisk, folder, {
    limits: { max_bytes: Infinity, max_msgs: Infinity },
    trimmed: 0,
    onAppended: () => undefined,
  });
});

afterEach(async () => {
  await stream.close();
  await rm(folder, { recursive: true, force: true });
});

const event = { bytes: Buffer.from("{}"), ends: [2], receivedAt: 1 };

/** Whether a wait for an event goes on. */
async function waits(source: StreamSource): Promise<boolean> {
  const leave = new AbortController();
  let isOver = false;
  const wait = source.wait(1, undefined, leave.signal).then(() => (isOver = true));
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  const goesOn = !isOver;
  leave.abort();
  await wait;
  return goesOn;
}

test("behind events that were dropped, a source waits for the next one, and reads that", async () => {
  for (let count = 0; count < 5; count += 1) await stream.append(event);
  await stream.release(2);
  const { last } = stream.state;
  expect(last).toBe(5);
  const source = new StreamSource(
    new EmbeddedReader(systemDisk, folder, last),
    last,
    3,
    new RetryPause("p", {} as Telemetry),
  );
  expect(await source.next(10, 1_000)).toEqual([]);
  expect(await waits(source)).toBe(true);
  await stream.append(event);
  source.arrived(stream.state.last);
  expect(await waits(source)).toBe(false);
  const chunks = await source.next(10, 1_000);
  expect(chunks.flatMap(({ events }) => events.map(({ position }) => position))).toEqual([6]);
  expect(await waits(source)).toBe(true);
  await source.close();
});
