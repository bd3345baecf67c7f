import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { tryLock } from "fs-native-extensions";
import { EngineError } from "../core/errors.ts";
import { sleep } from "../flow/sleep.ts";
import { systemDisk } from "../system/disk.ts";
import { makeFolders, writeFileDurably } from "./durable-files.ts";
import { storageError } from "./storage-error.ts";

/**
 * The layout of a data dir that this version writes. It is raised whenever an earlier version could not read what any
 * part writes. A newer one is refused, an older one is upgraded by the code that reads it: 3 had streams with one event
 * in each frame; 4 began without joins, and its store was written by another version of LMDB. `test/integration/formats` has
 * one of each.
 */
export const dataDirFormat = 5;
/** Those before are refused: 1 had no dedup keys, and an upgrade of 2 forgot them. */
const oldestFormat = 3;

interface Format {
  format: number;
  /** Drawn once; names this data dir to others, such as a Kafka group. */
  id: string;
}

/** How a process waits for a folder that another process holds, running or paused. */
export interface Standby {
  /** Ends the wait. */
  signal: AbortSignal;
  /** Called with the holder and the seconds waited so far: at once, when another process takes it, and from time to time. */
  waits: (holder: string, seconds: number) => void;
}

/** A data dir that this process owns until it releases it. */
export interface OwnedFolder {
  readonly path: string;
  /** Drawn when it was made; names it to others, such as a Kafka group. */
  readonly id: string;
  /** The format that it had when it was taken. */
  readonly format: number;
  /** A folder inside, by name. Not made here. */
  folder(...names: string[]): string;
  /** What lies in it has the format of this version from now on. Throws errors of the system. */
  upgraded(): Promise<void>;
  /** Releases it. Safe to call twice. */
  release(): void;
}

/**
 * The folder that holds all state, owned by one process at a time.
 *
 * The lock is an open-file-description lock (`fcntl(F_OFD_SETLK)`, BSD `flock` on macOS) on `<data dir>/lock`: the
 * system drops it with the last descriptor, so it ends with its holder, also after SIGKILL, and it works between
 * containers that share the folder. The descriptor is close-on-exec: children never inherit it. The file's text names
 * the holder; it counts only while the lock is held.
 */
export class DataDir implements OwnedFolder {
  readonly path: string;
  readonly id: string;
  readonly format: number;
  readonly #lock: number;

  private constructor(path: string, { id, format }: Format, lock: number) {
    this.path = path;
    this.id = id;
    this.format = format;
    this.#lock = lock;
  }

  /**
   * Takes the folder, making it first where there is none. Throws DATA_DIR_HELD with the holder's name (or waits for it,
   * with `standby`, and throws its signal's reason when that ends the wait), DATA_DIR_NEWER when a newer version wrote it,
   * DATA_DIR_OLDER when it is too old, STORAGE_FAILED with what to do where it cannot be made, read or written.
   */
  static async take(path: string, { standby }: { standby?: Standby } = {}): Promise<DataDir> {
    await makeFolders(systemDisk, path).catch((error: unknown) => {
      throw unusable(path, error, "made");
    });
    const lock = openLock(path);
    try {
      if (!tryLock(lock)) {
        if (standby === undefined) throw heldBy(path);
        await waitFor(path, lock, standby);
      }
      ftruncateSync(lock, 0);
      writeSync(lock, JSON.stringify({ pid: process.pid, host: hostname(), since: new Date().toISOString() }));
      return new DataDir(path, await readFormat(path), lock);
    } catch (error) {
      closeSync(lock);
      throw standby?.signal.aborted === true ? error : unusable(path, error, "used");
    }
  }

  /** A folder inside, by name. Not made here. */
  folder(...names: string[]): string {
    return join(this.path, ...names);
  }

  async upgraded(): Promise<void> {
    if (this.format < dataDirFormat) await writeFormat(this.path, { format: dataDirFormat, id: this.id });
  }

