import type { Event } from "../../core/batch.ts";
import type { Rejection } from "../../core/dead-letter.ts";
import type { RowWriter } from "../../core/sink.ts";
import { RowBody } from "./row-body.ts";
import type { RowEncoder } from "./row-encoder.ts";

/** Writes rows as lines of JSONEachRow, as one encoder makes them. */
export class RowLines implements RowWriter {
  readonly #encoder: RowEncoder;
  readonly #body: RowBody;
  /** The encoder for the target's columns as they are now. */
  readonly #current: () => RowEncoder;

  /** `size` is a guess at the bytes of all rows. */
  constructor(current: () => RowEncoder, size: number) {
    this.#current = current;
    this.#encoder = current();
    this.#body = new RowBody(size + (size >> 4));
  }

  add(events: readonly Event[]): Rejection[] {
    const rejected: Rejection[] = [];
    for (const event of events) {
      const rejection = this.#encoder.add(event, this.#body);
      if (rejection !== undefined) rejected.push(rejection);
    }
    return rejected;
  }

  get size(): number {
    return this.#body.length;
  }

  get isCurrent(): boolean {
    return this.#current() === this.#encoder;
  }

  body(): Buffer {
    return this.#body.toBytes();
  }
}
