import type { Event } from "../../event/event.ts";
import { EventScan } from "../../event/scan.ts";
import type { RowWalks } from "../../event/raw-json.ts";
import type { RowBody } from "./row-body.ts";

/** Passes on the bytes of events that are rows as they are. Which events it looks at changes bytes, and never a row. */
export class RawEvents {
  readonly walks: RowWalks | undefined;
  /** For events that nobody has looked at by these walks. */
  readonly #scan: EventScan;

  /** `walks` are those of `rawColumns`. */
  constructor(walks: RowWalks | undefined) {
    this.walks = walks;
    this.#scan = new EventScan({ declared: new Map(), noted: [], rows: walks });
  }

  /** Adds an event to a body as it is, without a line break; false if it has to be encoded. */
  add(event: Event, body: RowBody): boolean {
    const { within, start, end } = event;
    if (this.walks === undefined || within === undefined) return false;
    if (!(event.isRowBy(this.walks) ?? this.#scan.passes(event))) return false;
    body.addBytes(within, start, end);
    return true;
  }
}
