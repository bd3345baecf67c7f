import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { DiskFile } from "../../../engine/core/disk.ts";
import { makeFile, makeFolders, writeAll, writeFileDurably } from "../../../engine/state/durable-files.ts";
import { preallocateLockFile } from "../../../engine/state/preallocation.ts";
import { systemDisk } from "../../../engine/system/disk.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-durable-"));
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

test("all bytes are written where the system takes a part of them at a time, and no write is empty", async () => {
  const written: [text: string, position: number][] = [];
  const write = (bytes: Buffer, position: number): Promise<number> => {
    if (bytes.length === 0) return Promise.reject(new Error("nothing is left to write"));
    const part = bytes.subarray(0, 4);
    written.push([part.toString(), position]);
    return Promise.resolve(part.length);
  };
  await writeAll({ write } as unknown as DiskFile, Buffer.from("0123456789"), 100);
  expect(written).toEqual([
    ["0123", 100],
    ["4567", 104],
    ["89", 108],
  ]);
});

test("a file takes the place of another as a whole, and its name is durable", async () => {
  const path = join(folder, "file");
  const synced = vi.spyOn(systemDisk, "syncFolder");
  await makeFile(systemDisk, path, Buffer.from("the first text"));
  await makeFile(systemDisk, path, Buffer.from("the text"));
  expect(await readFile(path, "utf8")).toBe("the text");
  expect(await readdir(folder)).toEqual(["file"]);
  expect(synced.mock.calls).toEqual([[folder], [folder]]);
  await writeFileDurably(path, "another", 0o640);
  expect(await readFile(path, "utf8")).toBe("another");
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  expect(await readdir(folder)).toEqual(["file"]);
});

test("a folder that could not be made durable is removed, one that was there is not", async () => {
  const path = join(folder, "made");
  const error = Object.assign(new Error("disk error"), { code: "EIO" });
  vi.spyOn(systemDisk, "syncFolder").mockRejectedValueOnce(error);
  await expect(makeFolders(systemDisk, path)).rejects.toBe(error);
  expect(await readdir(folder)).toEqual([]);
  await makeFolders(systemDisk, path);
  vi.spyOn(systemDisk, "syncFolder").mockRejectedValueOnce(error);
  await makeFolders(systemDisk, path);
  expect(await readdir(folder)).toEqual(["made"]);
});

test("a lock file gets blocks on the disk, and what is in it stays", async () => {
  const path = join(folder, "lock");
  await writeFile(path, "what is in it");
  preallocateLockFile(path);
  const content = await readFile(path);
  expect(content).toHaveLength(12 * 1024);
  expect(content.toString("latin1").replaceAll("\0", "")).toBe("what is in it");
  expect(content.subarray(0, 13).toString()).toBe("what is in it");
});
