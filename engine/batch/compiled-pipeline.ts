import type { Event } from "../event/event.ts";
import type { Receiver } from "../core/dead-letter.ts";
import type { BatchContext, Transform, TransformResult } from "../core/transform.ts";
import type { Telemetry, TransformedEvent } from "../telemetry/telemetry.ts";
import type { Sink } from "../core/sink.ts";

type Count = Omit<TransformedEvent, "pipeline_id" | "component">;

export interface MeasuredResult extends TransformResult {
  bytes: number;
  seconds: number;
}

/** The names of the transforms in metrics and logs. */
export const components: Record<Exclude<Transform["name"], "ingestor">, TransformedEvent["component"]> = {
  filter: "filter",
  dedup: "dedup",
  stateless: "transform",
};

/** One transform while a batch is built: its work is counted, and reported once for many events. */
export class MeasuredTransform {
  readonly #transform: Transform;
  readonly #component: TransformedEvent["component"] | undefined;
  #count: Count = nothing();

  constructor(transform: Transform) {
    this.#transform = transform;
    // The ingestor's check has no metrics of its own but that of what it skips.
    this.#component = transform.name === "ingestor" ? undefined : components[transform.name];
  }

  /** Whether it is the check of what arrives, which comes before the transforms of the file. */
  get isIngestor(): boolean {
    return this.#component === undefined;
  }

  /** `bytesIn` is the size of the events; the result has that of those that passed, and the `seconds` that it took. */
  apply(events: readonly Event[], bytesIn: number, context: BatchContext): MeasuredResult {
    const started = performance.now();
    const result = this.#transform.apply(events, context);
    const { passed, dropped, rejected } = result;
    const isSame = passed.length === events.length && passed[0] === events[0];
    const bytes = isSame ? bytesIn : sizeOf(passed);
    const count = this.#count;
    count.passed += passed.length;
    count.dropped += dropped;
    count.rejected += rejected.length;
    count.bytesIn += bytesIn;
    count.bytesOut += bytes;
    const seconds = (performance.now() - started) / 1000;
    count.seconds += seconds;
    return { ...result, bytes, seconds };
  }

  /** Reports what it did since the last report. */
  report(telemetry: Telemetry, pipeline_id: string): void {
    const { passed, dropped, rejected } = this.#count;
    if (passed + dropped + rejected === 0) return;
    if (this.#component !== undefined)
      telemetry.transformed({ pipeline_id, component: this.#component, ...this.#count });
    else if (dropped > 0) telemetry.tombstonesSkipped({ pipeline_id, count: dropped });
    this.#count = nothing();
  }
}

export function sizeOf(events: readonly Event[]): number {
  let bytes = 0;
  for (const event of events) bytes += event.size;
  return bytes;
}

function nothing(): Count {
  return { passed: 0, dropped: 0, rejected: 0, bytesIn: 0, bytesOut: 0, seconds: 0 };
}

/** The transforms that the events of one origin go through, in their order. */
export interface TransformChain {
  /** What has received them: the component of their dead letters from before the transforms. */
  receiver: Receiver;
  /** The transforms that drop and refuse events. */
  transforms: readonly Transform[];
  /** The transform that creates new events from the remaining ones. */
  stateless?: Transform;
}

/** One revision of a pipeline: its transforms and its sink. */
export interface CompiledPipeline {
  revision: number;
  /** By the origin of events; `undefined` is for those of any other. */
  chains: ReadonlyMap<string | undefined, TransformChain>;
  sink: Sink;
}

/** The transforms of an event. */
export function chainOf({ chains }: Pick<CompiledPipeline, "chains">, { origin }: Event): TransformChain {
  const chain = chains.get(origin) ?? chains.get(undefined);
  if (chain === undefined) throw new Error("expected a pipeline with transforms for events of any origin");
  return chain;
}
