import { execFile } from "node:child_process";
import { open, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { entries, tables } from "./deduplication-logs.ts";

const run = promisify(execFile);

/** ext4 and XFS (statfs(2)). Others lack `+S`, or do not hand it on to new files. */
const able: ReadonlySet<number> = new Set([0xef53, 0x58465342]);

/**
 * Has each write to a deduplication log on disk before it returns. ClickHouse syncs the part of an insert, and never its
 * log: after a power cut it would have rows without their token, and take them again when they are sent again. With the
 * log synced it is the other way around, as ClickHouse logs a token before it moves the part into place; and a token
 * without its part is removed by the next start.
 *
 * It is an attribute of the folder of the log, which its later files inherit (`chattr +S`).
 */
export class SyncedLogs {
  readonly #engine: string;
  /** Folders that have it, by what no folder that is made later has in common with them. */
  readonly #synced = new Set<string>();

  /** @param engine the data folder of ClickHouse. */
  constructor(engine: string) {
    this.#engine = engine;
  }

  /** Sees to the logs that are new since the last call. Resolves with why some cannot be kept so; undefined if all are. */
  async keep(): Promise<string | undefined> {
    try {
      const { type } = await statfs(this.#engine);
      if (!able.has(type)) return `the file system of ${this.#engine} is neither ext4 nor XFS`;
      for await (const logs of logFolders(this.#engine)) await this.#keepOne(logs);
      return undefined;
    } catch (error) {
      return textOf(error as NodeJS.ErrnoException);
    }
  }

  /** What is in the logs now is on disk when this resolves. Throws errors of the system. */
  async sync(): Promise<void> {
    for await (const logs of logFolders(this.#engine)) await syncAll(await filesIn(logs));
  }

  async #keepOne(logs: string): Promise<void> {
    const identity = await identityOf(logs);
    if (identity === undefined || this.#synced.has(identity)) return;
    for (let files = await filesIn(logs); files.length > 0;) {
      try {
        await run("chattr", ["+S", logs, ...files]);
        // The attribute says nothing about what was written before.
        await syncAll(files);
        this.#synced.add(identity);
        return;
      } catch (error) {
        // A log may have been rotated meanwhile, or its table dropped.
        const now = await filesIn(logs);
        if (now.length === files.length && now.every((path, index) => path === files[index])) throw error;
        files = now;
      }
    }
  }
}

/** Those of all tables that have a window. */
async function* logFolders(engine: string): AsyncGenerator<string> {
  for await (const table of tables(engine)) {
    const logs = join(table, "deduplication_logs");
    if ((await filesIn(logs)).length > 0) yield logs;
  }
}

/** In a database without UUIDs, a table that is made again has the path of the one before. Undefined where it is gone. */
async function identityOf(folder: string): Promise<string | undefined> {
  const found = await stat(folder, { bigint: true }).catch(() => undefined);
  return found && `${folder} ${found.ino} ${found.birthtimeNs}`;
}

async function filesIn(folder: string): Promise<string[]> {
  return (await entries(folder)).map(({ name }) => join(folder, name)).toSorted();
}

async function syncAll(files: readonly string[]): Promise<void> {
  for (const path of files) {
    const file = await open(path, "r");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

function textOf({ code, syscall, message }: NodeJS.ErrnoException): string {
  return code === "ENOENT" && syscall === "spawn chattr" ? "chattr is not installed" : message.trim();
}
