import type { Event } from "../../event/event.ts";
import type { Rejection } from "../../core/dead-letter.ts";
import type { RowWriter } from "../../core/sink.ts";
import { RowBody } from "./row-body.ts";
import type { RowEncoders } from "./row-encoders.ts";

/** Writes rows as lines of JSONEachRow, as the encoders of one moment make them. */
export class RowLines implements RowWriter {
  readonly #encoders: Pick<RowEncoders, "of">;
  readonly #body: RowBody;
  /** The encoders for the target's columns as they are now. */
  readonly #current: () => Pick<RowEncoders, "of">;

  /** `size` is a guess at the bytes of all rows. */
  constructor(current: () => Pick<RowEncoders, "of">, size: number) {
    this.#current = current;
    this.#encoders = current();
    this.#body = new RowBody(size + (size >> 4));
  }

  add(events: readonly Event[]): Rejection[] {
    const rejected: Rejection[] = [];
    for (const event of events) {
      const encoder = this.#encoders.of(event.origin);
      const rejection = encoder === undefined ? ofNobody(event) : encoder.add(event, this.#body);
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

/** Nobody knows any more what fields the event has. That says nothing of the table, as a value that does not fit would. */
function ofNobody({ origin, text, position }: Event): Rejection {
  const from = origin === undefined ? "one that does not say where it came from" : `one of "${origin}"`;
  const expected = "failed to validate data: expected an event of a source of this pipeline";
  const error = `${expected}, found ${from}; put its source back to send it again`;
  return { component: "ingestor", reason: "parse_error", error, original_message: text, position };
}
