import { appendFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SegmentFolder } from "./segments.ts";

let segments: SegmentFolder;

beforeEach(async () => {
  segments = await SegmentFolder.make();
  await segments.writeOld(1, ["one", "two", "three"], 1_000);
});

afterEach(() => segments.clean());

test("segments of format 1 are read, and new events go to a new segment", async () => {
  const stream = await segments.open();
  expect(stream.state).toMatchObject({ messages: 3, first: 1, last: 3 });
  expect(await segments.push(["four", "five"], 2_000)).toBe(5);
  expect(await segments.texts(2)).toEqual(["2:two", "3:three", "4:four", "5:five"]);
  expect(await segments.paths()).toHaveLength(2);
  await segments.open();
  expect(await segments.texts(1)).toEqual(["1:one", "2:two", "3:three", "4:four", "5:five"]);
  expect(await segments.stream.olderThan(1_500)).toEqual({ count: 3, last: 3 });
});

test("what a crash left half written in a segment of format 1 is left out for good", async () => {
  const [path] = await segments.paths();
  await appendFile(path!, "half a frame");
  await segments.open();
  await segments.push(["four"]);
  await segments.open();
  expect(await segments.texts()).toEqual(["1:one", "2:two", "3:three", "4:four"]);
});

test("several segments of format 1 follow each other; damage in one is found at the start", async () => {
  await segments.writeOld(4, ["four", "five"]);
  await segments.open();
  expect(await segments.texts()).toHaveLength(5);
  await segments.close();
  const [first] = await segments.paths();
  await segments.damage(first!, 8 + 17);
  await expect(segments.open()).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    message: expect.stringContaining("the event 1, at byte 8, is damaged"),
  });
});

test("an empty segment of format 1 is replaced", async () => {
  await segments.writeOld(1, []);
  await segments.open();
  await segments.push(["one", "two"]);
  await segments.open();
  expect(await segments.texts()).toEqual(["1:one", "2:two"]);
});

test("segments of format 1 are released and trimmed", async () => {
  const stream = await segments.open();
  await stream.release(2);
  expect(await segments.texts()).toEqual(["1:one", "2:two"]);
  await segments.push(["four"]);
  await segments.open();
  expect(await segments.texts()).toEqual(["1:one", "2:two", "4:four"]);
  await segments.stream.trim(3);
  expect(segments.stream.state).toMatchObject({ messages: 1, first: 4, last: 4 });
  expect(await segments.paths()).toHaveLength(1);
});

test("a file that this version does not know is refused, not read as something else", async () => {
  const [path] = await segments.paths();
  await segments.damage(path!, 7);
  await expect(segments.open()).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    message: expect.stringContaining("does not begin with the header of a segment"),
  });
});
