import { join } from "node:path";
import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { quantityBytes } from "../../schemas/quantity.ts";
import type { Disk } from "../core/disk.ts";
import { EngineError } from "../core/errors.ts";
import type { BoundedStreamState, Stream, StreamLimits } from "../core/stream.ts";
import { ArrivalTimes } from "./embedded/arrival-times.ts";
import { EmbeddedStream } from "./embedded/embedded-stream.ts";
import { type SegmentSizes } from "./embedded/stream-files.ts";
import { makeFolders } from "../state/durable-files.ts";
import { isPassing, storageError } from "../state/storage-error.ts";
import { holdsSteps } from "../join/log-files.ts";
import { holdsEvents, recreateStream } from "./embedded/recreate.ts";
import type { Log } from "../telemetry/log.ts";

export interface StreamsOptions {
  /** The most that one stream may hold, in bytes, whatever a pipeline's config allows. Default: no such limit. */
  maxBytes?: number;
  sizes?: SegmentSizes;
  /** How long a push may wait for its turn to be written, in milliseconds. Default: as long as it takes. */
  patience?: number;
  /** Called where the disk fails a stream so that senders wait for an answer. */
  onStuck?: () => void;
}

/** The streams of all pipelines, by pipeline: `<data dir>/pipelines/<id>/stream`. */
export class Streams {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #log: Log;
  readonly #options: StreamsOptions;
  readonly #streams = new Map<string, Stream>();
  readonly #times = new Map<string, ArrivalTimes>();
  /** Pipelines whose stream could not be opened. */
  readonly #closed = new Set<string>();
  /** Pipelines whose stream is to be opened after the start of the process, which senders do not wait for. */
  readonly #awaited = new Set<string>();
  readonly #opening = new Map<string, Promise<void>>();
  /** Called with the newest durable sequence of a pipeline's stream. */
  onAppended: (pipeline_id: string, last: number) => void = () => undefined;

  constructor(disk: Disk, root: string, log: Log, options: StreamsOptions = {}) {
    this.#disk = disk;
    this.#root = root;
    this.#log = log;
    this.#options = options;
  }

  folder(pipeline_id: string): string {
    return join(this.#root, pipeline_id, "stream");
  }

  /** The folder of the log of a pipeline's join, which is removed with that of its stream. */
  joinFolder(pipeline_id: string): string {
    return join(this.#root, pipeline_id, "join");
  }

  /**
   * Opens a pipeline's stream, where it is not open; events up to `trimmed` are settled. Throws EngineError
   * STORAGE_FAILED where it is damaged, DISK_FULL and STORAGE_UNAVAILABLE; pushes are refused with the reason until it is
   * open.
   */
  async open(pipeline_id: string, config: PipelineConfig, trimmed: number): Promise<void> {
    if (this.#streams.has(pipeline_id)) return;
    const opening = this.#opening.get(pipeline_id) ?? this.#open(pipeline_id, config, trimmed);
    this.#opening.set(pipeline_id, opening);
    try {
      await opening;
    } finally {
      if (this.#opening.get(pipeline_id) === opening) this.#opening.delete(pipeline_id);
    }
  }

  /** The stream of a pipeline is there, and will be opened: what it holds is not known until then. */
  await(pipeline_id: string): void {
    this.#awaited.add(pipeline_id);
  }

  /** Whether the stream of a pipeline has not been opened yet since the process started, though it is there. */
  isAwaited(pipeline_id: string): boolean {
    return this.#awaited.has(pipeline_id);
  }

  async #open(pipeline_id: string, config: PipelineConfig, trimmed: number): Promise<void> {
    const { maxBytes = Infinity, sizes, patience } = this.#options;
    const { max_bytes, max_msgs } = limitsOf(config);
    let times = new ArrivalTimes();
    try {
      const stream = await EmbeddedStream.open(this.#disk, this.folder(pipeline_id), {
        limits: { max_bytes: Math.min(max_bytes, maxBytes), max_msgs },
        trimmed,
        onAppended: (last) => {
          times.came(last, Date.now());
          this.onAppended(pipeline_id, last);
        },
        onStuck: (error) => this.#stuck(pipeline_id, error),
        ...(sizes !== undefined && { sizes }),
        ...(patience !== undefined && { patience }),
      });
      times = new ArrivalTimes(await stream.arrivals());
      this.#times.set(pipeline_id, times);
      this.#streams.set(pipeline_id, stream);
      this.#closed.delete(pipeline_id);
    } catch (error) {
      this.#closed.add(pipeline_id);
      throw error;
    } finally {
      this.#awaited.delete(pipeline_id);
    }
  }

  #stuck(pipeline_id: string, { message: error }: EngineError): void {
    this.#log.error(
      { pipeline_id, error },
      "The disk has failed a write, and what it left cannot be taken back: the requests in it are answered when it can.",
    );
    this.#options.onStuck?.();
  }

  /**
   * Opens a pipeline's stream to drop its events. A damaged one is replaced by an empty one, whose sequences go on
   * after `named` and after all that it can have held. Throws DISK_FULL and STORAGE_UNAVAILABLE.
   */
  async openToRelease(
    pipeline_id: string,
    config: PipelineConfig,
    { trimmed, named }: { trimmed: number; named: number },
  ): Promise<void> {
    try {
      await this.open(pipeline_id, config, trimmed);
    } catch (error) {
      if (isPassing(error)) throw error;
      await recreateStream(this.#disk, this.folder(pipeline_id), named);
      await this.open(pipeline_id, config, trimmed);
      this.#log.warn(
        { pipeline_id, error: String(error) },
        "A damaged stream was dropped; the pipeline has an empty one now.",
      );
    }
  }

