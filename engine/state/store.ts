import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { RootDatabase } from "lmdb";
import type { EngineError } from "../core/errors.ts";
import type { Table, TableKey, TableStore } from "../core/store.ts";
import { type Group, GroupCommit } from "../flow/group-commit.ts";
import { nextTurn } from "../flow/next-turn.ts";
import { Preallocation } from "./preallocation.ts";
import { openEnvironment } from "./environment.ts";
import { isOfSystem, storageError } from "./storage-error.ts";
import { WriteProbe } from "./write-probe.ts";

/** A small change writes at most about this much: the pages that it touches in each table. */
const changeBytes = 32 * 1024;

/** The file of the store in a folder. */
export function storePath(folder: string): string {
  return join(folder, "state.mdb");
}

interface Write {
  change: () => void;
  bytes: number;
}

export interface StoreOptions {
  /** Is called once, when the disk has failed a transaction or its sync. Nothing is written any more. */
  onBroken?: (error: EngineError) => void;
}

/**
 * The small transactional store: catalog, journal, dead letters, in one LMDB file with one writer.
 *
 * All changes that wait at one moment become one transaction and share one sync, so that many pipelines cost one
 * fsync; each is a transaction of its own within that one, so that one that throws takes nothing of the others with it.
 * Reads see everything that was written, synced or not.
 *
 * Where the disk fails a transaction or its sync, what is in memory may differ from what is on the disk, and a later sync
 * may answer OK for what this one has lost. So the store is broken then: it writes nothing more until it is opened again.
 */
export class Store implements TableStore {
  readonly #env: RootDatabase;
  readonly #preallocation: Preallocation;
  readonly #probe: WriteProbe;
  readonly #onBroken: (error: EngineError) => void;
  /** Why it writes nothing any more. */
  #broken: EngineError | undefined;
  readonly #writes = new GroupCommit<Write>({
    write: async (group) => this.#commit(group),
    // All writes of this turn share a transaction.
    inTurn: (write) => nextTurn().then(write),
  });

  private constructor(env: RootDatabase, path: string, { onBroken = () => undefined }: StoreOptions) {
    this.#env = env;
    this.#onBroken = onBroken;
    this.#preallocation = new Preallocation(path, () => usedBytes(env));
    this.#probe = new WriteProbe(`${path}-probe`);
  }

  /** Throws DISK_FULL without room for the writes of a start, and STORAGE_FAILED. */
  static open(folder: string, options: StoreOptions = {}): Store {
    const path = storePath(folder);
    let store: Store | undefined;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      store = new Store(openEnvironment(path), path, options);
      // LMDB makes files that everybody may read.
      chmodSync(path, 0o600);
      store.#preallocation.ensure(0);
      store.#probe.check();
      return store;
    } catch (error) {
      void store?.close();
      throw storageError(error);
    }
  }

  table<V, K extends TableKey>(name: string): Table<V, K> {
    // Its types do not accept read-only arrays as keys; it changes none.
    return this.#env.openDB({ name }) as unknown as Table<V, K>;
  }

  write(change: () => void, bytes = 0): Promise<void> {
    return this.#writes.add({ change, bytes });
  }

  checkRoom(bytes: number): void {
    throwIfAny(this.#broken);
    try {
      this.#preallocation.checkFree(bytes);
    } catch (error) {
      throw storageError(error);
    }
  }

  checkDisk(): void {
    if (this.#broken !== undefined) return;
    try {
      this.#probe.check();
    } catch (error) {
      this.#breaks(error);
    }
  }

  freeBytes(): number {
    return this.#preallocation.freeBytes();
  }

  // Always the synchronous transaction: on a full disk lmdb's asynchronous one never answers (seen with 3.5.6).
  #commit(group: Group<Write>): void {
    throwIfAny(this.#broken);
    try {
      this.#preallocation.ensure(group.items.reduce((sum, { bytes }) => sum + changeBytes + bytes, 0));
    } catch (error) {
      throw storageError(error);
    }
    const failed = new Map<Write, EngineError>();
    let isOfChange = false;
    try {
      this.#env.transactionSync(() => {
        isOfChange = true;
        this.#makeAll(group.items, failed);
        isOfChange = false;
      });
      this.#probe.check();
    } catch (error) {
      throw isOfChange && !isOfSystem(error) ? storageError(error) : this.#breaks(error);
    }
    // The next transaction does not wait for the sync of this one.
    this.#env.flushed.then(
      () => group.resolve((write) => throwIfAny(failed.get(write))),
      (error: unknown) => group.reject(this.#breaks(error)),
    );
  }

  #breaks(cause: unknown): EngineError {
    if (this.#broken !== undefined) return this.#broken;
    this.#broken = storageError(cause);
    this.#onBroken(this.#broken);
    return this.#broken;
  }

  /** Makes changes, and notes those that throw: nothing of them is left. Throws where the only one does. */
  #makeAll(writes: readonly Write[], failed: Map<Write, EngineError>): void {
    if (writes.length === 1) return writes[0]!.change();
    for (const write of writes) {
      try {
        // Done when it returns, and throws what the change throws: the promise of its type is for changes that wait.
        void this.#env.childTransaction(write.change);
      } catch (error) {
        if (isOfSystem(error)) throw error;
        failed.set(write, storageError(error));
      }
    }
  }

  async close(): Promise<void> {
    while (!this.#writes.isIdle) await nextTurn();
    await this.#env.close();
    this.#preallocation.close();
    this.#probe.close();
  }
}

function throwIfAny(error: EngineError | undefined): void {
  if (error !== undefined) throw error;
}

/** The end of the pages that LMDB has used. The type of `getStats` does not name it. */
function usedBytes(env: RootDatabase): number {
  const { lastPageNumber, pageSize } = env.getStats() as { lastPageNumber: number; pageSize: number };
  return (lastPageNumber + 1) * pageSize;
}
