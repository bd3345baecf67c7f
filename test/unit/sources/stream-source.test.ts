import { beforeEach, describe, expect, test } from "vitest";
import { LeftForLater } from "../../../engine/core/errors.ts";
import { StreamSource } from "../../../engine/sources/stream/stream-source.ts";
import { EmbeddedReader } from "../../../engine/streams/embedded/embedded-reader.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import { SimulatedStreamFolder } from "../../support/simulation/stream-folder.ts";

let folder: SimulatedStreamFolder;
let source: StreamSource;
let told: string[];
let drain: AbortController;
let leave: AbortController;
/** Runs in each wait, with its number. */
let onWait: (wait: number) => void;

beforeEach(async () => {
  folder = await SimulatedStreamFolder.make();
  await folder.push("one", "two", "three");
  told = [];
  onWait = () => undefined;
  let waits = 0;
  const telemetry = {
    paused: ({ pause }: { pause: { class: string; text: string } }) =>
      told.push(`paused ${pause.class}: ${pause.text}`),
    pauseEnded: ({ class: kind }: { class: string }) => told.push(`went on: ${kind}`),
  } as unknown as Telemetry;
  const room = new RetryPause("orders", telemetry, async () => onWait((waits += 1)));
  source = new StreamSource(new EmbeddedReader(folder.disk.boot(), folder.path, 3), 3, 1, room);
  drain = new AbortController();
  leave = new AbortController();
  await source.open({ leave: leave.signal, drain: drain.signal });
});

async function texts(): Promise<string[]> {
  const chunks = await source.next(10, 1_000);
  return chunks.flatMap(({ events }) => events.map(({ text }) => text));
}

describe("a stream that cannot be read for a while", () => {
  test.each([
    ["readdir", "EMFILE", "as many files open"],
    ["open", "ENFILE", "as many files open"],
    ["open", "EMFILE", "ulimit -n"],
    ["read", "EIO", "disk"],
    ["read", "ENOMEM", "memory"],
  ] as const)("is a pause, and is read again: %s fails with %s", async (call, code, named) => {
    for (const kth of [1, 2, 3]) folder.disk.fail(call, kth, { code });
    expect(await texts()).toEqual(["one", "two", "three"]);
    expect(told).toEqual([expect.stringMatching(/^paused disk: /), "went on: disk"]);
    expect(told[0]).toContain(named);
    expect(folder.disk.met.get(`${call} ${code}`)).toBe(3);
  });

  test("is waited for where a record names its events, too", async () => {
    for (const kth of [1, 2]) folder.disk.fail("open", kth, { code: "EMFILE" });
    const found: string[] = [];
    for await (const { events } of source.again([{ feed: "", base: 0, first: 2, last: 3, count: 2 }])) {
      found.push(...events.map(({ text }) => text));
    }
    expect(found).toEqual(["two", "three"]);
  });

  test.each(["drain", "leave"] as const)("is left for later at a %s", async (which) => {
    for (let kth = 1; kth <= 10; kth += 1) folder.disk.fail("open", kth, { code: "EMFILE" });
    onWait = (wait) => {
      if (wait === 2) (which === "drain" ? drain : leave).abort();
    };
    await expect(source.next(10, 1_000)).rejects.toBeInstanceOf(LeftForLater);
    expect(told.at(-1)).toMatch(/^paused disk/);
  });
});

test("a stream that is damaged is no pause", async () => {
  folder.disk.flip(`${folder.path}/0000000000000001.segment`, 8 * 45);
  await expect(source.next(10, 1_000)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  expect(told).toEqual([]);
});
