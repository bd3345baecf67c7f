import type { Registry } from "prom-client";
import { EmbeddedHost } from "./embedded-host.ts";
import type { SecretSource } from "./secrets.ts";
import type { KafkaSettings } from "./sources/kafka/settings.ts";
import type { OtlpSettings } from "./sources/otlp/receiver/settings.ts";
import { Catalog } from "./state/catalog.ts";
import { DataDir, type Standby } from "./state/data-dir.ts";
import { DeadLetters } from "./state/dead-letters.ts";
import { StoreJournal } from "./state/journal.ts";
import { drawRun, type Runs } from "./state/runs.ts";
import { Store } from "./state/store.ts";
import { StreamShelf } from "./stream-shelf.ts";
import type { Log } from "./telemetry/log.ts";
import { Recorder } from "./telemetry/recorder.ts";
import type { WorkerLike } from "./thread/protocol.ts";

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
}

/** What an engine is made of: everything that holds state, and those who tell of it. */
export interface EngineParts {
  settings: EngineSettings;
  dataDir: DataDir;
  store: Store;
  catalog: Catalog;
  journal: StoreJournal;
  runs: Runs;
  letters: DeadLetters;
  streams: StreamShelf;
  embedded: EmbeddedHost;
  recorder: Recorder;
}

/** Takes the data dir and opens what lies in it. Throws DATA_DIR_HELD and DATA_DIR_NEWER; nothing is held then. */
export async function openParts(settings: EngineSettings): Promise<EngineParts> {
  const { log, registry, standby } = settings;
  const dataDir = await DataDir.take(settings.dataDir, standby && { standby });
  try {
    const store = Store.open(dataDir.folder("state"));
    const runs = await drawRun(store);
    const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
    const journal: StoreJournal = new StoreJournal(store, letters);
    const catalog = new Catalog(store, (id) => journal.namedRevisions(id));
    const streams = new StreamShelf(dataDir.folder("pipelines"), log);
    const embedded = new EmbeddedHost(dataDir.path, log);
    const recorder = new Recorder(log, registry);
    return { settings, dataDir, store, catalog, journal, runs, letters, streams, embedded, recorder };
  } catch (error) {
    dataDir.release();
    throw error;
  }
}

/** Closes what was opened, and gives the data dir back last. */
export async function closeParts({ streams, embedded, store, dataDir }: EngineParts): Promise<void> {
  await streams.close();
  await embedded.close();
  await store.close();
  dataDir.release();
}
