import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Store, storePath } from "../../../engine/state/store.ts";
import { mustBeStore } from "../../../engine/state/store-file.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-store-file-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("a store, and no file at all, are taken", async () => {
  mustBeStore(storePath(folder));
  await Store.open(folder).close();
  mustBeStore(storePath(folder));
});

test.each<[string, (whole: Buffer) => Buffer, string]>([
  ["an empty file", () => Buffer.alloc(0), "0 bytes"],
  ["a cut file", (whole) => whole.subarray(0, 4096), "4096 bytes"],
  ["zeros", (whole) => Buffer.alloc(whole.length), "other bytes"],
  ["another file", (whole) => Buffer.alloc(whole.length, "text"), "other bytes"],
])("%s is told, and not given to LMDB, which would end the process by a signal", async (_what, damaged, found) => {
  await Store.open(folder).close();
  const path = storePath(folder);
  await writeFile(path, damaged(await readFile(path)));
  expect(() => mustBeStore(path)).toThrow(
    `${path}: expected the store of the data dir, found ${found}: restore the data dir from a backup, or begin with another --data-dir`,
  );
});
