import { mayHoldWide, parseExactly, writeExactly } from "./exact-json.ts";
import type { FieldNotes } from "./fields.ts";
import type { RowWalks } from "./raw-json.ts";

/**
 * The terms of the engine.
 *
 * **event**: one JSON object that a source received, as bytes, or that a transform made of one. **position**: how far a
 * source was read; for a stream the sequence of an event, which counts from 1 and never starts again. **range**:
 * positions that belong together, both ends included. **batch**: events of one source member, in order, that go to one
 * table in one insert. **dead letter**: an event that could not be processed, with the reason. **record**: what is
 * durable of a pending batch.
 */

/**
 * One event: a view of bytes in a larger buffer, which are parsed only when the value is read; or a value that a
 * transform made, which is written as JSON only when the bytes are read. A tombstone of a topic is an event with
 * neither.
 */
export class Event {
  /** Where it is in its feed; from the moment on that a batch takes it, its place there (see `Places`). */
  position: number;
  /** When Sluice received it, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /**
   * Which of a pipeline's sources it came from: the signal of an OTLP event, the topic of one of Kafka; undefined for a
   * webhook.
   */
  readonly origin: string | undefined;
  /**
   * The buffer that holds its bytes, from `start` until before `end`; undefined where a transform made it, and for a
   * tombstone.
   */
  readonly within: Buffer | undefined;
  readonly start: number;
  readonly end: number;
  #notes: FieldNotes | undefined;
  #place: number;
  #rows: RowWalks | undefined;
  #isRow: boolean;
  #value: Record<string, unknown> | undefined;
  /** -1 until it is first read. */
  #size: number;

  /**
   * `content` is the value that a transform made, or the buffer that holds the event's bytes, from `start` until before
   * `end`; an `end` below 0 makes a tombstone. While an event is scanned, the byte after it is changed for a moment: no
   * other thread may read or write this buffer.
   */
  constructor(
    position: number,
    receivedAt: number,
    content: Buffer | Record<string, unknown>,
    start = 0,
    end?: number,
    origin?: string,
  ) {
    const bytes = end !== undefined || Buffer.isBuffer(content) ? (content as Buffer) : undefined;
    const last = end ?? bytes?.length ?? 0;
    this.position = position;
    this.receivedAt = receivedAt;
    this.origin = origin;
    this.within = last < 0 ? undefined : bytes;
    this.start = start;
    this.end = last;
    this.#notes = undefined;
    this.#place = 0;
    this.#rows = undefined;
    this.#isRow = false;
    this.#value = bytes === undefined ? (content as Record<string, unknown>) : undefined;
    this.#size = bytes === undefined ? -1 : Math.max(0, last - start);
  }

  /** What a transform made of this event: another object, in the same place. */
  with(value: Record<string, unknown>): Event {
    return new Event(this.position, this.receivedAt, value, 0, undefined, this.origin);
  }

  get isTombstone(): boolean {
    return this.end < 0;
  }

  /** The bytes as they were received; undefined where a transform made the event, and for a tombstone. */
  get received(): Buffer | undefined {
    return this.within?.subarray(this.start, this.end);
  }

  get bytes(): Buffer {
    return this.received ?? Buffer.from(this.text);
  }

