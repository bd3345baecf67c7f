/** Events up to `last` came together: the first of them at `time`, in milliseconds since the epoch. */
export interface Arrival {
  last: number;
  time: number;
}

/** Events that came within so many milliseconds are noted together, and within more where a stream holds those of a long time. */
const leastTogether = 1_000;
/** So many notes are kept of one stream. */
const mostNotes = 2_000;

/** When the events came that a stream holds, so that the age of the oldest is known without a read. */
export class ArrivalTimes {
  #notes: Arrival[];
  #together = leastTogether;

  /** `found`: of what the stream holds at the start, in its order. */
  constructor(found: readonly Arrival[] = []) {
    this.#notes = [...found];
  }

  came(last: number, time: number): void {
    const newest = this.#notes.at(-1);
    if (newest !== undefined && time - newest.time < this.#together) newest.last = last;
    else this.#notes.push({ last, time });
    if (this.#notes.length > mostNotes) this.#merge();
  }

  /** When the oldest event after `settled` came, or one shortly before it; undefined where there is none. */
  oldestAfter(settled: number): number | undefined {
    const first = this.#notes.findIndex(({ last }) => last > settled);
    this.#notes.splice(0, first === -1 ? this.#notes.length : first);
    if (this.#notes.length === 0) this.#together = leastTogether;
    return this.#notes[0]?.time;
  }

  #merge(): void {
    this.#together *= 2;
    const merged: Arrival[] = [];
    for (const { last, time } of this.#notes) {
      const before = merged.at(-1);
      if (before !== undefined && time - before.time < this.#together) before.last = last;
      else merged.push({ last, time });
    }
    this.#notes = merged;
  }
}
