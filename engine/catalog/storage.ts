import { dirname, join } from "node:path";
import { EngineError } from "../core/errors.ts";
import type { Deletions } from "../state/deletions.ts";
import type { Streams } from "../streams/streams.ts";
import type { Log } from "../telemetry/log.ts";
import { durationMs } from "../../schemas/duration.ts";
import { streamFeed } from "../core/positions.ts";
import type { StoreJournal } from "../state/journal.ts";
import type { CatalogEntry } from "../state/catalog.ts";
import type { Recorder } from "../telemetry/recorder.ts";

interface PipelineStorageOptions {
  dataDir: string;
  streams: Streams;
  deletions: Deletions;
  log: Log;
}

/**
 * The folders of pipelines, as they come and go. One that holds events goes only with its pipeline: that the catalog does
 * not know it may mean that the catalog was lost, or restored without it.
 */
export class PipelineStorage {
  readonly #parts: PipelineStorageOptions;

  constructor(parts: PipelineStorageOptions) {
    this.#parts = parts;
  }

  /**
   * After a start: removes what deletions and creations have left that were cut short. Throws STORAGE_FAILED where the
   * catalog knows no pipeline and folders hold events.
   */
  async removeLeftovers(known: ReadonlySet<string>): Promise<void> {
    const { dataDir, streams, deletions, log } = this.#parts;
    const unknown = await streams.keepOnly(known, new Set(deletions.all()));
    for (const pipeline_id of deletions.all()) await deletions.finish(pipeline_id);
    if (known.size === 0 && unknown.length > 0) throw catalogLost(dataDir, unknown);
    for (const folder of unknown) {
      log.warn(
        { folder },
        "A folder holds events of a pipeline that the catalog does not know; it is kept. Move it away, or restore the data dir.",
      );
    }
  }

  /** Makes sure that nothing of an earlier pipeline is where a new one's events will be. Throws STORAGE_FAILED. */
  async free(pipeline_id: string): Promise<void> {
    const { streams, deletions } = this.#parts;
    if (!deletions.has(pipeline_id) && (await streams.holdsEvents(pipeline_id))) {
      throw new EngineError(
        "STORAGE_FAILED",
        `pipeline ${pipeline_id}: the folder ${dirname(streams.folder(pipeline_id))} holds events of a pipeline that the ` +
          "catalog does not know: move it away, or restore the whole data dir from one backup",
        { details: { pipeline_id } },
      );
    }
    await this.#remove(pipeline_id);
  }

  /** Removes the folder of a pipeline whose deletion is noted; the next start does where it cannot be done now. */
  async removeDeleted(pipeline_id: string): Promise<void> {
    try {
      await this.#remove(pipeline_id);
    } catch (error) {
      this.#parts.log.warn(
        { pipeline_id, error: String(error) },
        "The folder of a deleted pipeline could not be removed; the next start removes it.",
      );
    }
  }

  async #remove(pipeline_id: string): Promise<void> {
    await this.#parts.streams.remove(pipeline_id);
    await this.#parts.deletions.finish(pipeline_id);
  }
}

/** Streams without a catalog: to start would be to forget them. */
function catalogLost(dataDir: string, folders: readonly string[]): EngineError {
  const named = folders.slice(0, 5).join(", ") + (folders.length > 5 ? ", ..." : "");
  return new EngineError(
    "STORAGE_FAILED",
    `data dir ${dataDir}: the catalog in ${join(dataDir, "state")} knows no pipeline, and ${folders.length} of the folders ` +
      `in ${join(dataDir, "pipelines")} hold events (${named}): restore the whole data dir from one backup, or move ` +
      "these folders away if their events are not to be written",
    { details: { data_dir: dataDir, folders } },
  );
}

interface ExpiryParts {
  journal: StoreJournal;
  streams: Streams;
  recorder: Recorder;
}

/**
 * Removes events older than `max_age` from the stream of a pipeline that is at rest; one that runs leaves them out as
 * it reads. Events of a batch under way stay, and so does all behind them, until the pipeline has settled it.
 */
export async function expire({ pipeline_id, config }: CatalogEntry, parts: ExpiryParts): Promise<void> {
  const { journal, streams, recorder } = parts;
  if (streams.state(pipeline_id).messages === 0 || journal.pendingCount(pipeline_id) > 0) return;
  const oldest = Date.now() - durationMs(config.resources.nats.stream.max_age);
  const { count, last } = await streams.get(pipeline_id).olderThan(oldest);
  if (count === 0) return;
  await journal.place(pipeline_id, { [streamFeed]: last });
  recorder.agedOut({ pipeline_id, count });
  streams.settled(pipeline_id, last);
}
