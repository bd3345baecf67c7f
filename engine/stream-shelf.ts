import { join } from "node:path";
import type { PipelineConfig } from "../schemas/pipeline.ts";
import { quantityBytes } from "../schemas/quantity.ts";
import type { Disk } from "./core/disk.ts";
import { EngineError } from "./core/errors.ts";
import type { Stream, StreamLimits, StreamState } from "./core/stream.ts";
import { EmbeddedStream } from "./streams/embedded/embedded-stream.ts";
import { makeFolders } from "./state/folders.ts";
import type { Log } from "./telemetry/log.ts";

/** The streams of all pipelines, by pipeline: `<data dir>/pipelines/<id>/stream`. */
export class StreamShelf {
  readonly #disk: Disk;
  readonly #root: string;
  readonly #log: Log;
  readonly #streams = new Map<string, Stream>();
  /** Called with the newest durable sequence of a pipeline's stream. */
  onAppended: (pipeline_id: string, last: number) => void = () => undefined;

  constructor(disk: Disk, root: string, log: Log) {
    this.#disk = disk;
    this.#root = root;
    this.#log = log;
  }

  folder(pipeline_id: string): string {
    return join(this.#root, pipeline_id, "stream");
  }

  /** Opens a pipeline's stream; events up to `trimmed` are settled. */
  async open(pipeline_id: string, config: PipelineConfig, trimmed: number): Promise<void> {
    const stream = await EmbeddedStream.open(this.#disk, this.folder(pipeline_id), {
      limits: limitsOf(config),
      trimmed,
      onAppended: (last) => this.onAppended(pipeline_id, last),
    });
    this.#streams.set(pipeline_id, stream);
  }

  /** Whether a pipeline has a stream: one that reads from Kafka has none. */
  has(pipeline_id: string): boolean {
    return this.#streams.has(pipeline_id);
  }

  /** What a pipeline's stream holds; nothing where it has none. */
  state(pipeline_id: string): StreamState {
    return this.#streams.get(pipeline_id)?.state ?? { messages: 0, bytes: 0, first: 1, last: 0 };
  }

  get(pipeline_id: string): Stream {
    const stream = this.#streams.get(pipeline_id);
    if (stream === undefined) throw new EngineError("STREAM_CLOSED", `pipeline ${pipeline_id} has no stream`);
    return stream;
  }

  /** Events up to `position` are final: their space is given back in the background. */
  settled(pipeline_id: string, position: number): void {
    this.#streams
      .get(pipeline_id)
      ?.trim(position)
      .catch((error: unknown) => {
        this.#log.warn(
          { pipeline_id, error: String(error) },
          "Settled events could not be removed; it is tried again.",
        );
      });
  }

  /** Removes the folders of pipelines that are not in `known`: their deletion was cut short. */
  async keepOnly(known: ReadonlySet<string>): Promise<void> {
    await makeFolders(this.#disk, this.#root);
    for (const name of await this.#disk.readdir(this.#root)) {
      if (!known.has(name)) await this.#disk.rm(join(this.#root, name));
    }
  }

  /** Closes and removes a pipeline's folder. */
  async remove(pipeline_id: string): Promise<void> {
    await this.#streams.get(pipeline_id)?.close();
    this.#streams.delete(pipeline_id);
    await this.#disk.rm(join(this.#root, pipeline_id));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#streams.values()].map((stream) => stream.close()));
    this.#streams.clear();
  }
}

/** The limits that a config sets to its stream. */
export function limitsOf({ resources }: PipelineConfig): StreamLimits {
  const { max_bytes, max_msgs } = resources.nats.stream;
  const bytes = quantityBytes(max_bytes);
  return { max_bytes: bytes === 0 ? Infinity : bytes, max_msgs: max_msgs === -1 ? Infinity : max_msgs };
}
