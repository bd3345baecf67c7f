import { existsSync } from "node:fs";
import { open as openFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Database, RootDatabase } from "lmdb";
import { diskReserve } from "../core/disk.ts";
import { EngineError } from "../core/errors.ts";
import { systemDisk } from "../system/disk.ts";
import { openEnvironment } from "./environment.ts";

/** Less free space is left in the file: its next writes use it. */
const leastGain = 64 * 1024 * 1024;

/** What one transaction of the copy changes, in bytes. */
const mostInTransaction = 8 * 1024 * 1024;

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

/** Whether a store of these sizes is copied. */
type IsWorth = (sizes: Sizes) => Promise<boolean>;

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
  return copyInPlace(path, async (sizes) => {
    const { used, all } = sizes;
    return all - used >= leastGain && used < all / 2 && (await hasRoom(path, sizes));
  });
}

/**
 * Writes a closed store anew, whatever is in it, by the version of LMDB that runs: in one step, as a compaction does.
 * Throws DISK_FULL without room for it.
 */
export async function rewriteStore(path: string): Promise<void> {
  await copyInPlace(path, async (sizes) => {
    if (await hasRoom(path, sizes)) return true;
    throw new EngineError(
      "DISK_FULL",
      "the disk of the data dir has no room to upgrade its store: make room, and start again",
    );
  });
}

async function hasRoom(path: string, { used }: Sizes): Promise<boolean> {
  return (await systemDisk.freeBytes(path)) >= used + diskReserve;
}

async function copyInPlace(path: string, isWorth: IsWorth): Promise<Compacted | undefined> {
  const copy = `${path}.compact`;
  await removeStore(copy);
  if (!existsSync(path)) return undefined;
  try {
    const from = await copyUsed(path, copy, isWorth);
    if (from === undefined) return undefined;
    const to = await syncedSize(copy);
    await rename(copy, path);
    await systemDisk.syncFolder(dirname(path));
    return { from, to };
  } finally {
    await removeStore(copy);
  }
}

async function removeStore(path: string): Promise<void> {
  for (const file of [path, `${path}-lock`]) await rm(file, { force: true });
}

/** Copies the used pages where that is worth it, and returns the size of all pages then. */
async function copyUsed(path: string, copy: string, isWorth: IsWorth): Promise<number | undefined> {
  // Without a transaction that writes, nothing of its list of free pages is read.
  const env = openEnvironment(path, { readOnly: true });
  try {
    const sizes = sizesOf(env);
    if (!(await isWorth(sizes))) return undefined;
    await copyTables(env, copy);
    return sizes.all;
  } finally {
    await env.close();
  }
}

/** Copies all tables into a new store, as bytes. It is not synced. */
async function copyTables(env: RootDatabase, path: string): Promise<void> {
  const copy = openEnvironment(path, { noSync: true });
  try {
    for (const name of namesOf(env)) copyTable(tableOf(env, name), tableOf(copy, name));
  } finally {
    await copy.close();
  }
}

function namesOf(env: RootDatabase): string[] {
  return [...env.getKeys()].map(String);
}

function tableOf(env: RootDatabase, name: string): Database<Buffer, Buffer> {
  return env.openDB({ name, encoding: "binary", keyEncoding: "binary" });
}

function copyTable(from: Database<Buffer, Buffer>, to: Database<Buffer, Buffer>): void {
  for (let part = partAfter(from, undefined); part.length > 0; part = partAfter(from, part.at(-1)!.key)) {
    to.transactionSync(() => {
      for (const { key, value } of part) to.putSync(key, value);
    });
  }
}

/** The entries after `start`, in bytes of their own: a read does not outlast the transactions of another store. */
function partAfter(from: Database<Buffer, Buffer>, start: Buffer | undefined): { key: Buffer; value: Buffer }[] {
  const part: { key: Buffer; value: Buffer }[] = [];
  let bytes = 0;
  for (const { key, value } of from.getRange(start === undefined ? {} : { start })) {
    if (start?.equals(key) === true) continue;
    part.push({ key: Buffer.from(key), value: Buffer.from(value) });
    bytes += key.length + value.length;
    if (bytes >= mostInTransaction) break;
  }
  return part;
}

function sizesOf(env: RootDatabase): Sizes {
  // The type of `getStats` does not name what is in it.
  const whole = env.getStats() as { root: PageCounts; free: PageCounts; lastPageNumber: number; pageSize: number };
  const tables = namesOf(env).map((name) => env.openDB({ name }).getStats() as PageCounts);
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
