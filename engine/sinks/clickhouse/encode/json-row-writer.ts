import type { Event } from "../../../event/event.ts";
import type { Rejection } from "../../../core/dead-letter.ts";
import type { RowWriter } from "../../../core/sink.ts";
import type { BufferPool } from "./buffer-pool.ts";
import { RowBody } from "./row-body.ts";
import type { RowEncoders } from "./row-encoders.ts";

/** Writes rows as lines of JSONEachRow, with the encoders that were current when it was made. */
export class JsonRowWriter implements RowWriter {
  readonly #encoders: Pick<RowEncoders, "of">;
  readonly #body: RowBody;
  /** The encoders for the target's columns as they are now. */
  readonly #current: () => Pick<RowEncoders, "of">;

  /** `size` is a guess at the bytes of all rows, which are a buffer of `pool`. */
  constructor(current: () => Pick<RowEncoders, "of">, size: number, pool?: BufferPool) {
    this.#current = current;
    this.#encoders = current();
    this.#body = new RowBody(size + (size >> 4), pool);
  }

  add(events: readonly Event[]): Rejection[] {
    const rejected: Rejection[] = [];
    for (const event of events) {
      const encoder = this.#encoders.of(event.origin);
      const rejection = encoder === undefined ? ofUnknownSource(event) : encoder.add(event, this.#body);
      if (rejection !== undefined) rejected.push(rejection);
    }
    return rejected;
  }

  get size(): number {
    return this.#body.length;
  }

  get isCurrent(): boolean {
    return this.#current() === this.#encoders;
  }

  body(): Buffer {
    return this.#body.toBytes();
  }
}

/**
 * The dead letter of an event whose source was removed, so that its fields are unknown. This is not a mismatch with the
 * table.
 */
function ofUnknownSource({ origin, text, position }: Event): Rejection {
  const from = origin === undefined ? "one without an origin" : `one of "${origin}"`;
  const expected = "failed to validate data: expected an event of a source of this pipeline";
  const error = `${expected}, found ${from}; add that source again to reprocess the event`;
  return { component: "ingestor", reason: "parse_error", error, original_message: text, position };
}