  /** Length of the bytes that were received; of an event that a transform made, about that of its JSON. */
  get size(): number {
    if (this.#size === -1) this.#size = aboutSize(this.#value);
    return this.#size;
  }

  /**
   * The JSON object; whole numbers outside the safe range are bigints. Throws a SyntaxError if the bytes are not JSON,
   * which a source that checks what it receives rules out.
   */
  get value(): Record<string, unknown> {
    this.#value ??= this.#parsed() as Record<string, unknown>;
    return this.#value;
  }

  /** The JSON object, where `null` counts as an empty one; undefined if the bytes are anything else. */
  get record(): Record<string, unknown> | undefined {
    try {
      const value: unknown = this.value ?? {};
      return typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** The JSON text, as a stage that cannot process the event puts it into a dead letter. */
  get text(): string {
    if (this.within !== undefined) return this.within.toString("utf8", this.start, this.end);
    return this.isTombstone ? "" : writeExactly(this.#value);
  }

  /** Notes where its fields lie: it is event number `place` of `notes`. */
  note(notes: FieldNotes, place: number): void {
    this.#notes = notes;
    this.#place = place;
  }

  /** Where the fields that will be read lie in the bytes; undefined where that is not known. */
  get notes(): FieldNotes | undefined {
    return this.#notes;
  }

  /** Which of the events in `notes` it is. */
  get place(): number {
    return this.#place;
  }

  /** Notes whether walks found its bytes to be a row as they are. */
  judge(walks: RowWalks, isRow: boolean): void {
    this.#rows = walks;
    this.#isRow = isRow;
  }

  /** Whether walks found its bytes to be a row as they are; undefined where these did not look. */
  isRowBy(walks: RowWalks): boolean | undefined {
    return this.#rows === walks ? this.#isRow : undefined;
  }

  #parsed(): unknown {
    const { text: given } = this;
    const text = given.startsWith("\uFEFF") ? given.slice(1) : given;
    return mayHoldWide(this.bytes) ? parseExactly(text) : (JSON.parse(text) as unknown);
  }
}

/** Bytes that numbers and words take, about. */
const usual = 6;

/**
 * About how many bytes a value takes as JSON, without writing it: texts count their characters, which are more bytes
 * where they are beyond ASCII or escaped.
 */
function aboutSize(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return usual;
  if (Array.isArray(value)) return value.reduce<number>((size, item) => size + aboutSize(item) + 1, 2);
  const object = value as Record<string, unknown>;
  let size = 2;
  for (const key in object) size += key.length + 4 + aboutSize(object[key]);
  return size;
}

/** Two numbers are kept of each event: where it starts and ends in its bytes; its position and its time. */
const pair = 2;
const fewest = 256;

/**
 * Events that are kept only as places in their buffers. A batch may hold half a million of them, and few are ever read
 * again; as objects they would cost more than all other work on them.
 */
export class EventList implements Iterable<Event> {
  /** The buffer and the origin of each run of events, and where the runs begin. */
  readonly #within: Buffer[] = [];
  readonly #origins: (string | undefined)[] = [];
  readonly #runs: number[] = [];
  #places = new Int32Array(pair * fewest);
  #times = new Float64Array(pair * fewest);
  #length = 0;

  static of(events: Iterable<Event>): EventList {
    const list = new EventList();
    for (const event of events) list.push(event);
    return list;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds an event as it was received. Throws for one that a transform made, which lies in no buffer. */
  push({ within, start, end, position, receivedAt, origin }: Event): void {
    if (within === undefined) throw new Error("expected an event with the bytes that were received");
    if (within !== this.#within.at(-1) || origin !== this.#origins.at(-1)) {
      this.#within.push(within);
      this.#origins.push(origin);
      this.#runs.push(this.#length);
    }
    const at = pair * this.#length;
    if (at === this.#places.length) this.#grow();
    this.#places[at] = start;
    this.#places[at + 1] = end;
    this.#times[at] = position;
    this.#times[at + 1] = receivedAt;
    this.#length += 1;
  }

  /** The event at an index below the length. */
  at(index: number): Event {
    return this.#in(this.#runOf(index), index);
  }

  positionAt(index: number): number {
    return this.#times[pair * index]!;
  }

  /** The events from one index until before another. */
  slice(first: number, last: number): Event[] {
    const events: Event[] = [];
    let run = first < last ? this.#runOf(first) : 0;
    for (let index = first; index < Math.min(last, this.#length); index += 1) {
      if (this.#runs[run + 1] === index) run += 1;
      events.push(this.#in(run, index));
    }
    return events;
  }

  /** Those that are not at these positions. */
  without(positions: ReadonlySet<number>): EventList {
    if (positions.size === 0) return this;
    const left = new EventList();
    for (const event of this) if (!positions.has(event.position)) left.push(event);
    return left;
  }

  *[Symbol.iterator](): Generator<Event> {
    for (let run = 0; run < this.#runs.length; run += 1) {
      const next = this.#runs[run + 1] ?? this.#length;
      for (let index = this.#runs[run]!; index < next; index += 1) yield this.#in(run, index);
    }
  }

  #in(run: number, index: number): Event {
    const at = pair * index;
    const [position, receivedAt] = [this.#times[at]!, this.#times[at + 1]!];
    const [start, end] = [this.#places[at], this.#places[at + 1]];
    return new Event(position, receivedAt, this.#within[run]!, start, end, this.#origins[run]);
  }

  /** The last run that begins at an index or before it. */
  #runOf(index: number): number {
    let [low, high] = [0, this.#runs.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#runs[middle]! <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #grow(): void {
    const [places, times] = [this.#places, this.#times];
    this.#places = new Int32Array(2 * places.length);
    this.#times = new Float64Array(2 * times.length);
    this.#places.set(places);
    this.#times.set(times);
  }
}
