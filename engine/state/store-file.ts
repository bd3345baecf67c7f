import { closeSync, existsSync, openSync, readSync } from "node:fs";
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
  if (!existsSync(path)) return;
  const head = Buffer.alloc(2 * pageBytes);
  const length = read(path, head);
  const isMarked = [0, pageBytes].some((page) => head.readUInt32LE(page + markAt) === mark);
  if (length === head.length && isMarked) return;
  const found = length < head.length ? `${length} bytes` : "other bytes";
  throw new EngineError(
    "STORAGE_FAILED",
    `${path}: expected the store of the data dir, found ${found}: restore the data dir from a backup, or begin with another --data-dir`,
  );
}

/** Reads the beginning of a file into `head`. Returns how many bytes that were. */
function read(path: string, head: Buffer): number {
  const file = openSync(path, "r");
  try {
    return readSync(file, head, 0, head.length, 0);
  } finally {
    closeSync(file);
  }
}
