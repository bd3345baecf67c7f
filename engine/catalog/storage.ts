import { dirname, join } from "node:path";
import { durationMs } from "../../schemas/duration.ts";
import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { EngineError } from "../core/errors.ts";
import type { Disk } from "../core/disk.ts";
import { joinFeed, streamFeed } from "../core/positions.ts";
import { Mutex } from "../flow/mutex.ts";
import { dropJoin } from "../join/open-join.ts";
import { isPushed } from "../sources/registry.ts";
import type { DeadLetters } from "../state/dead-letters.ts";
import type { Deletions } from "../state/deletions.ts";
import type { StoreJournal } from "../state/journal.ts";
import type { Moves } from "../state/moves.ts";
import type { Streams } from "../streams/streams.ts";
import type { Log } from "../telemetry/log.ts";
import type { Recorder } from "../telemetry/recorder.ts";
import { dedupId } from "../transforms/dedup/dedup.ts";
import type { CatalogEntry } from "./catalog.ts";

interface PipelineStorageOptions {
  dataDir: string;
  disk: Disk;
  journal: StoreJournal;
  letters: DeadLetters;
  streams: Streams;
  deletions: Deletions;
  moves: Moves;
  recorder: Recorder;
  log: Log;
}

/**
 * The stream and the folder of each pipeline, from its creation to its deletion. A folder that holds events is removed
 * only with its pipeline: if the catalog does not know it, the catalog may have been lost or restored without it.
 */
export class PipelineStorage {
  readonly #options: PipelineStorageOptions;
  /** One folder is renamed at a time. */
  readonly #moving = new Mutex();

  constructor(options: PipelineStorageOptions) {
    this.#options = options;
  }

  /**
   * After a start: removes what is left of interrupted deletions and creations. Throws STORAGE_FAILED where the catalog
   * knows no pipeline and folders hold events.
   */
  async removeLeftovers(known: ReadonlySet<string>): Promise<void> {
    const { dataDir, streams, deletions, moves, log } = this.#options;
    const unmoved = moves.all().map(({ from }) => from);
    const unknown = await streams.keepOnly(new Set([...known, ...unmoved]), new Set(deletions.all()));
    for (const pipeline_id of deletions.all()) await deletions.finish(pipeline_id);
    if (known.size === 0 && unknown.length > 0) throw catalogLost(dataDir, unknown);
    for (const folder of unknown) {
      log.warn(
        { folder },
        "A folder holds events of a pipeline that the catalog does not know; it is kept. Move it away, or restore the data dir.",
      );
    }
  }

  /** Gives a new pipeline an empty folder, with a stream where events are pushed to it. Throws STORAGE_FAILED. */
  async create(pipeline: Pick<CatalogEntry, "pipeline_id" | "config">): Promise<void> {
    await this.#makeRoom(pipeline.pipeline_id);
    await this.open(pipeline);
  }

  /** Removes what is left of an earlier pipeline of this id. Throws STORAGE_FAILED where that holds events. */
  async #makeRoom(pipeline_id: string): Promise<void> {
    const { streams, deletions } = this.#options;
    await this.#completeMovesOf(pipeline_id);
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

  /** Undoes `create`, for a pipeline that is in no catalog. */
  discard(pipeline_id: string): Promise<void> {
    return this.#options.streams.remove(pipeline_id);
  }

  /** Opens the stream of a pipeline that has one, where it is not open yet. Throws what `Streams.open` throws. */
  async open({ pipeline_id, config }: Pick<CatalogEntry, "pipeline_id" | "config">): Promise<void> {
    const { streams, journal } = this.#options;
    await this.#completeMovesOf(pipeline_id);
    if (isPushed(config)) await streams.open(pipeline_id, config, journal.settledUpTo(pipeline_id));
  }

  /** Its stream is there, and is opened later: by the start, or for the first that is pushed. */
  await({ pipeline_id, config }: Pick<CatalogEntry, "pipeline_id" | "config">): void {
    if (isPushed(config)) this.#options.streams.await(pipeline_id);
  }

  /** Drops the stream's events that no pending batch names, what a join buffers, and the keys of dedup. */
  async release({ pipeline_id, config }: CatalogEntry): Promise<void> {
    const { journal, streams, disk, recorder } = this.#options;
    await this.#completeMovesOf(pipeline_id);
    if (config.join !== undefined) {
      await dropJoin(disk, streams.joinFolder(pipeline_id), journal.namedUpTo(pipeline_id, joinFeed));
      await journal.rowsDropped(pipeline_id);
      recorder.joinDropped(pipeline_id);
    }
    if (isPushed(config)) {
      const [trimmed, named] = [journal.settledUpTo(pipeline_id), journal.namedUpTo(pipeline_id)];
      await streams.openToRelease(pipeline_id, config, { trimmed, named });
      await streams.get(pipeline_id).release(named);
    }
    await journal.forgetKeys(pipeline_id);
    recorder.keysForgotten(pipeline_id);
  }

