import { appendFile, mkdtemp, open, readdir, rm, truncate, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EmbeddedReader } from "../../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../../engine/streams/embedded/embedded-stream.ts";

const limits = { max_bytes: Infinity, max_msgs: Infinity };
let folder: string;
let stream: EmbeddedStream;

const openStream = (): Promise<EmbeddedStream> =>
  EmbeddedStream.open(folder, { limits, trimmed: 0, onAppended: () => undefined });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-segments-"));
  stream = await openStream();
});

afterEach(async () => {
  await stream.close();
  await rm(folder, { recursive: true });
});

const append = async (...appended: string[]): Promise<void> => {
  for (const text of appended) await stream.append(Buffer.from(text), 0);
};
const segment = async (): Promise<string> => join(folder, (await readdir(folder)).toSorted().at(-1)!);

async function texts(reader = new EmbeddedReader(folder, stream.state.last)): Promise<string[]> {
  const events = await reader.read(1, 100, 1 << 20);
  await reader.close();
  return events.map(({ text }) => text);
}

test("a frame that a crash cut short was never answered: it is left out, and the next event takes its place", async () => {
  await append("one", "two", "three");
  await stream.close();
  await truncate(await segment(), (await stat(await segment())).size - 2);
  stream = await openStream();
  expect(stream.state.last).toBe(2);
  await append("four");
  expect(await texts()).toEqual(["one", "two", "four"]);
});

test("bytes behind the last whole frame are overwritten", async () => {
  await append("one");
  await stream.close();
  await appendFile(await segment(), "left over from a write that failed");
  stream = await openStream();
  await append("two");
  await stream.close();
  stream = await openStream();
  expect(await texts()).toEqual(["one", "two"]);
});

test("a changed byte in an event that was answered is damage, and is never read as something else", async () => {
  await append("one", "two");
  const file = await open(await segment(), "r+");
  await file.write("X", 8 + 16);
  await file.close();
  await expect(texts()).rejects.toMatchObject({ code: "STORAGE_FAILED", message: expect.stringContaining("event 1") });
});

test("a reader that read ahead into a frame that was still being written reads it again when it is whole", async () => {
  await append("one");
  const reader = new EmbeddedReader(folder, 1);
  await appendFile(await segment(), Buffer.alloc(40));
  expect((await reader.read(1, 10, 1000)).map(({ text }) => text)).toEqual(["one"]);
  await append("two");
  reader.advance(2);
  expect((await reader.read(2, 10, 1000)).map(({ text }) => text)).toEqual(["two"]);
  await reader.close();
});
