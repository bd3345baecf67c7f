import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Store } from "../../../engine/state/store.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { SmallDisk } from "../../support/small-disk.ts";

const megabyte = 1024 * 1024;
let folder: string;
let disk: SmallDisk;

beforeEach(async ({ skip }) => {
  requireOrSkip(SmallDisk.obstacle(), skip);
  folder = await mkdtemp(join(tmpdir(), "sluice-store-"));
  disk = await SmallDisk.make(folder, 64);
});

afterEach(async () => {
  await disk?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Writes values until the store refuses one; returns the error, and what was taken before. */
async function fillUp(
  store: Store,
  put: (key: number) => void,
  bytes?: number,
): Promise<{ taken: number; error: unknown }> {
  for (let taken = 0; ; taken += 1) {
    try {
      await store.write(() => put(taken), bytes);
    } catch (error) {
      return { taken, error };
    }
  }
}

test("on a full disk writes go on in the room that is held, then say so, and nothing that was taken is lost", async () => {
  const folderOfStore = join(disk.path, "state");
  const store = Store.open(folderOfStore);
  const table = store.table<string, number>("values");
  disk.fill(0);
  expect(() => store.checkRoom(0)).toThrow(expect.objectContaining({ code: "DISK_FULL" }));
  const { taken, error } = await fillUp(store, (key) => table.putSync(key, "x".repeat(3000)));
  expect(error).toMatchObject({ code: "DISK_FULL" });
  expect(taken).toBeGreaterThan(500);
  await expect(store.write(() => table.putSync(-1, "no"))).rejects.toMatchObject({ code: "DISK_FULL" });

  disk.empty();
  store.checkRoom(0);
  await store.write(() => table.putSync(taken, "last"));
  await store.close();
  const again = Store.open(folderOfStore);
  const kept = again.table<string, number>("values");
  expect([...kept.getKeys()]).toEqual(Array.from({ length: taken + 1 }, (_, key) => key));
  expect(kept.get(taken)).toBe("last");
  await again.close();
});

test("a write that says that it is large is not begun without room for all of it", async () => {
  const store = Store.open(join(disk.path, "state"));
  const table = store.table<string, number>("values");
  disk.fill(4 * megabyte);
  let begun = 0;
  const large = store.write(() => {
    begun += 1;
    table.putSync(1, "x".repeat(20 * megabyte));
  }, 20 * megabyte);
  await expect(large).rejects.toMatchObject({ code: "DISK_FULL" });
  expect(begun).toBe(0);
  await store.write(() => table.putSync(2, "small"));

  disk.empty();
  await store.write(() => table.putSync(1, "x".repeat(20 * megabyte)), 20 * megabyte);
  expect(table.get(1)).toHaveLength(20 * megabyte);
  await store.close();
});

test("a write that does not fit leaves the room on the disk to others", async () => {
  const store = Store.open(join(disk.path, "state"));
  const table = store.table<string, number>("values");
  disk.fill(30 * megabyte);
  const { freeBytes } = disk;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(store.write(() => table.putSync(1, "x"), 100 * megabyte)).rejects.toMatchObject({ code: "DISK_FULL" });
  }
  expect(disk.freeBytes).toBe(freeBytes);
  await store.close();
});

test("what was held is held by the next run as well", async () => {
  const path = join(disk.path, "state");
  await Store.open(path).close();
  disk.fill(0);
  const { size } = await stat(join(path, "state.mdb"));
  const store = Store.open(path);
  const table = store.table<string, number>("values");
  await store.write(() => table.putSync(1, "x".repeat(megabyte)), megabyte);
  expect((await stat(join(path, "state.mdb"))).size).toBe(size);
  await store.close();
});

test.each([0, 64 * 1024, megabyte])("without room for a start, with %d bytes free, the store says so", async (free) => {
  const path = join(disk.path, "state");
  disk.fill(free);
  expect(() => Store.open(path)).toThrow(expect.objectContaining({ code: "DISK_FULL" }));
  disk.empty();
  await Store.open(path).close();
});
