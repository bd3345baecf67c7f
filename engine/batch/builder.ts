import { isUtf8 } from "node:buffer";
import type { Event } from "../event/event.ts";
import { letterBytes, type Rejection, tooLarge } from "../core/dead-letter.ts";
import { deadPositions, type BatchRecord, type WaitingDrop } from "../core/journal.ts";
import { Places, type Chunk, type Place, type PositionRange } from "../core/positions.ts";
import type { Block } from "../core/sink.ts";
import type { BatchContext } from "../core/transform.ts";
import { type TransformChain, chainOf, type CompiledPipeline, sizeOf, MeasuredTransform } from "./compiled-pipeline.ts";
import { partEvents, Rows } from "./rows.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** How a batch is built. */
export interface BatchPlan extends BatchContext {
  /** Events that were received before it are settled without a row, in milliseconds since the epoch. */
  oldest: number;
  /** Only these events become rows, without filter and dedup, which decided on them before. */
  only?: ReadonlySet<Place>;
  /** Duplicates that wait: their events are kept. */
  waiting?: readonly WaitingDrop[];
  /** Of a replay: the ranges of its record, whose bases give its events their places. */
  ranges?: readonly PositionRange[];
}

/** Why an event must not be processed. */
export type Refusal = Pick<Rejection, "reason" | "error">;

/** The most bytes of the beginning of an event that is too large. */
const beginning = 64 * 1024;

/** What a letter holds of an event that is too large. It ends with a whole character. */
function beginningOf({ bytes }: Event): Pick<Rejection, "original_message" | "encoding"> {
  let end = Math.min(beginning, bytes.length);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  const kept = bytes.subarray(0, end);
  if (isUtf8(kept)) return { original_message: kept.toString() };
  return { original_message: kept.toString("base64"), encoding: "base64" };
}

/**
 * A batch while it is built. Events are transformed as they are read, so that a batch is full when it has enough rows,
 * not when enough events were read.
 */
export class BatchBuilder {
  readonly plan: BatchPlan;
  readonly #compiled: CompiledPipeline;
  readonly #transforms = new Map<TransformChain, readonly MeasuredTransform[]>();
  readonly #rows: Rows;
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #rejections: Rejection[] = [];
  readonly #waiting: WaitingDrop[] = [];
  readonly #duplicates = new Set<Place>();
  /** Of a replay: the events that it should contain and that were read. */
  readonly #found = new Set<Place>();
  /** The duplicates that wait, as they were received. */
  readonly #received = new Map<Place, Event>();
  readonly #places: Places;
  #count = 0;
  #bytes = 0;
  #ingested = 0;
  #ingestedBytes = 0;
  #checkSeconds = 0;
  #aged = 0;
  #rejectedBytes = 0;

  constructor(compiled: CompiledPipeline, plan: BatchPlan, pipeline_id: string, telemetry: Telemetry) {
    this.plan = plan;
    this.#compiled = compiled;
    this.#rows = new Rows(compiled, plan);
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#places = new Places(plan.ranges);
    this.#keepDuplicates(plan.waiting ?? [], []);
  }

  /** Rows so far. */
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

  /** The events that the ingestor received, and not the receiver of OTLP, their bytes, and the seconds that their check took. */
  get ingested(): { events: number; bytes: number; seconds: number } {
    return { events: this.#ingested, bytes: this.#ingestedBytes, seconds: this.#checkSeconds };
  }

  /** The bytes of the events as they came to the sink, and the seconds that mapping them to columns took. */
  get mapped(): { bytes: number; seconds: number } {
    return this.#rows.mapped;
  }

  /** Bytes of its rows. */
  get bytesMade(): number {
    return this.#rows.bytes;
  }

  /** Bytes of its dead letters. */
  get rejectedBytes(): number {
    return this.#rejectedBytes + this.#rows.rejectedBytes;
  }

  /** Events that were too old. */
  get aged(): number {
    return this.#aged;
  }

  /** What was read into it. */
  get ranges(): PositionRange[] {
    return this.#places.ranges;
  }

  /** Duplicates that wait until their original is in the table. */
  get waiting(): readonly WaitingDrop[] {
    return this.#waiting;
  }

  /** Adds a chunk of the source. */
  take(chunk: Chunk): void {
    this.#places.take(chunk);
    this.add(chunk.events);
  }

  /** Adds events that must not be processed: they become dead letters. */
  refuse(chunk: Chunk, refusal: Refusal): void {
    this.#places.take(chunk);
    this.#count += chunk.events.length;
    const isWhole = refusal.reason !== tooLarge;
    // Of one that is too large the batch keeps no more than the letter.
    if (isWhole) this.#bytes += sizeOf(chunk.events);
    for (const event of chunk.events) {
      const { position, origin } = event;
      this.#reject({
        component: chainOf(this.#compiled, event).receiver,
        ...refusal,
        ...(isWhole ? { original_message: event.text } : beginningOf(event)),
        position,
        ...(origin === undefined ? {} : { origin }),
      });
    }
  }

