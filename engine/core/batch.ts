import { mayHoldWide, parseExactly, writeExactly } from "./exact-json.ts";
import type { FieldNotes } from "./field-notes.ts";
import { aboutSize } from "./json-size.ts";
import type { RowWalks } from "./raw-json.ts";

/**
 * The words every part speaks.
 *
 * **event**: one JSON object that a source received, as bytes, or that a transform made of one. **position**: where a
 * source stands; for a stream the sequence of an event, which counts from 1 and never starts again. **range**: positions
 * that belong together, both ends included. **batch**: events of one source member, in order, that go to one table in
 * one insert. **dead letter**: an event that could not be processed, with the reason. **record**: the durable note of a
 * batch under way.
 */

/**
 * One event: a view of bytes that lie among others, whose JSON value is made only when somebody asks for it; or a value
 * that a transform made, whose bytes are made only when somebody asks for them. A tombstone, as topics hold them, is an
 * event with neither.
 */
export class Event {
  /** Where it is in its feed; from the moment on that a batch takes it, its place there (see `Places`). */
  position: number;
  /** When Sluice received it, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /**
   * Which of a pipeline's sources it came from: the signal of an OTLP event, the topic of one of Kafka; undefined where
   * there is nothing to be told apart.
   */
  readonly origin: string | undefined;
  /** What its bytes lie in, at `start` until before `end`; undefined where a transform made it, and for a tombstone. */
  readonly within: Buffer | undefined;
  readonly start: number;
  readonly end: number;
  #notes: FieldNotes | undefined;
  #place: number;
  #rows: RowWalks | undefined;
  #isRow: boolean;
  #value: Record<string, unknown> | undefined;
  /** -1 until somebody asks for it. */
  #size: number;

  /**
   * `content` is the value that a transform made, or what the event's bytes lie in, at `start` until before `end`; an
   * `end` below 0 makes a tombstone. While an event is looked at, the byte behind it is another one for a moment: nobody
   * else may read these bytes from another thread, or write them.
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
   * The JSON object; whole numbers outside the safe range are bigints. Throws a SyntaxError if the bytes are not JSON;
   * sources that check at the door never hand out such.
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

  /** Where the fields lie that somebody will ask for; undefined where that is not known. */
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
    const { text } = this;
    return mayHoldWide(this.bytes) ? parseExactly(text) : (JSON.parse(text) as unknown);
  }
}
