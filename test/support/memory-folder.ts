import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

/** Where Linux keeps files in memory. */
const inMemory = "/dev/shm";

/** Where a test makes a folder that is better in memory: there, whatever room it has, or on the disk where nothing is in memory. */
export function memoryRoot(): string {
  return existsSync(inMemory) ? inMemory : tmpdir();
}

/** Whether a test takes up to two minutes, by the path of its file. Such tests fill disks, and kill what writes to them. */
export function isLong(path: string): boolean {
  return /\/test\/(?:e2e|faults|fuzz|security)\//.test(path);
}

/** Free room there, and free memory, below which the disk is used, in bytes: many times what a run was seen to take. */
const enough = 8 * 1024 ** 3;

/**
 * A folder for the temporary files of tests, which is removed when this process ends: in memory where that has room, and
 * that for temporary files elsewhere. An insert of the embedded ClickHouse makes a dozen files, and most of the time that
 * it takes on a disk is for these.
 */
export function memoryFolder(): string {
  if (!hasRoom()) return tmpdir();
  const folder = mkdtempSync(join(inMemory, "sluice-test-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function hasRoom(): boolean {
  if (process.platform !== "linux" || !existsSync(inMemory)) return false;
  const { bavail, bsize } = statfsSync(inMemory);
  return Math.min(bavail * bsize, freemem()) >= enough;
}
