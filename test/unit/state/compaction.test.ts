import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { compactStore } from "../../../engine/state/compaction.ts";
import { Store, storePath } from "../../../engine/state/store.ts";
import { memoryRoot } from "../../support/memory-folder.ts";

const megabyte = 1024 * 1024;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(memoryRoot(), "sluice-compaction-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** A store with so many values of a megabyte, of which only the last ones stay. */
async function filled(count: number, kept: number): Promise<void> {
  const store = Store.open(folder);
  const table = store.table<string, number>("values");
  for (let key = 0; key < count; key += 10) {
    const fill = (): void => {
      for (let one = key; one < key + 10; one += 1) table.putSync(one, `${one} ${"x".repeat(megabyte)}`);
    };
    await store.write(fill, 11 * megabyte);
  }
  await store.write(() => {
    for (let key = 0; key < count - kept; key += 1) table.removeSync(key);
  });
  await store.close();
}

async function keysIn(): Promise<number[]> {
  const store = Store.open(folder);
  const table = store.table<string, number>("values");
  const keys = [...table.getRange()].map(({ key, value }) => (value.startsWith(`${key} x`) ? key : -1));
  await store.close();
  return keys;
}

const sizeOf = async (): Promise<number> => (await stat(storePath(folder))).size;

test("a store that is mostly free space gives it back, and keeps what is in it", async () => {
  await filled(100, 10);
  const from = await sizeOf();
  const compacted = await compactStore(storePath(folder));
  expect(compacted?.from).toBeGreaterThan(100 * megabyte);
  expect(compacted?.from).toBeLessThanOrEqual(from);
  expect(compacted?.to).toBe(await sizeOf());
  expect(compacted?.to).toBeLessThan(20 * megabyte);
  expect(await keysIn()).toEqual([90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
  expect((await readdir(folder)).filter((name) => name.endsWith(".compact"))).toEqual([]);
});

test.each([
  ["of which the larger part is used", 150, 80],
  ["with little free space", 60, 10],
])("a store %s stays as it is", async (_title, count, kept) => {
  await filled(count, kept);
  const before = await sizeOf();
  expect(await compactStore(storePath(folder))).toBeUndefined();
  expect(await sizeOf()).toBe(before);
  expect(await keysIn()).toHaveLength(kept);
});

test("where there is no store yet, nothing is made", async () => {
  expect(await compactStore(storePath(folder))).toBeUndefined();
  expect(await readdir(folder)).toEqual([]);
});
