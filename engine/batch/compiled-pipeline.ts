import type { Event } from "../event/event.ts";
import type { BatchContext, Transform, TransformResult } from "../core/transform.ts";
import type { Telemetry, TransformedEvent } from "../telemetry/telemetry.ts";
import type { Sink } from "../core/sink.ts";

type Count = Omit<TransformedEvent, "pipeline_id" | "component">;

/** The names that metrics and logs know the transforms by. */
export const components: Record<Exclude<Transform["name"], "ingestor">, TransformedEvent["component"]> = {
  filter: "filter",
  dedup: "dedup",
  stateless: "transform",
};

/** One transform while a batch is put together: what it did with the events of a part is counted until it is told. */
export class MeasuredTransform {
  readonly #transform: Transform;
  readonly #component: TransformedEvent["component"] | undefined;
  #count: Count = nothing();

  constructor(transform: Transform) {
    this.#transform = transform;
    // The ingestor's check has no metrics of its own.
    this.#component = transform.name === "ingestor" ? undefined : components[transform.name];
  }

  /** `bytesIn` is the size of the events; the result has that of those that passed. */
  apply(events: readonly Event[], bytesIn: number, context: BatchContext): TransformResult & { bytes: number } {
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
    count.seconds += (performance.now() - started) / 1000;
    return { ...result, bytes };
  }

  /** Tells what it did since it told. */
  tell(telemetry: Telemetry, pipeline_id: string): void {
    const { passed, dropped, rejected } = this.#count;
    if (this.#component === undefined || passed + dropped + rejected === 0) return;
    telemetry.transformed({ pipeline_id, component: this.#component, ...this.#count });
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

/** The steps that the events of one source go through, in their order. */
export interface TransformChain {
  /** What drops and refuses events. */
  transforms: readonly Transform[];
  /** What makes others of those that are left. */
  stateless?: Transform;
}

/** The steps of one revision of a pipeline, and the sink behind them. */
export interface CompiledPipeline {
  revision: number;
  /** By the origin of events; `undefined` is for those of any other. */
  courses: ReadonlyMap<string | undefined, TransformChain>;
  sink: Sink;
}

/** The steps of an event. */
export function chainOf({ courses }: Pick<CompiledPipeline, "courses">, { origin }: Event): TransformChain {
  const course = courses.get(origin) ?? courses.get(undefined);
  if (course === undefined) throw new Error("expected a line with a course for events of any origin");
  return course;
}
