import type { Event } from "./batch.ts";
import type { FieldNotes } from "./field-notes.ts";
import { RawScan, type ScanPlan } from "./raw-scan.ts";
import type { RowWalks } from "./raw-json.ts";

/** Events one after the other that the walk did not pass, after which only one in as many is walked over. */
const patience = 100;

/** Walks over the bytes of events, as long as that tells something, and notes on each event what it found. */
export class EventScan {
  readonly #rows: RowWalks | undefined;
  readonly #scan: RawScan;
  #misses = 0;

  constructor(plan: ScanPlan) {
    this.#rows = plan.rows;
    this.#scan = new RawScan(plan);
  }

  /** Whether the last event that passed has each declared key, with a value of its kind. */
  get hasDeclared(): boolean {
    return this.#scan.hasDeclared;
  }

  /** Whether the walk passes an event. Where it does, the event knows its fields as number `place` of `notes`. */
  passes(event: Event, notes?: FieldNotes, place = 0): boolean {
    const isTried = this.#misses < patience || this.#misses % patience === 0;
    const { within, start, end } = event;
    const passes = isTried && within !== undefined && this.#scan.look(within, start, end, notes, place);
    this.#misses = passes ? 0 : this.#misses + 1;
    if (passes && this.#rows !== undefined) event.judge(this.#rows, this.#scan.isRow);
    if (passes && notes !== undefined) event.note(notes, place);
    return passes;
  }
}
