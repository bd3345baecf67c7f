import type { Event } from "../../core/batch.ts";
import type { Walk } from "./raw-json.ts";
import { RawRows } from "./raw-rows.ts";
import type { RowBody } from "./row-body.ts";

/** Events one after the other that were no rows, after which only one in as many is looked at. */
const patience = 100;

/** Passes on the bytes of events that are rows as they are. Which events it looks at changes bytes, and never a row. */
export class RawEvents {
  readonly #rows: RawRows | undefined;
  #misses = 0;

  /** `walks` are those of `rawColumns`. */
  constructor(walks: ReadonlyMap<string, Walk> | undefined) {
    this.#rows = walks === undefined ? undefined : new RawRows(walks);
  }

  /** A guess at the bytes of a body with the rows of these events. */
  sizeOf(events: readonly Event[]): number {
    if (this.#rows === undefined) return 0;
    return events.reduce((size, { received }) => size + (received === undefined ? 0 : received.length + 1), 0);
  }

  /** Adds an event to a body as it is; false if it has to be encoded. */
  add({ received }: Event, body: RowBody): boolean {
    if (this.#rows === undefined || received === undefined) return false;
    const isTried = this.#misses < patience || this.#misses % patience === 0;
    const isAdded = isTried && body.addIfRow(received, this.#rows);
    this.#misses = isAdded ? 0 : this.#misses + 1;
    return isAdded;
  }
}
