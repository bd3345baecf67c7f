import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import type { Table, TableKey, TableStore } from "../core/store.ts";
import { preallocateLockFile, Preallocation } from "./preallocation.ts";
import { storageError } from "./storage-error.ts";

/** A small change writes at most about so much: the pages that it touches in each table. */
const changeBytes = 32 * 1024;

interface Waiting {
  change: () => void;
  bytes: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * The small transactional store: catalog, journal, dead letters, in one LMDB file with one writer.
 *
 * All changes that wait at one moment become one transaction and share one sync, so that many pipelines cost one
 * fsync. Reads see everything that was written, synced or not.
 */
export class Store implements TableStore {
  readonly #env: RootDatabase;
  readonly #preallocation: Preallocation;
  #waiting: Waiting[] = [];
  #scheduled = false;

  private constructor(env: RootDatabase, path: string) {
    this.#env = env;
    this.#preallocation = new Preallocation(path, () => usedBytes(env));
  }

  /** Throws DISK_FULL without room for what a start writes, and STORAGE_FAILED. */
  static open(folder: string): Store {
    const path = join(folder, "state.mdb");
    let store: Store | undefined;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      preallocateLockFile(`${path}-lock`);
      store = new Store(open({ path, noSubdir: true, maxDbs: 32 }), path);
      store.#preallocation.ensure(0);
      return store;
    } catch (error) {
      void store?.close();
      throw storageError(error);
    }
  }

  table<V, K extends TableKey>(name: string): Table<V, K> {
    // Its types know no read-only arrays as keys; it changes none.
    return this.#env.openDB({ name }) as unknown as Table<V, K>;
  }

  write(change: () => void, bytes = 0): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, bytes, resolve, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => void this.#commitWaiting());
    });
  }

  checkRoom(bytes: number): void {
    try {
      this.#preallocation.checkFree(bytes);
    } catch (error) {
      throw storageError(error);
    }
  }

  // Always the synchronous transaction: on a full disk lmdb's asynchronous one never answers (seen with 3.5.6).
  async #commitWaiting(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    this.#scheduled = false;
    try {
      this.#preallocation.ensure(group.reduce((sum, { bytes }) => sum + changeBytes + bytes, 0));
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
    this.#preallocation.close();
  }
}

/** Where the pages end that LMDB has used; its type says nothing about what `getStats` gives. */
function usedBytes(env: RootDatabase): number {
  const { lastPageNumber, pageSize } = env.getStats() as { lastPageNumber: number; pageSize: number };
  return (lastPageNumber + 1) * pageSize;
}
