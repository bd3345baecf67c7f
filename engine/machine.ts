import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import type { Disk } from "./core/disk.ts";
import type { EngineError } from "./core/errors.ts";
import type { TableStore } from "./core/store.ts";
import { type EmbeddedServer, LazyEmbeddedClickHouse } from "./embedded-clickhouse/lazy-embedded-clickhouse.ts";
import { processRoom } from "./peers/answer-room.ts";
import { DataDir, type OwnedFolder, type Standby } from "./state/data-dir.ts";
import { compactStore, rewriteStore } from "./state/compaction.ts";
import { ThreadHold } from "./flow/thread-hold.ts";
import { makeFolders } from "./state/durable-files.ts";
import { storageError } from "./state/storage-error.ts";
import { mustBeStore } from "./state/store-file.ts";
import { Store, storePath } from "./state/store.ts";
import type { SegmentSizes } from "./streams/embedded/stream-files.ts";
import { systemDisk } from "./system/disk.ts";
import { entryPoint } from "./system/entry-point.ts";
import type { Log } from "./telemetry/log.ts";
import type { WorkerLike } from "./workers/protocol.ts";

/** What an engine uses of the machine that it runs on. A simulation replaces it. */
export interface Machine {
  /** Makes this process the one owner of the data dir. Throws DATA_DIR_HELD, DATA_DIR_NEWER and DATA_DIR_OLDER. */
  takeDataDir(path: string, standby: Standby | undefined): Promise<OwnedFolder>;
  /**
   * Opens the store of catalog, journal and dead letters in a folder, which is made where it is missing, and upgrades it from
   * the format of its data dir.
   */
  openStore(folder: string, log: Log, format: number): TableStore | Promise<TableStore>;
  /** Where streams are kept. */
  disk: Disk;
  /** Sizes of the files of streams. Default: those of `EmbeddedStream`. */
  segments?: SegmentSizes;
  /** Starts a thread that runs pipelines. */
  spawnThread(): WorkerLike;
  /** The embedded ClickHouse of a data dir, started when first needed. */
  embedClickHouse(dataDir: string, log: Log): EmbeddedServer;
}

/** This machine: a locked folder, LMDB, its disk and worker threads of this process. */
export const thisMachine: Machine = {
  takeDataDir: (path, standby) => DataDir.take(path, standby && { standby }),
  openStore: openDurably,
  disk: systemDisk,
  spawnThread,
  embedClickHouse: (dataDir, log) => new LazyEmbeddedClickHouse(dataDir, log),
};

/**
 * The heap of a thread from which on V8 looks for garbage in all of it, in MiB. Fetched records count, although they are
 * outside of it: with V8's own choice, a heap of 15 MiB, all of it was searched for each 20 MiB of records.
 */
const firstHeap = 64;

/** Threads that are spawned later have the same first heap, whatever they do; limits of their own hold all the same. */
function spawnThread(): WorkerLike {
  setFlagsFromString(`--initial-old-space-size=${firstHeap}`);
  return withHold((options) => new Worker(entryPoint("thread"), options));
}

/** A thread that notes which of its pipelines keeps it from all others, and shares the room for answers. */
export function withHold(start: (options: { workerData: object }) => Worker): WorkerLike {
  const hold = new SharedArrayBuffer(ThreadHold.bytes);
  return Object.assign(start({ workerData: { hold, room: processRoom() } }), { hold: new ThreadHold(hold) });
}

/** Earlier formats of a data dir have a store whose list of free pages this version of LMDB cannot read. */
const firstOfThisStore = 5;

/**
 * Opens the store; its folder and the names of its files outlive a power cut. When it breaks, the process ends by an
 * exception that nothing catches: what it holds in memory may not be on the disk, so that nothing may build on it.
 */
async function openDurably(folder: string, log: Log, format: number): Promise<TableStore> {
  let store: TableStore | undefined;
  try {
    await makeFolders(systemDisk, folder);
    mustBeStore(storePath(folder));
    if (format < firstOfThisStore) await rewriteStore(storePath(folder));
    else await compact(folder, log);
    store = Store.open(folder, { onBroken: endProcess });
    await systemDisk.syncFolder(folder);
    return store;
  } catch (error) {
    await store?.close();
    throw storageError(error);
  }
}

function endProcess(error: EngineError): void {
  setImmediate(() => {
    throw error;
  });
}

/** Gives free space of the store back to the disk. A start does not depend on it. */
async function compact(folder: string, log: Log): Promise<void> {
  try {
    const compacted = await compactStore(storePath(folder));
    if (compacted === undefined) return;
    const { from, to } = compacted;
    log.info({ from_bytes: from, to_bytes: to }, "The store was compacted: its free space went back to the disk.");
  } catch (error) {
    log.warn({ error: String(error) }, "The store could not be compacted; the next start tries it again.");
  }
}
