import { Catalog } from "./catalog/catalog.ts";
import { defaultDeadLetterLimits } from "./core/dead-letter.ts";
import { defaultPushMaxWait } from "./core/push.ts";
import type { TableStore } from "./core/store.ts";
import type { EmbeddedServer } from "./embedded-clickhouse/lazy-embedded-clickhouse.ts";
import { thisMachine } from "./machine.ts";
import type { EngineSettings } from "./settings.ts";
import type { OwnedFolder } from "./state/data-dir.ts";
import { DeadLetters } from "./state/dead-letters.ts";
import { Deletions } from "./state/deletions.ts";
import { StoreJournal } from "./state/journal.ts";
import { Moves } from "./state/moves.ts";
import { drawRun, type Runs } from "./state/runs.ts";
import { Streams } from "./streams/streams.ts";
import { Recorder } from "./telemetry/recorder.ts";

type StoreSettings = Pick<
  EngineSettings,
  "dataDir" | "log" | "registry" | "standby" | "machine" | "deadLetters" | "streamMaxBytes" | "pushMaxWait"
>;

/** Everything that holds state in an engine, and the recorder of what happens to it. */
export interface Stores {
  dataDir: OwnedFolder;
  store: TableStore;
  catalog: Catalog;
  journal: StoreJournal;
  runs: Runs;
  deletions: Deletions;
  moves: Moves;
  letters: DeadLetters;
  streams: Streams;
  embedded: EmbeddedServer;
  recorder: Recorder;
}

/** Takes the data dir and opens what lies in it. Throws DATA_DIR_HELD, DATA_DIR_NEWER and DATA_DIR_OLDER; nothing stays open then. */
export async function openStores({ log, registry, standby, ...settings }: StoreSettings): Promise<Stores> {
  const { takeDataDir, openStore, disk, segments, embedClickHouse } = { ...thisMachine, ...settings.machine };
  const dataDir = await takeDataDir(settings.dataDir, standby);
  try {
    const store = await openStore(dataDir.folder("state"), log, dataDir.format);
    await dataDir.upgraded();
    const runs = await drawRun(store);
    const limits = { ...defaultDeadLetterLimits, ...settings.deadLetters };
    const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id), limits);
    const journal: StoreJournal = new StoreJournal(store, letters);
    const catalog = new Catalog(store, (id) => journal.namedRevisions(id));
    const deletions = new Deletions(store);
    const moves = new Moves(store);
    const streams = new Streams(disk, dataDir.folder("pipelines"), log, {
      ...(settings.streamMaxBytes !== undefined && { maxBytes: settings.streamMaxBytes }),
      ...(segments !== undefined && { sizes: segments }),
      patience: settings.pushMaxWait ?? defaultPushMaxWait,
      // Nobody hears of a disk that fails here, and its senders wait: where it is that of the store, the process ends.
      onStuck: () => store.checkDisk(),
    });
    const embedded = embedClickHouse(dataDir.path, log);
    const recorder = new Recorder(log, registry);
    return { dataDir, store, catalog, journal, runs, deletions, moves, letters, streams, embedded, recorder };
  } catch (error) {
    dataDir.release();
    throw error;
  }
}

/** Closes what was opened, and releases the data dir last. */
export async function closeStores({ streams, embedded, store, dataDir }: Stores): Promise<void> {
  await streams.close();
  await embedded.close();
  await store.close();
  dataDir.release();
}
