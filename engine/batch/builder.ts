import type { Event } from "../event/event.ts";
import { threadDeath, type Rejection } from "../core/dead-letter.ts";
import { deadPositions, type BatchRecord, type WaitingDrop } from "../core/journal.ts";
import { Places, type Chunk, type PositionRange } from "../core/positions.ts";
import type { Block } from "../core/sink.ts";
import type { BatchContext } from "../core/transform.ts";
import { type TransformChain, chainOf, type CompiledPipeline, sizeOf, MeasuredTransform } from "./compiled-pipeline.ts";
import { partEvents, Rows } from "./rows.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** How a batch is put together. */
export interface BatchPlan extends BatchContext {
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
export class BatchBuilder {
  readonly plan: BatchPlan;
  readonly #line: CompiledPipeline;
  readonly #stages = new Map<TransformChain, readonly MeasuredTransform[]>();
  readonly #rows: Rows;
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #rejections: Rejection[] = [];
  readonly #waiting: WaitingDrop[] = [];
  readonly #repeats = new Set<number>();
  /** Of a replay: positions that it was told to take, and found. */
  readonly #asked = new Set<number>();
  /** Events of drops that wait, as they were received, by their positions. */
  readonly #received = new Map<number, Event>();
  readonly #places: Places;
  #count = 0;
  #bytes = 0;
  #aged = 0;

  constructor(line: CompiledPipeline, plan: BatchPlan, pipeline_id: string, telemetry: Telemetry) {
    this.plan = plan;
    this.#line = line;
    this.#rows = new Rows(line, plan);
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#places = new Places(plan.ranges);
    this.#keepRepeats(plan.waiting ?? [], []);
  }

  /** Rows that it would make. */
  get rows(): number {
    return this.#rows.count;
  }

  /** Events that were read into it. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of its rows. */
  get bytesMade(): number {
    return this.#rows.bytes;
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

  /** Takes events that must not be processed: they are letters, with `error` as the reason in words. */
  refuse(chunk: Chunk, error: string): void {
    this.#places.take(chunk);
    this.#count += chunk.events.length;
    this.#bytes += sizeOf(chunk.events);
    for (const { text, position, origin } of chunk.events) {
      this.#rejections.push({
        component: "ingestor",
        reason: threadDeath,
        error,
        original_message: text,
        position,
        ...(origin === undefined ? {} : { origin }),
      });
    }
  }

  /** Adds events that have their positions: dead letters by their numbers, and events that are judged again. */
  add(events: readonly Event[]): void {
    if (events.length === 0) return;
    this.#count += events.length;
    for (let at = 0; at < events.length;) {
      const { origin } = events[at]!;
      let end = at + 1;
      while (end < events.length && end - at < partEvents && events[end]!.origin === origin) end += 1;
      this.#addPart(events.slice(at, end));
      at = end;
    }
    for (const stages of this.#stages.values()) {
      for (const stage of stages) stage.tell(this.#telemetry, this.#pipeline_id);
    }
    this.#rows.tell(this.#telemetry, this.#pipeline_id);
  }

  /** Its rows, without those at the positions in `excluded`, for the columns as they are now. */
  encode(excluded: readonly number[] = []): Block {
    const block = this.#rows.block(new Set(excluded));
    const rejected = block.rejected.map((rejection) => this.withSource(rejection));
    return { ...block, rejected: [...this.#rejections, ...rejected] };
  }

  /** The letter of an event that became a row, with its text as the sink got it. */
  letter(event: Event, { reason, error }: Pick<Rejection, "reason" | "error">): Rejection {
    const { text, position } = this.#rows.made(event);
    return this.withSource({ component: "sink", reason, error, original_message: text, position });
  }

  /** A rejection by the sink, with where its event came from, and what was received: that can be sent again. */
  withSource(rejection: Rejection): Rejection {
    const event = this.#rows.at(rejection.position);
    if (event === undefined) return rejection;
    const { text, origin } = event;
    const from = origin === undefined ? rejection : { ...rejection, origin };
    return text === rejection.original_message ? from : { ...from, source_message: text };
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
    return [...this.#rows.positions()].filter((position) => !dead.has(position));
  }

  /** Events of drops that waited, as they were received. */
  readonly received = (positions: readonly number[]): Event[] =>
    positions.flatMap((position) => this.#received.get(position) ?? []);

  /** Of one origin. */
  #addPart(events: readonly Event[]): void {
    const { origin } = events[0]!;
    const size = sizeOf(events);
    this.#bytes += size;
    this.#keepRepeated(events);
    let current = this.#relevant(events);
    let bytes = current === events ? size : sizeOf(current);
    const reject = (rejections: readonly Rejection[]): void => {
      for (const one of rejections) this.#rejections.push(origin === undefined ? one : { ...one, origin });
    };
    for (const stage of this.#stagesFor(events[0]!)) {
      const result = stage.apply(current, bytes, this.plan);
      reject(result.rejected);
      if (result.waiting !== undefined) this.#keepRepeats(result.waiting, current);
      current = result.passed;
      bytes = result.bytes;
    }
    reject(this.#rows.add(current, bytes));
  }

  #stagesFor(event: Event): readonly MeasuredTransform[] {
    // What was judged before is not judged again.
    if (this.plan.only !== undefined) return [];
    const course = chainOf(this.#line, event);
    const stages = this.#stages.get(course) ?? course.transforms.map((transform) => new MeasuredTransform(transform));
    this.#stages.set(course, stages);
    return stages;
  }

  #keepRepeats(waiting: readonly WaitingDrop[], events: readonly Event[]): void {
    if (waiting.length === 0) return;
    for (const drop of waiting) {
      this.#waiting.push(drop);
      this.#repeats.add(drop.position);
    }
    this.#keepRepeated(events);
  }

  #keepRepeated(events: readonly Event[]): void {
    if (this.#repeats.size === 0) return;
    for (const event of events) if (this.#repeats.has(event.position)) this.#received.set(event.position, event);
  }

  #relevant(events: readonly Event[]): readonly Event[] {
    const { only, kept, oldest } = this.plan;
    const asked = only ?? kept;
    if (asked !== undefined) for (const { position } of events) if (asked.has(position)) this.#asked.add(position);
    if (only !== undefined) return events.filter(({ position }) => only.has(position));
    if (events.every(({ receivedAt }) => receivedAt >= oldest)) return events;
    const young = events.filter(({ receivedAt }) => receivedAt >= oldest);
    this.#aged += events.length - young.length;
    return young;
  }
}
