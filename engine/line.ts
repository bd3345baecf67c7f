import type { Event } from "./core/batch.ts";
import type { Rejection } from "./core/dead-letter.ts";
import type { Block, Sink } from "./core/sink.ts";
import { deadPositions, type BatchRecord, type WaitingDrop } from "./core/journal.ts";
import { Places, type Chunk, type PositionRange } from "./core/positions.ts";
import type { BatchContext, Transform } from "./core/transform.ts";
import type { Telemetry, TransformedEvent } from "./telemetry/telemetry.ts";

/** The steps of one revision of a pipeline, in their order, and the sink behind them. */
export interface Line {
  revision: number;
  transforms: readonly Transform[];
  sink: Sink;
}

/** How a batch is put together. */
export interface AssemblyPlan extends BatchContext {
  /** Events that were received before it are settled without a row, in milliseconds since the epoch. */
  oldest: number;
  /** Only these positions become rows, and nothing but what makes rows of them is asked: they were judged before. */
  only?: ReadonlySet<number>;
  /** Positions whose drops wait: their events are kept. */
  waiting?: readonly WaitingDrop[];
  /** Of a replay: the ranges of its record, by whose bases its events have their positions. */
  ranges?: readonly PositionRange[];
}

/**
 * A batch while it is put together: what was read so far, already transformed, so that a batch is full when it has
 * enough rows and not when enough events were read.
 */
export class Assembly {
  readonly plan: AssemblyPlan;
  readonly #line: Line;
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #passed: Event[] = [];
  readonly #rejections: Rejection[] = [];
  readonly #waiting: WaitingDrop[] = [];
  readonly #repeats = new Set<number>();
  /** Of a replay: positions that it was told to take, and found. */
  readonly #asked = new Set<number>();
  /** Whether a transform makes others of the events, so that each may be needed as it was received. */
  readonly #hasStateless: boolean;
  /** Events as they were received, part by part, where each may be needed. */
  readonly #parts: (readonly Event[])[] = [];
  /** Those that were asked for, and those whose drops wait, by their positions. */
  readonly #received = new Map<number, Event>();
  readonly #places: Places;
  #count = 0;
  #bytes = 0;
  #bytesMade = 0;
  #aged = 0;

  constructor(line: Line, plan: AssemblyPlan, pipeline_id: string, telemetry: Telemetry) {
    this.#line = line;
    this.plan = plan;
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#places = new Places(plan.ranges);
    this.#hasStateless = line.transforms.some(({ name }) => name === "stateless");
    for (const drop of plan.waiting ?? []) {
      this.#waiting.push(drop);
      this.#repeats.add(drop.position);
    }
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

  /** What was read into it. */
  get ranges(): PositionRange[] {
    return this.#places.ranges;
  }

  /** Drops that wait until what they repeat is in the table. */
  get waiting(): readonly WaitingDrop[] {
    return this.#waiting;
  }

  /** Adds what a source handed out. */
  take(chunk: Chunk): void {
    this.#places.take(chunk);
    this.add(chunk.events);
  }

  /** Adds events that have their positions: dead letters by their numbers, and events that are judged again. */
  add(events: readonly Event[]): void {
    if (events.length === 0) return;
    this.#count += events.length;
    this.#bytes += sizeOf(events);
    this.#keepReceived(events);
    let current = this.#relevant(events);
    for (const transform of this.#line.transforms) {
      if (this.plan.only === undefined || transform.name === "stateless") current = this.#apply(transform, current);
    }
    for (const event of current) this.#passed.push(event);
    this.#bytesMade += sizeOf(current);
  }

  /** Its rows, without those at the positions in `excluded`. */
  encode(excluded: readonly number[] = []): Block {
    const gone = new Set(excluded);
    const left = gone.size === 0 ? this.#passed : this.#passed.filter(({ position }) => !gone.has(position));
    const block = this.#line.sink.encode(left);
    const rejected = block.rejected.map((rejection) => this.withSource(rejection));
    return { ...block, rejected: [...this.#rejections, ...rejected] };
  }

  /** A rejection of an event that a transform made, with the event that was received: that one can be sent again. */
  withSource(rejection: Rejection): Rejection {
    const received = this.#eventAt(rejection.position)?.text;
    if (received === undefined || received === rejection.original_message) return rejection;
    return { ...rejection, source_message: received };
  }

  /** Events that were asked for and are there: of its range, or of `only`. */
  get asked(): number {
    return this.plan.only === undefined ? this.#count : this.#asked.size;
  }

  /** Whether the event at a position was read. Known for those alone that become rows or wait. */
  has(position: number): boolean {
    return this.#asked.has(position);
  }

  /** Positions of its rows, as the record tells which of them never became one. */
  rowPositions(record: BatchRecord): number[] {
    const dead = new Set(deadPositions(record));
    return this.#passed.map(({ position }) => position).filter((position) => !dead.has(position));
  }

  /** Events of drops that waited, as they were received. */
  readonly received = (positions: readonly number[]): Event[] =>
    positions.flatMap((position) => this.#eventAt(position) ?? []);

  /** Where stateless makes others of them every event may be needed later, else only those whose drops wait. */
  #keepReceived(events: readonly Event[]): void {
    if (this.#hasStateless) this.#parts.push(events);
    else this.#keepRepeated(events);
  }

  #keepRepeated(events: readonly Event[]): void {
    if (this.#repeats.size === 0) return;
    for (const event of events) if (this.#repeats.has(event.position)) this.#received.set(event.position, event);
  }

  /** The event as it was received. Few are ever asked for, so all are noted by position only once one is. */
  #eventAt(position: number): Event | undefined {
    for (const part of this.#parts.splice(0)) for (const event of part) this.#received.set(event.position, event);
    return this.#received.get(position);
  }

  #relevant(events: readonly Event[]): Event[] {
    const { only, kept, oldest } = this.plan;
    for (const { position } of events) if ((only ?? kept)?.has(position) === true) this.#asked.add(position);
    if (only !== undefined) return events.filter(({ position }) => only.has(position));
    const young = events.filter(({ receivedAt }) => receivedAt >= oldest);
    this.#aged += events.length - young.length;
    return young;
  }

  #keepRepeats(waiting: readonly WaitingDrop[], events: readonly Event[]): void {
    for (const drop of waiting) {
      this.#waiting.push(drop);
      this.#repeats.add(drop.position);
    }
    if (!this.#hasStateless) this.#keepRepeated(events);
  }

  #apply(transform: Transform, events: readonly Event[]): Event[] {
    const started = performance.now();
    const { passed, dropped, rejected, waiting = [] } = transform.apply(events, this.plan);
    for (const rejection of rejected) this.#rejections.push(rejection);
    if (waiting.length > 0) this.#keepRepeats(waiting, events);
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
