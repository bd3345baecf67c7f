import { appendFile, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { textsOf } from "../../conformance/stream-scene.ts";
import { isEveryCase } from "../../support/cases.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { SmallDisk } from "../../support/small-disk.ts";
import { SegmentFolder } from "./segments.ts";

let segments: SegmentFolder;

beforeEach(async () => {
  segments = await SegmentFolder.make();
  await segments.open();
});

afterEach(() => segments.clean());

test("a last push that a crash cut short at any byte is not there at all, and the next takes its place", async () => {
  const cut = await SegmentFolder.make();
  try {
    await segments.push(["one", "two"]);
    const before = (await stat(await segments.newest())).size;
    await segments.push(["three", "four", "five"]);
    await segments.close();
    await segments.forgetAnswered();
    const whole = await readFile(await segments.newest());
    // Every third byte and the last one: each field of a frame has one of them in it.
    const sizes = Array.from({ length: whole.length - before }, (_, index) => before + index);
    for (const size of sizes.filter((one) => isEveryCase || one % 3 === 0 || one === whole.length - 1)) {
      await segments.copyTo(cut);
      await truncate(await cut.newest(), size);
      const stream = await cut.open();
      expect([size, stream.state.last]).toEqual([size, 2]);
      expect(await cut.push(["six"])).toBe(3);
      expect(await cut.texts()).toEqual(["1:one", "2:two", "3:six"]);
      await cut.open();
      expect(await cut.texts()).toEqual(["1:one", "2:two", "3:six"]);
    }
  } finally {
    await cut.clean();
  }
});

test("a push of many bytes is written whole among others, and a crash that cut it short leaves those before it", async () => {
  const many = "m".repeat(5 * 1024 * 1024);
  // The first is written at once; the others share the next write, but for the last one.
  const pushes = [["one"], ["two"], ["three", "four"], [many, "six"], ["seven"]];
  await Promise.all(pushes.map((texts) => segments.push(texts)));
  await segments.open();
  expect(await segments.texts()).toEqual(pushes.flat().map((text, index) => `${index + 1}:${text}`));
  await segments.close();
  await segments.forgetAnswered();
  const { size } = await stat(await segments.newest());
  await truncate(await segments.newest(), size - many.length / 2);
  await segments.open();
  expect(await segments.texts()).toEqual(["1:one", "2:two", "3:three", "4:four"]);
});

test.each(["nothing of the header", "half of the header", "the header alone"])(
  "a new segment of which a crash left %s is as good as new",
  async (left) => {
    await segments.close();
    await truncate(await segments.newest(), { nothing: 0, half: 4, the: 8 }[left.split(" ", 1)[0]!]);
    await segments.open();
    await segments.push(["one"]);
    await segments.open();
    expect(await segments.texts()).toEqual(["1:one"]);
  },
);

test("bytes behind the last whole frame are overwritten", async () => {
  await segments.push(["one"]);
  await segments.close();
  await appendFile(await segments.newest(), "left over from a write that failed".repeat(10));
  await segments.open();
  await segments.push(["two"]);
  await segments.open();
  expect(await segments.texts()).toEqual(["1:one", "2:two"]);
});

test("pushes of one torn write may be whole behind a broken one: none of them was answered", async () => {
  await Promise.all([segments.push(["one"]), segments.push(["two"])]);
  const before = (await stat(await segments.newest())).size;
  await Promise.all([segments.push(["three"]), segments.push(["four"]), segments.push(["five"])]);
  await segments.close();
  await segments.forgetAnswered();
  await segments.damage(await segments.newest(), before + 34);
  const stream = await segments.open();
  expect(stream.state.last).toBe(2);
});

test("the newest push that was answered is never taken for a torn one, whatever of it is changed, cut or gone", async () => {
  await segments.push(["one", "two"]);
  await segments.push(["three"]);
  await segments.close();
  const newest = await segments.newest();
  const whole = await readFile(newest);
  const frame = 8 + 32 + 2 * 4 + "onetwo".length;
  const refusal = {
    code: "STORAGE_FAILED",
    message: expect.stringContaining(`${newest}: the event 3, at byte ${frame}, is damaged: restore the file`),
  };
  for (let at = frame; at < whole.length; at += 1) {
    await segments.damage(newest, at);
    await expect(segments.open()).rejects.toMatchObject(refusal);
    await truncate(newest, at);
    await expect(segments.open()).rejects.toMatchObject(refusal);
    await writeFile(newest, whole);
  }
  await rm(newest);
  const missing = `${segments.folder}: the events up to 3 were answered, and no file holds them: restore the folder`;
  await expect(segments.open()).rejects.toMatchObject({ message: expect.stringContaining(missing) });
  await writeFile(newest, whole);
  await segments.open();
  expect(await segments.texts()).toEqual(["1:one", "2:two", "3:three"]);
});

test("what was settled or dropped on purpose is not missed, and its numbers are not given again", async () => {
  await segments.push(["one", "two"]);
  await segments.push(["three"]);
  await segments.stream.release(1);
  await segments.open();
  expect(await segments.push(["four"])).toBe(4);
  await segments.open(4);
  await segments.close();
  for (const path of await segments.paths()) await rm(path);
  await segments.open(4);
  expect(await segments.push(["five"])).toBe(5);
});

test.each([
  ["the length", 0],
  ["the checksum", 5],
  ["the sequence", 14],
  ["the number of events", 24],
  ["where events end", 32],
  ["an event", 40],
])(
  "a frame that was answered and has %s changed is damage at the next start, never a shorter stream",
  async (_title, at) => {
    for (const text of ["one", "two", "three"]) await segments.push([text, text]);
    await segments.close();
    await segments.damage(await segments.newest(), 8 + at);
    const refusal = { code: "STORAGE_FAILED", message: expect.stringContaining("the event 1, at byte 8, is damaged") };
    await expect(segments.open()).rejects.toMatchObject(refusal);
  },
);

test("a changed byte is damage for a reader, and is never read as something else", async () => {
  await segments.push(["one"]);
  await segments.push(["two"]);
  await segments.damage(await segments.newest(), 8 + 36);
  await expect(segments.texts()).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    message: expect.stringContaining("event 1"),
  });
});

