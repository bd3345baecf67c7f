/**
 * The words every part speaks.
 *
 * **event**: one JSON object that a source received, as bytes. **position**: where a source stands; for a stream the
 * sequence of an event, which counts from 1 and never starts again. **range**: positions that belong together, both
 * ends included. **batch**: events of one source member, in order, that go to one table in one insert. **dead
 * letter**: an event that could not be processed, with the reason. **record**: the durable note of a batch under way.
 */

/** Positions `first`..`last`, both included, that hold `count` events. Ranges are ranges, not counts: there may be gaps. */
export interface PositionRange {
  first: number;
  last: number;
  count: number;
}

/**
 * One event: a view of bytes that lie in its batch. Its JSON value is made only when somebody asks for it.
 */
export class Event {
  readonly position: number;
  /** When Sluice received it, in milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly #bytes: Buffer;
  #value: Record<string, unknown> | undefined;

  constructor(position: number, receivedAt: number, bytes: Buffer) {
    this.position = position;
    this.receivedAt = receivedAt;
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** The JSON object. Throws a SyntaxError if the bytes are not JSON; sources that check at the door never hand out such. */
  get value(): Record<string, unknown> {
    this.#value ??= JSON.parse(this.#bytes.toString("utf8")) as Record<string, unknown>;
    return this.#value;
  }

  get text(): string {
    return this.#bytes.toString("utf8");
  }
}

export interface Batch {
  readonly range: PositionRange;
  /** In the order of their positions. */
  readonly events: readonly Event[];
}
