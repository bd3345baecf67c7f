import type { PipelineConfig } from "../../schemas/pipeline.ts";
import type { Receiver } from "../core/dead-letter.ts";
import type { Push } from "../core/push.ts";
import type { CatalogEntry } from "../catalog/catalog.ts";
import type { PipelineRegistry } from "../catalog/registry.ts";
import { limitsOf, type Streams } from "../streams/streams.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { EngineError, recreatedMeanwhile } from "../core/errors.ts";
import type { RateLimits } from "./rate-limits.ts";

/** How often full streams are checked for room, in milliseconds. */
const checkEvery = 100;
/**
 * An episode ends after there was room for this long, in milliseconds: a slow sink, which frees little at a time,
 * causes one episode, not many.
 */
const calm = 1_000;

/** The most bytes that are stored with each event. */
const overhead = 64;

/** A run of refused pushes. Times are in milliseconds of the monotonic clock. */
interface Episode {
  component: Receiver;
  since: number;
  /** Size of the last refused push: an episode ends when that much fits. */
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
 * Reports the beginning and the end of each episode of back-pressure of a pipeline.
 *
 *     flows ──a push is refused──> full ──a push is stored, or would fit──> room ──for a second──> flows
 *                                   ^────────────a push is refused────────────┘
 *
 * An episode ends at the time when there was room again, which checks of the stream find also without a push.
 */
export class BackPressure {
  readonly #options: BackPressureOptions;
  readonly #episodes = new Map<string, Episode>();
  #checking: NodeJS.Timeout | undefined;

  constructor(options: BackPressureOptions) {
    this.#options = options;
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
    this.#options.telemetry.backpressure({ pipeline_id, component, active: true, seconds: 0 });
    this.#checking ??= setInterval(() => this.#check(), checkEvery).unref();
  }

  /** A push was stored. */
  stored(pipeline_id: string): void {
    const episode = this.#episodes.get(pipeline_id);
    if (episode !== undefined) episode.roomSince ??= performance.now();
  }

  close(): void {
    clearInterval(this.#checking);
  }

  #check(): void {
    const now = performance.now();
    for (const [pipeline_id, episode] of this.#episodes) {
      const entry = this.#options.registry.find(pipeline_id);
      if (entry === undefined) {
        // The pipeline was deleted: its end is not reported.
        this.#episodes.delete(pipeline_id);
        continue;
      }
      if (this.#hasRoom(entry.config, episode)) episode.roomSince ??= now;
      if (episode.roomSince !== undefined && now - episode.roomSince >= calm) {
        this.#end(pipeline_id, episode, episode.roomSince);
      }
    }
    if (this.#episodes.size > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }

  #end(pipeline_id: string, { component, since }: Episode, roomSince: number): void {
    this.#episodes.delete(pipeline_id);
    const seconds = Math.max(0, roomSince - since) / 1000;
    this.#options.telemetry.backpressure({ pipeline_id, component, active: false, seconds });
  }

  #hasRoom(config: PipelineConfig, { events, bytes }: Episode): boolean {
    const { max_msgs, ...limits } = limitsOf(config);
    const held = this.#options.streams.state(config.pipeline_id);
    if (held === undefined) return false;
    const { max_bytes = limits.max_bytes } = held;
    return held.messages === 0 || (held.messages + events <= max_msgs && held.bytes + bytes <= max_bytes);
  }
}

type SourceType = PipelineConfig["sources"][number]["type"];

interface IngestGateOptions {
  registry: PipelineRegistry;
  streams: Streams;
  /** Opens the stream of a pipeline. Throws what `Streams.open` throws. */
  openStream: (entry: CatalogEntry) => Promise<void>;
  backPressure: BackPressure;
  rates: RateLimits;
}

/** Accepts and stores pushed events. Whether a pipeline accepts them is read from the registry at each push. */
export class IngestGate {
  readonly #options: IngestGateOptions;
  /** Pipelines that are being deleted to be created again. */
  readonly #recreated = new Set<string>();
  /** Pushes that are being stored. */
  readonly #storing = new Map<string, Set<Promise<unknown>>>();

  constructor(options: IngestGateOptions) {
    this.#options = options;
  }

  /** Whether a pipeline has a source of a type that `is` accepts; false where there is no such pipeline. */
  hasSource(pipeline_id: string, is: (type: SourceType) => boolean): boolean {
    return this.configOf(pipeline_id)?.sources.some(({ type }) => is(type)) ?? false;
  }

  /** The config of a pipeline as it is now; undefined where there is no such pipeline. */
  configOf(pipeline_id: string): PipelineConfig | undefined {
    return this.#options.registry.find(pipeline_id)?.config;
  }

  /** Whether a pipeline accepts no more events: it is terminated, or about to be deleted or recreated. */
  isOver(pipeline_id: string): boolean {
    const entry = this.#options.registry.find(pipeline_id);
    if (entry === undefined) return true;
    return entry.status === "Terminated" || entry.status === "Terminating" || entry.intake === "closed";
  }

  /** From now on a pipeline is being recreated, or no more. */
  recreating(pipeline_id: string, isOn: boolean): void {
    if (isOn) this.#recreated.add(pipeline_id);
    else this.#recreated.delete(pipeline_id);
  }

  /** Whether a pipeline takes no events now, and will again soon: it is between its deletion and its creation. */
  isBetween(pipeline_id: string): boolean {
    return this.#recreated.has(pipeline_id) && this.isOver(pipeline_id);
  }

  /**
   * Resolves when a push is on disk. `component` is the one that reports back-pressure. Throws what `Stream.append`
   * throws, and RATE_LIMITED.
   */
  async store(pipeline_id: string, push: Push, component: Receiver): Promise<void> {
    // Its intake may have been closed while the push was received.
    if (this.isBetween(pipeline_id)) throw recreatedMeanwhile(pipeline_id);
    if (this.isOver(pipeline_id)) {
      throw new EngineError("STREAM_CLOSED", `pipeline ${pipeline_id} accepts no more events`);
    }
    const { streams, backPressure, rates } = this.#options;
    rates.take(pipeline_id, { events: push.ends.length, bytes: push.bytes.length });
    if (streams.isAwaited(pipeline_id)) await this.#opened(pipeline_id);
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
    backPressure.stored(pipeline_id);
  }

  /** After a start of the process: the stream of a sender is opened before others. What fails, `Streams.get` says. */
  async #opened(pipeline_id: string): Promise<void> {
    const { registry, openStream } = this.#options;
    await openStream(registry.get(pipeline_id)).catch(() => undefined);
  }

  /** Resolves when every push that a pipeline has accepted is stored. */
  async stored(pipeline_id: string): Promise<void> {
    const storing = this.#storing.get(pipeline_id);
    if (storing !== undefined) await Promise.allSettled(storing);
  }
}
