import { closeSync, openSync, readSync } from "node:fs";
import { EngineError } from "../core/errors.ts";

/** Bytes of a page of LMDB, where in each of its first two pages its mark is, and the mark (lmdb.h, `MDB_meta`). */
const pageBytes = 4096;
const markAt = 24;
const mark = 0xbeefc0de;

/**
 * Throws STORAGE_FAILED where the file at `path` is there and is not one of LMDB, such as an empty one: LMDB trusts what it
 * reads, and would end the process by a signal.
 */
export function mustBeStore(path: string): void {
  const head = Buffer.alloc(2 * pageBytes);
  const length = read(path, head);
  if (length === undefined) return;
  const isMarked = [0, pageBytes].some((page) => head.readUInt32LE(page + markAt) === mark);
  if (length === head.length && isMarked) return;
  const found = length < head.length ? `${length} bytes` : "other bytes";
  throw new EngineError(
    "STORAGE_FAILED",
    `${path}: expected the store of the data dir, found ${found}: restore the data dir from a backup, or begin with another --data-dir`,
  );
}

/** How many bytes were read into `head`; undefined where there is no such file. */
function read(path: string, head: Buffer): number | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return readSync(file, head, 0, head.length, 0);
  } finally {
    closeSync(file);
  }
}
