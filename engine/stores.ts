import type { Registry } from "prom-client";
import type { Disk } from "./core/disk.ts";
import { LazyEmbeddedClickHouse } from "./embedded-clickhouse/lazy-embedded-clickhouse.ts";
import type { SecretSource } from "./catalog/secrets.ts";
import type { KafkaSettings } from "./sources/kafka/brokers/settings.ts";
import type { OtlpSettings } from "./sources/otlp/receiver/settings.ts";
import { Catalog } from "./state/catalog.ts";
import { DataDir, type OwnedFolder, type Standby } from "./state/data-dir.ts";
import { Deletions } from "./state/deletions.ts";
import { DeadLetters } from "./state/dead-letters.ts";
import { StoreJournal } from "./state/journal.ts";
import { drawRun, type Runs } from "./state/runs.ts";
import { makeFolders } from "./state/durable-files.ts";
import { storageError } from "./state/storage-error.ts";
import type { TableStore } from "./core/store.ts";
import { Store } from "./state/store.ts";
import { Streams } from "./streams/streams.ts";
import { systemDisk } from "./system/disk.ts";
import type { SegmentSizes } from "./streams/embedded/stream-files.ts";
import type { Log } from "./telemetry/log.ts";
import { Recorder } from "./telemetry/recorder.ts";
import type { WorkerLike } from "./workers/protocol.ts";

export interface EngineSettings {
  /** The folder of all state; made where there is none. */
  dataDir: string;
  log: Log;
  registry: Registry;
  secrets: SecretSource;
  /** Threads that run pipelines. Default: one less than the cores, at least 1, at most 4. */
  threads?: number;
  /** How long a stop drains, in milliseconds. Default five minutes. */
  drainLimit?: number;
  /** Milliseconds between two looks for events older than `max_age` in pipelines at rest. Default one minute. */
  sweepEvery?: number;
  /** How Kafka is read, where it differs from the defaults. */
  kafka?: Partial<KafkaSettings>;
  /** How OTLP is received, where it differs from the defaults. */
  otlp?: Partial<OtlpSettings>;
  /** Wait for a data dir that another process holds. Without it, that is an error. */
  standby?: Standby;
  /** Makes a thread that runs pipelines, where that is to be another than a worker thread of this process. */
  spawnThread?: () => WorkerLike;
  /** Internal: takes the data dir in another way than by a lock of this machine. */
  takeDataDir?: (path: string) => Promise<OwnedFolder>;
  /** Internal: opens another store than LMDB in the folder of the state. */
  openStore?: (folder: string) => TableStore | Promise<TableStore>;
  /** Internal: where streams are kept by those who host an engine without threads. Default: the disk of this machine. */
  disk?: Disk;
  /** Internal: sizes of the files of streams. */
  segments?: SegmentSizes;
}

/** What an engine is made of: everything that holds state, and those who tell of it. */
export interface EngineStores {
  settings: EngineSettings;
  dataDir: OwnedFolder;
  store: TableStore;
  catalog: Catalog;
  journal: StoreJournal;
  runs: Runs;
  deletions: Deletions;
  letters: DeadLetters;
  streams: Streams;
  embedded: LazyEmbeddedClickHouse;
  recorder: Recorder;
}

/** Takes the data dir and opens what lies in it. Throws DATA_DIR_HELD and DATA_DIR_NEWER; nothing is held then. */
export async function openStores(settings: EngineSettings): Promise<EngineStores> {
  const { log, registry, standby } = settings;
  const { takeDataDir = (path) => DataDir.take(path, standby && { standby }), openStore = openDurably } = settings;
  const dataDir = await takeDataDir(settings.dataDir);
  try {
    const store = await openStore(dataDir.folder("state"));
    const runs = await drawRun(store);
    const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
    const journal: StoreJournal = new StoreJournal(store, letters);
    const catalog = new Catalog(store, (id) => journal.namedRevisions(id));
    const deletions = new Deletions(store);
    const streams = new Streams(settings.disk ?? systemDisk, dataDir.folder("pipelines"), log, settings.segments);
    const embedded = new LazyEmbeddedClickHouse(dataDir.path, log);
    const recorder = new Recorder(log, registry);
    return { settings, dataDir, store, catalog, journal, runs, deletions, letters, streams, embedded, recorder };
  } catch (error) {
    dataDir.release();
    throw error;
  }
}

/** Opens the store; its folder and the names of its files are there after a power cut. */
async function openDurably(folder: string): Promise<TableStore> {
  let store: TableStore | undefined;
  try {
    await makeFolders(systemDisk, folder);
    store = Store.open(folder);
    await systemDisk.syncFolder(folder);
    return store;
  } catch (error) {
    await store?.close();
    throw storageError(error);
  }
}

/** Closes what was opened, and gives the data dir back last. */
export async function closeStores({ streams, embedded, store, dataDir }: EngineStores): Promise<void> {
  await streams.close();
  await embedded.close();
  await store.close();
  dataDir.release();
}
