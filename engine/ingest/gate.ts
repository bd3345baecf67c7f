import type { PipelineConfig } from "../../schemas/pipeline.ts";
import type { Push } from "../core/push.ts";
import type { PipelineRegistry } from "../catalog/registry.ts";
import { limitsOf, type Streams } from "../streams/streams.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { EngineError } from "../core/errors.ts";

/** How often the streams that refuse are looked at, in milliseconds. */
const lookEvery = 100;
/** Room for so long ends an episode, in milliseconds: a sink that makes room bit by bit makes no episode of each bit. */
const calm = 1_000;

/** Bytes that a stream may need besides those of an event, at the most. */
const overhead = 64;

/** Since when a stream refuses pushes. Times are in milliseconds of the monotonic clock. */
interface Episode {
  component: "ingestor" | "otlp-receiver";
  since: number;
  /** The push that was refused last: as much has to fit. */
  events: number;
  bytes: number;
  /** Since when there is room; undefined while there is none. */
  roomSince: number | undefined;
}

interface BackPressureOptions {
  registry: Pick<PipelineRegistry, "find">;
  streams: Pick<Streams, "state">;
  telemetry: Pick<Telemetry, "backpressure">;
}

/**
 * Tells of each episode of back-pressure once when it begins and once when it is over: a run of refused pushes of one
 * pipeline.
 *
 *     flows ──a push is refused──> full ──a push is taken, or would fit──> room ──for a second──> flows
 *                                   ^────────────a push is refused───────────┘
 *
 * Its end is when the room came. Nobody needs to push for that: the stream is looked at while an episode lasts.
 */
export class BackPressure {
  readonly #parts: BackPressureOptions;
  readonly #episodes = new Map<string, Episode>();
  #looking: NodeJS.Timeout | undefined;

  constructor(parts: BackPressureOptions) {
    this.#parts = parts;
  }

  /** A push found its stream full. */
  refused(pipeline_id: string, { ends, bytes }: Push, component: Episode["component"]): void {
    const size = { events: ends.length, bytes: bytes.length + overhead * ends.length };
    const episode = this.#episodes.get(pipeline_id);
    if (episode !== undefined) {
      Object.assign(episode, size, { roomSince: undefined });
      return;
    }
    this.#episodes.set(pipeline_id, { component, since: performance.now(), ...size, roomSince: undefined });
    this.#parts.telemetry.backpressure({ pipeline_id, component, active: true, seconds: 0 });
    this.#looking ??= setInterval(() => this.#look(), lookEvery).unref();
  }

  /** A push was stored. */
  taken(pipeline_id: string): void {
    const episode = this.#episodes.get(pipeline_id);
    if (episode !== undefined) episode.roomSince ??= performance.now();
  }

  close(): void {
    clearInterval(this.#looking);
  }

  #look(): void {
    const now = performance.now();
    for (const [pipeline_id, episode] of this.#episodes) {
      const entry = this.#parts.registry.find(pipeline_id);
      if (entry === undefined) {
        // It was deleted, and nothing is told of it any more.
        this.#episodes.delete(pipeline_id);
        continue;
      }
      if (this.#hasRoom(entry.config, episode)) episode.roomSince ??= now;
      if (episode.roomSince !== undefined && now - episode.roomSince >= calm) {
        this.#end(pipeline_id, episode, episode.roomSince);
      }
    }
    if (this.#episodes.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  #end(pipeline_id: string, { component, since }: Episode, roomSince: number): void {
    this.#episodes.delete(pipeline_id);
    const seconds = Math.max(0, roomSince - since) / 1000;
    this.#parts.telemetry.backpressure({ pipeline_id, component, active: false, seconds });
  }

  #hasRoom(config: PipelineConfig, { events, bytes }: Episode): boolean {
    const { max_bytes, max_msgs } = limitsOf(config);
    const held = this.#parts.streams.state(config.pipeline_id);
    return held.messages === 0 || (held.messages + events <= max_msgs && held.bytes + bytes <= max_bytes);
  }
}

type SourceType = PipelineConfig["sources"][number]["type"];

interface IngestGateOptions {
  registry: PipelineRegistry;
  streams: Streams;
  backPressure: BackPressure;
}

/** What the intakes share: who takes events, and how they are stored. It asks the registry each time, and keeps nothing. */
export class IngestGate {
  readonly #parts: IngestGateOptions;
  /** Pushes that are on their way to the disk. */
  readonly #storing = new Map<string, Set<Promise<unknown>>>();

  constructor(parts: IngestGateOptions) {
    this.#parts = parts;
  }

  /** The types of a pipeline's sources; none where there is no such pipeline. */
  sourcesOf(pipeline_id: string): SourceType[] {
    return this.#parts.registry.find(pipeline_id)?.config.sources.map(({ type }) => type) ?? [];
  }

  /** Whether a pipeline takes no events any more: it is terminated, or about to be deleted or made anew. */
  isOver(pipeline_id: string): boolean {
    const entry = this.#parts.registry.find(pipeline_id);
    if (entry === undefined) return true;
    return entry.status === "Terminated" || entry.status === "Terminating" || entry.intake === "closed";
  }

  /** Resolves once a push is on disk, of which `component` tells. Throws what `Stream.append` throws. */
  async store(pipeline_id: string, push: Push, component: "ingestor" | "otlp-receiver"): Promise<void> {
    // Its intake may have been closed while the push was read.
    if (this.isOver(pipeline_id)) {
      throw new EngineError("STREAM_CLOSED", `pipeline ${pipeline_id} takes no events any more`);
    }
    const { streams, backPressure } = this.#parts;
    const append = streams.get(pipeline_id).append(push);
    const storing = this.#storing.get(pipeline_id) ?? new Set();
    this.#storing.set(pipeline_id, storing);
    storing.add(append);
    try {
      await append;
    } catch (error) {
      if (error instanceof EngineError && error.code === "STREAM_FULL") {
        backPressure.refused(pipeline_id, push, component);
      }
      throw error;
    } finally {
      storing.delete(append);
      if (storing.size === 0) this.#storing.delete(pipeline_id);
    }
    backPressure.taken(pipeline_id);
  }

  /** Resolves when no push of a pipeline is on its way any more. */
  async stored(pipeline_id: string): Promise<void> {
    const storing = this.#storing.get(pipeline_id);
    if (storing !== undefined) await Promise.allSettled(storing);
  }
}
