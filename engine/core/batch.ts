import { mayHoldWide, parseExactly, writeExactly } from "./exact-json.ts";

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
 * One event: a view of bytes that lie in its batch, whose JSON value is made only when somebody asks for it; or a value
 * that a transform made, whose bytes are made only when somebody asks for them.
 */
export class Event {
  /** Where it is in its feed; from the moment on that a batch takes it, its place there (see `Places`). */
  position: number;
  /** When Sluice received it, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The bytes as they were received; undefined where a transform made the event. */
  readonly received: Buffer | undefined;
  #made: Buffer | undefined;
  #value: Record<string, unknown> | undefined;
  #size: number | undefined;

  constructor(position: number, receivedAt: number, content: Buffer | Record<string, unknown>) {
    this.position = position;
    this.receivedAt = receivedAt;
    this.received = Buffer.isBuffer(content) ? content : undefined;
    this.#value = Buffer.isBuffer(content) ? undefined : content;
  }

  /** What a transform made of this event: another object, in the same place. */
  with(value: Record<string, unknown>): Event {
    return new Event(this.position, this.receivedAt, value);
  }

  get bytes(): Buffer {
    return this.received ?? (this.#made ??= Buffer.from(writeExactly(this.#value)));
  }

  /** Length of its bytes, which are not made for that. */
  get size(): number {
    return (this.received ?? this.#made)?.length ?? (this.#size ??= Buffer.byteLength(this.text));
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
    return (this.received ?? this.#made)?.toString("utf8") ?? writeExactly(this.#value);
  }

  #parsed(): unknown {
    const text = this.text;
    return mayHoldWide(this.bytes) ? parseExactly(text) : (JSON.parse(text) as unknown);
  }
}
