import type { Event, PositionRange } from "./core/batch.ts";
import type { Rejection } from "./core/dead-letter.ts";
import type { Block, Sink } from "./core/sink.ts";
import type { Transform } from "./core/transform.ts";
import type { Telemetry, TransformedEvent } from "./telemetry/telemetry.ts";

/** The steps of one revision of a pipeline, in their order, and the sink behind them. */
export interface Line {
  revision: number;
  transforms: readonly Transform[];
  sink: Sink;
}

/**
 * A batch while it is put together: what was read so far, already transformed, so that a batch is full when it has
 * enough rows and not when enough events were read. `clock` is the one time that its transforms see.
 */
export class Assembly {
  readonly clock: number;
  readonly #oldest: number;
  readonly #line: Line;
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #passed: Event[] = [];
  readonly #rejections: Rejection[] = [];
  /** The events as they were received, by position, where a transform makes other ones of them. */
  readonly #received = new Map<number, Event>();
  #first = 0;
  #last = 0;
  #count = 0;
  #bytes = 0;
  #bytesMade = 0;
  #aged = 0;

  /** Events that are older than `maxAge` milliseconds at `clock` are settled without a row. */
  constructor(line: Line, clock: number, maxAge: number, pipeline_id: string, telemetry: Telemetry) {
    this.#line = line;
    this.#oldest = clock - maxAge;
    this.clock = clock;
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
  }

  /** Rows that it would make. */
  get rows(): number {
    return this.#passed.length;
  }

  /** Events that were read into it. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of what the transforms made of them. */
  get bytesMade(): number {
    return this.#bytesMade;
  }

  /** Events that were too old. */
  get aged(): number {
    return this.#aged;
  }

  get range(): PositionRange {
    return { first: this.#first, last: this.#last, count: this.#count };
  }

  add(events: readonly Event[]): void {
    if (events.length === 0) return;
    if (this.#count === 0) this.#first = events[0]!.position;
    this.#last = events.at(-1)!.position;
    this.#count += events.length;
    this.#bytes += sizeOf(events);
    if (this.#line.transforms.some(({ name }) => name === "stateless")) {
      for (const event of events) this.#received.set(event.position, event);
    }
    let current = events.filter(({ receivedAt }) => receivedAt >= this.#oldest);
    this.#aged += events.length - current.length;
    for (const transform of this.#line.transforms) current = this.#apply(transform, current);
    for (const event of current) this.#passed.push(event);
    this.#bytesMade += sizeOf(current);
  }

  /** Its rows, without those at the positions in `excluded`. */
  encode(excluded: readonly number[] = []): Block {
    const gone = new Set(excluded);
    const block = this.#line.sink.encode(this.#passed.filter(({ position }) => !gone.has(position)));
    const rejected = block.rejected.map((rejection) => this.withSource(rejection));
    return { ...block, rejected: [...this.#rejections, ...rejected] };
  }

  /** A rejection of an event that a transform made, with the event that was received: that one can be sent again. */
  withSource(rejection: Rejection): Rejection {
    const received = this.#received.get(rejection.position)?.text;
    if (received === undefined || received === rejection.original_message) return rejection;
    return { ...rejection, source_message: received };
  }

  #apply(transform: Transform, events: readonly Event[]): Event[] {
    const started = performance.now();
    const { passed, dropped, rejected } = transform.apply(events, this.clock);
    for (const rejection of rejected) this.#rejections.push(rejection);
    const component = components[transform.name];
    if (component !== undefined) {
      this.#telemetry.transformed({
        pipeline_id: this.#pipeline_id,
        component,
        passed: passed.length,
        dropped,
        rejected: rejected.length,
        bytesIn: sizeOf(events),
        bytesOut: sizeOf(passed),
        seconds: (performance.now() - started) / 1000,
      });
    }
    return passed;
  }
}

/** The names that metrics know the transforms by; the ingestor's check has none. */
const components: Partial<Record<Transform["name"], TransformedEvent["component"]>> = {
  filter: "filter",
  dedup: "dedup",
  stateless: "transform",
};

function sizeOf(events: readonly Event[]): number {
  let bytes = 0;
  for (const event of events) bytes += event.size;
  return bytes;
}
