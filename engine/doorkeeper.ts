import type { PipelineConfig } from "../schemas/pipeline.ts";
import type { BackPressure } from "./back-pressure.ts";
import { EngineError } from "./core/errors.ts";
import type { Push } from "./core/push.ts";
import type { Register } from "./register.ts";
import type { StreamShelf } from "./stream-shelf.ts";

type SourceType = PipelineConfig["sources"][number]["type"];

interface DoorkeeperParts {
  register: Register;
  streams: StreamShelf;
  backPressure: BackPressure;
}

/** What the intakes share: who takes events, and how they are stored. It asks the register each time, and keeps nothing. */
export class Doorkeeper {
  readonly #parts: DoorkeeperParts;
  /** Pushes that are on their way to the disk. */
  readonly #storing = new Map<string, Set<Promise<unknown>>>();

  constructor(parts: DoorkeeperParts) {
    this.#parts = parts;
  }

  /** The types of a pipeline's sources; none where there is no such pipeline. */
  sourcesOf(pipeline_id: string): SourceType[] {
    return this.#parts.register.find(pipeline_id)?.config.sources.map(({ type }) => type) ?? [];
  }

  /** Whether a pipeline takes no events any more: it is terminated, or about to be deleted or made anew. */
  isOver(pipeline_id: string): boolean {
    const entry = this.#parts.register.find(pipeline_id);
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