test("a segment that is gone, or cut between two frames, is missed at the next start or by a reader", async () => {
  await fillSegments(segments, 3);
  const [, second] = await segments.paths();
  await segments.close();
  const bytes = await readFile(second!);
  await truncate(second!, 8);
  await expect(segments.open()).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  await writeFile(second!, bytes);
  await segments.open();
  await rm(await segments.newest());
  const reader = segments.reader();
  const last = segments.stream.state.last;
  await expect(textsOf(reader, last, 10)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  await reader.close();
});

test("a reader that read ahead into a frame that was still being written reads it again when it is whole", async () => {
  await segments.push(["one"]);
  const reader = segments.reader();
  await appendFile(await segments.newest(), Buffer.alloc(60));
  expect(await textsOf(reader, 1)).toEqual(["1:one"]);
  await segments.push(["two"]);
  reader.advance(2);
  expect(await textsOf(reader, 2)).toEqual(["2:two"]);
  await reader.close();
});

test("a reader that read ahead into a push that failed then reads the one that took its place", async () => {
  const failed = await SegmentFolder.make();
  try {
    await failed.open();
    await failed.push(["one"]);
    await segments.push(["one"]);
    const before = (await stat(await segments.newest())).size;
    await segments.push(["bad"]);
    const frame = (await readFile(await segments.newest())).subarray(before);
    const reader = failed.reader();
    await appendFile(await failed.newest(), frame);
    expect(await textsOf(reader, 1)).toEqual(["1:one"]);
    await failed.push(["two"]);
    reader.advance(2);
    expect(await textsOf(reader, 2)).toEqual(["2:two"]);
    await reader.close();
  } finally {
    await failed.clean();
  }
});

test("a write that the disk had no room for leaves nothing, and the stream goes on when there is room", async ({
  skip,
}) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  const disk = await SmallDisk.make(segments.folder, 64);
  const small = SegmentFolder.at(join(disk.path, "stream"));
  try {
    await small.open();
    await small.push(["one"]);
    disk.fill(8192);
    const refused = small.push(Array.from({ length: 10 }, () => "x".repeat(4096)));
    await expect(refused).rejects.toMatchObject({ code: "DISK_FULL", policy: "retry" });
    disk.empty();
    await small.push(["two", "three"]);
    await small.open();
    expect(await small.texts()).toEqual(["1:one", "2:two", "3:three"]);
  } finally {
    await small.close();
    await disk.remove();
  }
});

/** Appends until there are so many segments; the stream is small, so that they are. */
async function fillSegments(folder: SegmentFolder, count: number): Promise<void> {
  await folder.open(0, { max_bytes: 8 * 1024 * 1024, max_msgs: Infinity });
  while ((await folder.paths()).length < count) await folder.push(Array.from({ length: 100 }, () => "x".repeat(3_000)));
}
