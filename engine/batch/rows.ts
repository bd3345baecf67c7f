import { type Event, EventList } from "../event/event.ts";
import { letterBytes, type Rejection } from "../core/dead-letter.ts";
import type { Place } from "../core/positions.ts";
import { blockOf, type Block, type RowWriter } from "../core/sink.ts";
import type { BatchContext } from "../core/transform.ts";
import { chainOf, type CompiledPipeline, MeasuredTransform } from "./compiled-pipeline.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/**
 * Events that go through all transforms at once: few enough for their results to be short-lived and in the CPU cache.
 */
export const partEvents = 512;

/**
 * The rows of a batch while it is built. The result of the stateless transform is encoded at once and not kept: in the
 * few cases where it is needed again, the event is transformed again.
 */
export class Rows {
  /** The events that became rows or were refused by the sink, as they were before stateless. */
  readonly events = new EventList();
  readonly #compiled: CompiledPipeline;
  readonly #context: BatchContext;
  /** The stateless transforms, by the origin of their events. */
  readonly #transforms = new Map<string | undefined, MeasuredTransform>();
  /** The rows of all `events`; undefined once they were handed out. */
  #writer: RowWriter | undefined;
  /** Rejections by the sink of the events that `#writer` was given. */
  readonly #rejected: Rejection[] = [];
  #rejectedBytes = 0;
  #mappedBytes = 0;
  #mappingSeconds = 0;
  /** By place; undefined until they are first needed, as most batches need none. */
  #indexes: Map<Place, number> | undefined;

  constructor(compiled: CompiledPipeline, context: BatchContext) {
    this.#compiled = compiled;
    this.#context = context;
    this.#writer = compiled.sink.begin(context.clock);
  }

  get count(): number {
    return this.events.length;
  }

  /** Bytes of the rows. */
  get bytes(): number {
    return this.#writer?.size ?? 0;
  }

  /** Bytes of the dead letters of events that the sink refused, without what the transform had changed. */
  get rejectedBytes(): number {
    return this.#rejectedBytes;
  }

  /** The bytes of the events as they came to the sink, and the seconds that mapping them to columns took. */
  get mapped(): { bytes: number; seconds: number } {
    return { bytes: this.#mappedBytes, seconds: this.#mappingSeconds };
  }

  /**
   * Adds the rows of events of one origin, `bytes` long. Returns the rejections of those on which the transform failed.
   */
  add(events: readonly Event[], bytes: number): readonly Rejection[] {
    const transform = events[0] === undefined ? undefined : this.#statelessFor(events[0]);
    const changed = transform?.apply(events, bytes, this.#context);
    const { passed: made, rejected } = changed ?? { passed: events, rejected: [] };
    this.#mappedBytes += changed?.bytes ?? bytes;
    const gone = new Set(rejected.map(({ position }) => position));
    for (const event of events) if (gone.size === 0 || !gone.has(event.position)) this.events.push(event);
    const started = performance.now();
    const refused = this.#writer!.add(made);
    this.#mappingSeconds += (performance.now() - started) / 1000;
    for (const rejection of refused) {
      this.#rejected.push(rejection);
      this.#rejectedBytes += letterBytes(rejection);
    }
    return rejected;
  }

  /** Reports what the stateless transforms did since the last report. */
  report(telemetry: Telemetry, pipeline_id: string): void {
    for (const transform of this.#transforms.values()) transform.report(telemetry, pipeline_id);
  }

  /** The rows of all events but the `excluded` ones, for the columns as they are now. */
  block(excluded: ReadonlySet<Place>): Block {
    const writer = this.#writer;
    this.#writer = undefined;
    if (writer?.isCurrent === true && excluded.size === 0) return blockOf(this.events, writer, this.#rejected);
    return this.#again(this.events.without(excluded));
  }

  /** An event after the stateless transform, as the sink got it. */
  made(event: Event): Event {
    return chainOf(this.#compiled, event).stateless?.apply([event], this.#context).passed[0] ?? event;
  }

  /** The event at a place, as it was before stateless. */
  at(place: Place): Event | undefined {
    this.#indexes ??= new Map(Array.from(this.positions(), (of, index) => [of, index]));
    const index = this.#indexes.get(place);
    return index === undefined ? undefined : this.events.at(index);
  }

  *positions(): Generator<Place> {
    for (let index = 0; index < this.events.length; index += 1) yield this.events.positionAt(index);
  }

  #statelessFor(event: Event): MeasuredTransform | undefined {
    const { stateless } = chainOf(this.#compiled, event);
    const known = this.#transforms.get(event.origin);
    if (known !== undefined || stateless === undefined) return known;
    const transform = new MeasuredTransform(stateless);
    this.#transforms.set(event.origin, transform);
    return transform;
  }

  #again(events: EventList): Block {
    const writer = this.#compiled.sink.begin(this.#context.clock);
    const rejected: Rejection[] = [];
    for (let at = 0; at < events.length; at += partEvents) {
      const made = events.slice(at, at + partEvents).map((event) => this.made(event));
      for (const rejection of writer.add(made)) rejected.push(rejection);
    }
    return blockOf(events, writer, rejected);
  }
}