  /** Adds events that have places already: dead letters, whose places are their numbers, and released duplicates. */
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
    for (const transforms of this.#transforms.values()) {
      for (const transform of transforms) transform.report(this.#telemetry, this.#pipeline_id);
    }
    this.#rows.report(this.#telemetry, this.#pipeline_id);
  }

  /** Its rows, without the `excluded` ones, for the columns as they are now. */
  encode(excluded: readonly Place[] = []): Block {
    const block = this.#rows.block(new Set(excluded));
    const rejected = block.rejected.map((rejection) => this.withSource(rejection));
    return { ...block, rejected: [...this.#rejections, ...rejected] };
  }

  /** The dead letter of an event that became a row, with the text that the sink got. */
  letter(event: Event, { reason, error }: Pick<Rejection, "reason" | "error">): Rejection {
    const { text, position } = this.#rows.made(event);
    return this.withSource({ component: "sink", reason, error, original_message: text, position });
  }

  /** A rejection by the sink, with the origin and the received text of its event, which can be reprocessed. */
  withSource(rejection: Rejection): Rejection {
    const event = this.#rows.at(rejection.position);
    if (event === undefined) return rejection;
    const { text, origin } = event;
    const from = origin === undefined ? rejection : { ...rejection, origin };
    return text === rejection.original_message ? from : { ...from, source_message: text };
  }

  /** How many of the events that it should contain were read: of its ranges, or of `only`. */
  get found(): number {
    return this.plan.only === undefined ? this.#count : this.#found.size;
  }

  /** Whether an event was read. Known only for events that become rows. */
  has(place: Place): boolean {
    return this.#found.has(place);
  }

  /** Whether a row can be made of the event at a place. */
  mayBeRow(place: Place): boolean {
    return this.#rows.at(place) !== undefined;
  }

  /** The events that became rows, without the dead letters of the record. */
  rowPositions(record: BatchRecord): Place[] {
    const dead = new Set(deadPositions(record));
    return [...this.#rows.positions()].filter((position) => !dead.has(position));
  }

  /** Duplicates that waited, as they were received. */
  received(places: readonly Place[]): Event[] {
    return places.flatMap((place) => this.#received.get(place) ?? []);
  }

  /** Of one origin. */
  #addPart(events: readonly Event[]): void {
    const { origin } = events[0]!;
    const chain = chainOf(this.#compiled, events[0]!);
    const { receiver } = chain;
    const size = sizeOf(events);
    this.#bytes += size;
    if (receiver === "ingestor") {
      this.#ingested += events.length;
      this.#ingestedBytes += size;
    }
    this.#keepReceived(events);
    let current = this.#relevant(events);
    let bytes = current === events ? size : sizeOf(current);
    const reject = (rejections: readonly Rejection[]): void => {
      for (const one of rejections) {
        // The steps before the transforms do not know what has received the events.
        const component = one.component === "ingestor" ? receiver : one.component;
        this.#reject({ ...one, component, ...(origin !== undefined && { origin }) });
      }
    };
    for (const transform of this.#transformsFor(chain)) {
      const result = transform.apply(current, bytes, this.plan);
      reject(result.rejected);
      if (result.waiting !== undefined) this.#keepDuplicates(result.waiting, current);
      if (transform.isIngestor && receiver === "ingestor") this.#checkSeconds += result.seconds;
      current = result.passed;
      bytes = result.bytes;
    }
    reject(this.#rows.add(current, bytes));
  }

  #reject(rejection: Rejection): void {
    this.#rejections.push(rejection);
    this.#rejectedBytes += letterBytes(rejection);
  }

  #transformsFor(chain: TransformChain): readonly MeasuredTransform[] {
    // Filter and dedup have decided before.
    if (this.plan.only !== undefined) return [];
    const known = this.#transforms.get(chain);
    if (known !== undefined) return known;
    const transforms = chain.transforms.map((transform) => new MeasuredTransform(transform));
    this.#transforms.set(chain, transforms);
    return transforms;
  }

  #keepDuplicates(waiting: readonly WaitingDrop[], events: readonly Event[]): void {
    if (waiting.length === 0) return;
    for (const drop of waiting) {
      this.#waiting.push(drop);
      this.#duplicates.add(drop.position);
    }
    this.#keepReceived(events);
  }

  #keepReceived(events: readonly Event[]): void {
    if (this.#duplicates.size === 0) return;
    for (const event of events) if (this.#duplicates.has(event.position)) this.#received.set(event.position, event);
  }

  #relevant(events: readonly Event[]): readonly Event[] {
    const { only, kept, oldest } = this.plan;
    const wanted = only ?? kept;
    if (wanted !== undefined) for (const { position } of events) if (wanted.has(position)) this.#found.add(position);
    if (only !== undefined) return events.filter(({ position }) => only.has(position));
    if (events.every(({ receivedAt }) => receivedAt >= oldest)) return events;
    const young = events.filter(({ receivedAt }) => receivedAt >= oldest);
    this.#aged += events.length - young.length;
    return young;
  }
}
