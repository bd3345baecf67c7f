import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { open, type Database, type Key, type RootDatabase } from "lmdb";
import { EngineError } from "../core/errors.ts";

interface Waiting {
  change: () => void;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * The small transactional store: catalog, journal, dead letters, in one LMDB file with one writer.
 *
 * All changes that wait at one moment become one transaction and share one sync, so that many pipelines cost one
 * fsync. Reads see everything that was written, synced or not.
 */
export class Store {
  readonly #env: RootDatabase;
  #waiting: Waiting[] = [];
  #scheduled = false;

  private constructor(env: RootDatabase) {
    this.#env = env;
  }

  static open(folder: string): Store {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return new Store(open({ path: join(folder, "state.mdb"), noSubdir: true, maxDbs: 32 }));
  }

  table<V, K extends Key>(name: string): Database<V, K> {
    return this.#env.openDB<V, K>({ name });
  }

  /**
   * Makes one change, all or nothing; resolves when it would survive a power cut. `change` writes with the tables'
   * `putSync` and `removeSync`. Throws DISK_FULL without room and STORAGE_FAILED otherwise; nothing was written then.
   */
  write(change: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => void this.#commitWaiting());
    });
  }

  // Always the synchronous transaction: on a full disk lmdb's asynchronous one never answers (seen with 3.5.6).
  async #commitWaiting(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    this.#scheduled = false;
    try {
      this.#env.transactionSync(() => {
        for (const { change } of group) change();
      });
      await this.#env.flushed;
    } catch (error) {
      const failure = storageError(error);
      for (const { reject } of group) reject(failure);
      return;
    }
    for (const { resolve } of group) resolve();
  }

  async close(): Promise<void> {
    while (this.#scheduled) await new Promise((resolve) => setImmediate(resolve));
    await this.#env.close();
  }
}

/** The engine's error for a failed write below the data dir. */
export function storageError(cause: unknown): EngineError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === "ENOSPC" || code === "EDQUOT" || /no space left|disk quota/i.test(text)) {
    return new EngineError("DISK_FULL", "the disk of the data dir is full: make room, and everything goes on", {
      cause,
    });
  }
  return new EngineError("STORAGE_FAILED", `the data dir could not be written: ${text}`, { cause });
}
