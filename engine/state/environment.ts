import { existsSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { open, type RootDatabase, type RootDatabaseOptions } from "lmdb";
import { preallocateLockFile } from "./preallocation.ts";

/** Files here are in memory. */
const memory = "/dev/shm";

/**
 * Opens the LMDB environment in the file at `path`, with its lock file in memory, where the system has a place for that. LMDB
 * writes to that file through a mapping: where it lies on a disk that fails, the process dies of SIGBUS. The caller owns the
 * file: no other process sees that lock. Throws errors of the system, and those of LMDB.
 */
export function openEnvironment(path: string, options: RootDatabaseOptions = {}): RootDatabase {
  const place = lockInMemory(path);
  const lock = `${path}-lock`;
  // LMDB does not survive that there is no room for the first pages of a new file either.
  if (place === undefined || !existsSync(path)) preallocateLockFile(lock);
  if (place !== undefined) rmSync(lock, { force: true });
  // LMDB makes its lock file beside the path that it is given, which may be a link.
  const given = place === undefined ? path : join(place, basename(path));
  try {
    return open({ maxDbs: 32, ...options, path: given, noSubdir: true });
  } finally {
    // What is open stays open.
    if (place !== undefined) rmSync(place, { recursive: true, force: true });
  }
}

/**
 * A folder in memory with a link to `path`, and room for a lock file; undefined where there can be none. It has the same name
 * each time: what a process has left that was killed here is taken away by the next one.
 */
function lockInMemory(path: string): string | undefined {
  const absolute = resolve(path);
  const { dev, ino } = statSync(dirname(absolute));
  const place = join(memory, `sluice-lock-${dev}-${ino}`);
  try {
    rmSync(place, { recursive: true, force: true });
    mkdirSync(place, { mode: 0o700 });
    symlinkSync(absolute, join(place, basename(path)));
    preallocateLockFile(join(place, `${basename(path)}-lock`));
    return place;
  } catch {
    return undefined;
  }
}