  /**
   * Removes the keys of the dedups that a new config does not have any more: part of the write that stores it. Returns
   * whether there is such a dedup.
   */
  forgetDedupsInWrite({ pipeline_id, config: before }: CatalogEntry, after: PipelineConfig): boolean {
    const remaining = new Set(dedupsOf(after));
    const isOneGone = dedupsOf(before).some((dedup) => !remaining.has(dedup));
    if (isOneGone) this.#options.journal.forgetKeysInWrite(pipeline_id, remaining);
    return isOneGone;
  }

  /**
   * Removes events older than `max_age` from the stream of a pipeline at rest; a running one skips them as it reads.
   * Events of a pending batch stay, and so do all later ones, until the batch is settled.
   */
  async expire({ pipeline_id, config }: Pick<CatalogEntry, "pipeline_id" | "config">): Promise<void> {
    const { journal, streams, recorder } = this.#options;
    if (streams.state(pipeline_id)?.messages === 0 || journal.pendingCount(pipeline_id) > 0) return;
    const oldest = Date.now() - durationMs(config.resources.nats.stream.max_age);
    const { count, last } = await streams.get(pipeline_id).olderThan(oldest);
    if (count === 0) return;
    await journal.place(pipeline_id, { [streamFeed]: last });
    recorder.agedOut({ pipeline_id, count });
    streams.settled(pipeline_id, last);
  }

  /** Removes dead letters that are older than the setting allows. */
  async expireLetters(pipeline_id: string): Promise<void> {
    const { letters, recorder } = this.#options;
    const count = await letters.expire(pipeline_id);
    if (count > 0) recorder.lettersExpired({ pipeline_id, count });
  }

  /**
   * Removes the records of a deleted pipeline from the store, and notes that its folder is to be removed. Part of the
   * write that removes it from the catalog, after which `forgotten` is said.
   */
  forgetInWrite(pipeline_id: string): void {
    const { journal, letters, deletions } = this.#options;
    journal.forgetInWrite(pipeline_id);
    letters.forgetInWrite(pipeline_id);
    deletions.noteInWrite(pipeline_id);
  }

  /** The write that deleted a pipeline is made. */
  forgotten(pipeline_id: string): void {
    this.#options.journal.forgotten(pipeline_id);
  }

  /**
   * Prepares a move to another id: nothing is stored of the pipeline any more, and nothing of an earlier one is in its way.
   * Throws STORAGE_FAILED, DISK_FULL and STORAGE_UNAVAILABLE.
   */
  async beforeMove(from: string, to: string): Promise<void> {
    await this.#makeRoom(to);
    await this.#options.streams.closeOne(from);
  }

  /** About how many bytes the write that moves a pipeline puts. */
  bytesToMove(pipeline_id: string): number {
    return this.#options.journal.bytesToMove(pipeline_id);
  }

  /**
   * Gives the records of a pipeline in the store to another id, and notes that its folder is to have that name. Part of the
   * write that moves it in the catalog, after which `moved` is said.
   */
  moveInWrite(from: string, to: string): void {
    const { journal, letters, moves } = this.#options;
    journal.moveInWrite(from, to);
    letters.moveInWrite(from, to);
    moves.noteInWrite(from, to);
  }

  /** The write that moved a pipeline is made. The next `open` gives its folder the new name. */
  moved(from: string, to: string): void {
    this.#options.journal.moved(from, to);
    this.#options.streams.moved(from, to);
  }

  /** Removes the folder of a pipeline whose deletion is noted. If that fails, the next start removes it. */
  async removeDeleted(pipeline_id: string): Promise<void> {
    try {
      await this.#completeMovesOf(pipeline_id);
      await this.#remove(pipeline_id);
    } catch (error) {
      this.#options.log.warn(
        { pipeline_id, error: String(error) },
        "The folder of a deleted pipeline could not be removed; the next start removes it.",
      );
    }
  }

  /** Renames the folder of a moved pipeline, where it has this id, or had it before. Throws STORAGE_FAILED, DISK_FULL and STORAGE_UNAVAILABLE. */
  async #completeMovesOf(pipeline_id: string): Promise<void> {
    const { streams, moves } = this.#options;
    const open = (): { from: string; to: string }[] =>
      moves.all().filter(({ from, to }) => from === pipeline_id || to === pipeline_id);
    if (open().length === 0) return;
    await this.#moving.run(async () => {
      for (const { from, to } of open()) {
        await streams.move(from, to);
        await moves.finish(to);
      }
    });
  }

  async #remove(pipeline_id: string): Promise<void> {
    await this.#options.streams.remove(pipeline_id);
    await this.#options.deletions.finish(pipeline_id);
  }
}

function dedupsOf({ transforms }: PipelineConfig): string[] {
  return transforms.flatMap((entry) => (entry.type === "dedup" ? [dedupId(entry)] : []));
}

/** The error for streams without a catalog: a start would lose their events. */
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