  /** Releases the folder. Safe to call twice. */
  release(): void {
    try {
      fstatSync(this.#lock);
      closeSync(this.#lock);
    } catch {
      // Closed already.
    }
  }
}

function openLock(path: string): number {
  try {
    return openSync(join(path, "lock"), "a+", 0o600);
  } catch (error) {
    throw unusable(path, error, "used");
  }
}

/** Why a data dir cannot be made or used, by the system's name of the error, and what to do about it. */
const obstacles: Readonly<Record<string, string>> = {
  EROFS: "lies on a file system that is read-only: mount it for writing",
  EACCES: "may not be read and written by this user: correct owner and mode of it and of the folders above",
  EPERM: "may not be read and written by this user: correct owner and mode of it and of the folders above",
  ENOTDIR: "is not a folder, or lies below a file: move that file away",
  EISDIR: "has a folder where Sluice writes a file: move that folder away",
};

/** The engine's error for a data dir that cannot be taken. An EngineError stays as it is. */
function unusable(path: string, cause: unknown, what: "made" | "used"): EngineError {
  const { code = "", message } = cause as NodeJS.ErrnoException;
  if (cause instanceof EngineError || code === "ENOSPC" || code === "EDQUOT") return storageError(cause);
  const obstacle = obstacles[code] ?? `cannot be ${what} (${message}): correct the cause`;
  return new EngineError("STORAGE_FAILED", `data dir ${path} ${obstacle}, or choose another --data-dir`, {
    details: { data_dir: path },
    cause,
  });
}

/** Milliseconds between two tries, and until the wait is reported again, which doubles each time. */
const tryEvery = 200;
const reportEvery = { first: 60_000, longest: 3_600_000 };

/**
 * Waits until the lock is free, by trying it repeatedly. A wait of the system would keep a thread that only the lock
 * can wake, so that the process could not end before.
 */
async function waitFor(path: string, lock: number, { signal, waits }: Standby): Promise<void> {
  const start = performance.now();
  let [reported, next, pause] = ["", 0, reportEvery.first / 2];
  do {
    const holder = holderOf(path);
    const waited = performance.now() - start;
    if (holder !== undefined && (holder !== reported || waited >= next)) {
      waits(holder, waited / 1000);
      pause = holder === reported || reported === "" ? Math.min(reportEvery.longest, pause * 2) : reportEvery.first;
      [reported, next] = [holder, waited + pause];
    }
    await sleep(tryEvery, signal);
    signal.throwIfAborted();
  } while (!tryLock(lock));
}

/** Who holds the folder, for people; undefined while the holder is writing its name. */
function holderOf(path: string): string | undefined {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(join(path, "lock"), "utf8")) as Record<string, unknown>;
    return `process ${String(pid)} on ${String(host)}, since ${String(since)}`;
  } catch {
    return undefined;
  }
}

function heldBy(path: string): EngineError {
  const holder = holderOf(path) ?? "another process";
  return new EngineError(
    "DATA_DIR_HELD",
    `data dir ${path} is held by ${holder}: stop that process, choose another --data-dir, or wait for it with --standby`,
    { details: { data_dir: path, holder } },
  );
}

function parseFormat(file: string, text: string): Format {
  let found: Partial<Format> | null = null;
  try {
    found = JSON.parse(text) as Partial<Format> | null;
  } catch {
    // Reported below, with the expected text.
  }
  if (typeof found?.format === "number" && typeof found.id === "string") return { format: found.format, id: found.id };
  throw new EngineError(
    "STORAGE_FAILED",
    `${file}: expected {"format": ..., "id": ...} as Sluice writes it, found ${JSON.stringify(text.slice(0, 40))}: ` +
      "restore the whole data dir from one backup",
  );
}

function formatFile(path: string): string {
  return join(path, "format");
}

function writeFormat(path: string, format: Format): Promise<void> {
  return writeFileDurably(formatFile(path), JSON.stringify(format));
}

async function readFormat(path: string): Promise<Format> {
  const file = formatFile(path);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const fresh: Format = { format: dataDirFormat, id: randomBytes(8).toString("hex") };
    await writeFormat(path, fresh);
    return fresh;
  }
  const found = parseFormat(file, text);
  if (found.format > dataDirFormat) {
    throw new EngineError(
      "DATA_DIR_NEWER",
      `data dir ${path} has format ${found.format}, and this Sluice knows up to ${dataDirFormat}: ` +
        `it was written by a newer Sluice. Run that one, or choose another --data-dir`,
      { details: { data_dir: path, found: found.format, known: dataDirFormat } },
    );
  }
  if (found.format < oldestFormat) {
    throw new EngineError(
      "DATA_DIR_OLDER",
      `data dir ${path} has format ${found.format}, and this Sluice reads formats ${oldestFormat} to ${dataDirFormat}: ` +
        `let the Sluice that wrote it write what is pending, then start this one with another --data-dir`,
      { details: { data_dir: path, found: found.format, oldest: oldestFormat } },
    );
  }
  return found;
}
