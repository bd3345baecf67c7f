import { existsSync } from "node:fs";
import { open as openFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { diskReserve } from "../core/disk.ts";
import { systemDisk } from "../system/disk.ts";
import { preallocateLockFile } from "./preallocation.ts";

/** Less free space is left in the file: its next writes use it. */
const leastGain = 64 * 1024 * 1024;

/** What a compaction gave back; sizes in bytes. */
export interface Compacted {
  from: number;
  to: number;
}

interface Sizes {
  /** Pages that hold something. */
  used: number;
  /** All pages, used or free. */
  all: number;
}

/** The pages of one table, as LMDB counts them. */
interface PageCounts {
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
}

/**
 * Gives space of a closed store back to the disk: LMDB uses free pages again, and its file never shrinks. The used pages
 * are copied into another file, which is synced and then takes the name of the store in one step: a crash leaves either
 * the old file or the new one, and a rest that the next start removes. Nothing is done where less than half of the file is
 * free, where that is little, or where the disk has no room for the copy. The caller owns the data dir.
 */
export async function compactStore(path: string): Promise<Compacted | undefined> {
  const copy = `${path}.compact`;
  await rm(copy, { force: true });
  if (!existsSync(path)) return undefined;
  try {
    const from = await copyUsed(path, copy);
    if (from === undefined) return undefined;
    const to = await syncedSize(copy);
    await rename(copy, path);
    await systemDisk.syncFolder(dirname(path));
    return { from, to };
  } finally {
    await rm(copy, { force: true });
  }
}

/** Copies the used pages where that is worth it, and returns the size of all pages then. */
async function copyUsed(path: string, copy: string): Promise<number | undefined> {
  preallocateLockFile(`${path}-lock`);
  const env = open({ path, noSubdir: true, maxDbs: 32 });
  try {
    const { used, all } = sizesOf(env);
    const isWorth = all - used >= leastGain && used < all / 2;
    if (!isWorth || (await systemDisk.freeBytes(path)) < used + diskReserve) return undefined;
    await env.backup(copy, true);
    return all;
  } finally {
    await env.close();
  }
}

function sizesOf(env: RootDatabase): Sizes {
  // The type of `getStats` does not name what is in it.
  const whole = env.getStats() as { root: PageCounts; free: PageCounts; lastPageNumber: number; pageSize: number };
  const tables = [...env.getKeys()].map((name) => env.openDB({ name: String(name) }).getStats() as PageCounts);
  const used = [whole.root, whole.free, ...tables].reduce((sum, one) => sum + pagesOf(one), metaPages);
  return { used: used * whole.pageSize, all: (whole.lastPageNumber + 1) * whole.pageSize };
}

const metaPages = 2;

function pagesOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: PageCounts): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}

async function syncedSize(path: string): Promise<number> {
  const file = await openFile(path, "r+");
  try {
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}