  /** Whether a pipeline has a stream: one that reads from Kafka has none. */
  has(pipeline_id: string): boolean {
    return this.#streams.has(pipeline_id);
  }

  /** What a pipeline's stream holds; nothing where it has none, undefined where it is not open. */
  state(pipeline_id: string): BoundedStreamState | undefined {
    if (this.#closed.has(pipeline_id) || this.#awaited.has(pipeline_id)) return undefined;
    const stream = this.#streams.get(pipeline_id);
    if (stream === undefined) return { messages: 0, bytes: 0, first: 1, last: 0 };
    const { state, maxBytes } = stream;
    return maxBytes === Infinity ? state : { ...state, max_bytes: maxBytes };
  }

  /** When the oldest event came that a pipeline's stream holds, in milliseconds since the epoch; undefined where it holds none. */
  oldest(pipeline_id: string): number | undefined {
    const stream = this.#streams.get(pipeline_id);
    return stream && this.#times.get(pipeline_id)?.oldestAfter(stream.state.first - 1);
  }

  get(pipeline_id: string): Stream {
    const stream = this.#streams.get(pipeline_id);
    if (stream !== undefined) return stream;
    if (!this.#closed.has(pipeline_id)) {
      throw new EngineError("STREAM_CLOSED", `pipeline ${pipeline_id} has no stream`);
    }
    throw new EngineError(
      "STORAGE_UNAVAILABLE",
      `the stream of pipeline ${pipeline_id} cannot be opened, and nothing is stored: send the request again later`,
    );
  }

  /** Events up to `position` are final: they are removed in the background. */
  settled(pipeline_id: string, position: number): void {
    this.#streams
      .get(pipeline_id)
      ?.trim(position)
      .catch((error: unknown) => {
        this.#log.warn(
          { pipeline_id, error: String(error) },
          "Settled events could not be removed; the removal is retried.",
        );
      });
  }

  /**
   * Removes the folders of interrupted deletions, and those without events, of interrupted creations. Returns the paths
   * of the other folders that are not in `known`: they hold events of unknown pipelines.
   */
  async keepOnly(known: ReadonlySet<string>, deleted: ReadonlySet<string>): Promise<string[]> {
    const kept: string[] = [];
    try {
      await makeFolders(this.#disk, this.#root);
      for (const name of (await this.#disk.readdir(this.#root)).toSorted()) {
        if (known.has(name)) continue;
        if (deleted.has(name) || !(await this.holdsEvents(name))) await this.#disk.rm(join(this.#root, name));
        else kept.push(join(this.#root, name));
      }
      await this.#disk.syncFolder(this.#root);
    } catch (error) {
      throw storageError(error);
    }
    return kept;
  }

  /** Whether a pipeline's folder may hold events, in its stream or in the log of its join. */
  async holdsEvents(pipeline_id: string): Promise<boolean> {
    if (await holdsEvents(this.#disk, this.folder(pipeline_id))) return true;
    return holdsSteps(this.#disk, this.joinFolder(pipeline_id));
  }

  /** Closes a pipeline's stream, which `open` opens again: no event is stored meanwhile. */
  async closeOne(pipeline_id: string): Promise<void> {
    const stream = this.#streams.get(pipeline_id);
    if (stream === undefined) return;
    this.#streams.delete(pipeline_id);
    this.#closed.add(pipeline_id);
    await stream.close();
  }

  /** A pipeline whose stream was closed has another id now: pushes to it are refused until its stream is open. */
  moved(from: string, to: string): void {
    if (this.#closed.delete(from)) this.#closed.add(to);
  }

  /**
   * Gives the folder of a pipeline the name of another id, for which there is no folder; durable when it resolves. Does
   * nothing where it has that name already, or where the pipeline has no folder.
   */
  async move(from: string, to: string): Promise<void> {
    try {
      const names = await this.#disk.readdir(this.#root);
      if (names.includes(from)) await this.#disk.rename(join(this.#root, from), join(this.#root, to));
      await this.#disk.syncFolder(this.#root);
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Closes a pipeline's stream and removes its folder; the removal is durable when this resolves. */
  async remove(pipeline_id: string): Promise<void> {
    // An error of the close does not matter: the folder is removed.
    await this.#streams
      .get(pipeline_id)
      ?.close()
      .catch(() => undefined);
    this.#streams.delete(pipeline_id);
    this.#times.delete(pipeline_id);
    this.#closed.delete(pipeline_id);
    this.#awaited.delete(pipeline_id);
    try {
      await this.#disk.rm(join(this.#root, pipeline_id));
      await this.#disk.syncFolder(this.#root);
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Closes all streams, also if one of them fails. */
  async close(): Promise<void> {
    const closing = [...this.#streams].map(async ([pipeline_id, stream]) => {
      try {
        await stream.close();
      } catch (error) {
        this.#log.warn(
          { pipeline_id, error: String(error) },
          "A stream could not be closed; the next start checks its files.",
        );
      }
    });
    await Promise.all(closing);
    this.#streams.clear();
  }
}

/** The limits that a config sets to its stream. */
export function limitsOf({ resources }: PipelineConfig): StreamLimits {
  const { max_bytes, max_msgs } = resources.nats.stream;
  const bytes = quantityBytes(max_bytes);
  return { max_bytes: bytes === 0 ? Infinity : bytes, max_msgs: max_msgs === -1 ? Infinity : max_msgs };
}
