import { copyFile, open, stat } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { textsOf } from "../../conformance/stream-scene.ts";
import { SegmentFolder } from "./segments.ts";

const megabyte = 1024 * 1024;
/** Its segments are closed at 1 MiB. */
const small = { max_bytes: 8 * megabyte, max_msgs: Infinity };
/** Half a megabyte. */
const half = Array.from({ length: 128 }, (_, index) => String(index).padEnd(4096, "x"));

let segments: SegmentFolder;

beforeEach(async () => {
  segments = await SegmentFolder.make();
});

afterEach(() => segments.clean());

test("space comes back segment by segment as events are settled", async () => {
  const stream = await segments.open(0, small);
  for (let push = 0; push < 14; push += 1) await segments.push(half);
  const full = await segments.size();
  expect(full).toBeGreaterThan(7 * megabyte);
  for (let push = 1; push <= 14; push += 1) {
    await stream.trim(push * half.length);
    const { bytes } = stream.state;
    expect(await segments.size()).toBeLessThan(bytes + 2.5 * megabyte);
  }
  expect(stream.state).toMatchObject({ messages: 0, bytes: 0 });
});

test("the active segment gives its space back when all of it is settled and nothing new comes", async () => {
  const stream = await segments.open();
  for (let push = 0; push < 10; push += 1) await segments.push(half);
  expect(await segments.paths()).toHaveLength(1);
  await stream.trim(stream.state.last);
  expect(await segments.size()).toBeLessThan(100);
  expect(await segments.push(["next"])).toBe(1281);
  await segments.open(1280);
  expect(await segments.texts(1281)).toEqual(["1281:next"]);
});

test("the space of settled segments comes back while a reader has the file open", async () => {
  const stream = await segments.open();
  await segments.push(half);
  await segments.push([...half, ...half]);
  const [path] = await segments.paths();
  const held = await open(path!, "r");
  try {
    await stream.trim(stream.state.last);
    expect((await held.stat()).size).toBe(0);
    await expect(stat(path!)).rejects.toMatchObject({ code: "ENOENT" });
  } finally {
    await held.close();
  }
});

test("a reader within a segment that is settled and gone goes on with what comes next", async () => {
  const stream = await segments.open();
  const reader = segments.reader(0);
  for (let push = 0; push < 4; push += 1) reader.advance(await segments.push(half));
  expect(await textsOf(reader, 1, 3)).toHaveLength(3);
  await stream.trim(512);
  reader.advance(await segments.push(["next"]));
  expect(await textsOf(reader, 513, 10)).toEqual(["513:next"]);
  await reader.close();
});

test("a start removes what was settled before it, unread", async () => {
  await segments.open(0, small);
  for (let push = 0; push < 6; push += 1) await segments.push(half);
  const [first] = await segments.paths();
  await segments.close();
  await segments.damage(first!, 100);
  const stream = await segments.open(128 * 5);
  expect(await segments.paths()).not.toContain(first);
  expect(stream.state).toMatchObject({ messages: 128, first: 641, last: 768 });
});

test("a start knows closed segments by their ends, and all of their events by a look at them where an end is damaged", async () => {
  await segments.open(0, small);
  for (let push = 0; push < 8; push += 1) await segments.push(half, 1_000 * push);
  const before = segments.stream.state;
  const paths = await segments.paths();
  expect(paths.length).toBeGreaterThan(3);
  await segments.open(0, small);
  expect(segments.stream.state).toEqual(before);
  expect(await segments.stream.olderThan(2_500)).toEqual({ count: 3 * half.length, last: 3 * half.length });
  await segments.close();
  await segments.damage(paths[1]!, (await stat(paths[1]!)).size - 3);
  await segments.open(0, small);
  expect(segments.stream.state).toEqual(before);
  expect((await segments.texts(1, 10_000)).length).toBe(before.messages);
});

test("bytes that are held are counted closely while a segment is settled in part", async () => {
  const stream = await segments.open();
  for (let push = 0; push < 20; push += 1) await segments.push(half);
  const { bytes, messages } = stream.state;
  for (const position of [1, 100, 128, 1_000, 2_000, 2_559]) {
    await stream.trim(position);
    const share = (bytes * (messages - position)) / messages;
    expect(Math.abs(stream.state.bytes - share)).toBeLessThan(0.05 * megabyte);
  }
});

test.each(["before anything is removed", "after it was said where the stream ends", "when all is done"])(
  "a release that a crash ended %s is finished by the next one",
  async (when) => {
    const stream = await segments.open(0, small);
    for (let push = 0; push < 6; push += 1) await segments.push(half);
    const crashed = await SegmentFolder.make();
    try {
      if (when.startsWith("before")) await segments.copyTo(crashed);
      const before = await segments.paths();
      if (when.startsWith("after")) await segments.copyTo(crashed);
      await stream.release(200);
      const { state } = stream;
      if (when.startsWith("when")) await segments.copyTo(crashed);
      const added = (await segments.paths()).filter((path) => !before.includes(path));
      if (when.startsWith("after"))
        for (const path of added) await copyFile(path, path.replace(segments.folder, crashed.folder));
      await crashed.open(0, small);
      await crashed.stream.release(200);
      expect(crashed.stream.state).toEqual(state);
      await crashed.open(0, small);
      expect(crashed.stream.state).toEqual(state);
      expect((await crashed.texts(199)).map((text) => text.slice(0, 7))).toEqual(["199:70x", "200:71x"]);
      await crashed.stream.trim(200);
      await crashed.push(["next"]);
      expect(await crashed.texts(1)).toEqual(["769:next"]);
      expect(await crashed.paths()).toHaveLength(1);
    } finally {
      await crashed.clean();
    }
  },
);

test("a second release of less ends the stream there for good", async () => {
  const stream = await segments.open();
  await segments.push(half);
  for (const position of [100, 60, 60, 20]) {
    await stream.release(position);
    expect(stream.state).toMatchObject({ messages: position, first: 1, last: 128 });
  }
  await segments.open();
  expect(segments.stream.state).toMatchObject({ messages: 20, first: 1, last: 128 });
  expect(await segments.texts()).toHaveLength(20);
});
