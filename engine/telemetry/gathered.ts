/** Milliseconds between two lines of the log about what any sender can cause. */
const quiet = 60_000;

/** Milliseconds from the first event to its line, which counts those that come with it. */
const gathering = 1_000;

/** Gathers events that senders cause into one line of the log a minute, with a count of each kind. */
export class GatheredEvents<Detail> {
  readonly #write: (counts: Record<string, number>, last: Detail) => void;
  #counts: Record<string, number> = {};
  #last: Detail | undefined;
  #timer: NodeJS.Timeout | undefined;
  #written = -Infinity;

  /** `write` is called with the counts since the line before, and with the detail of the last event. */
  constructor(write: (counts: Record<string, number>, last: Detail) => void) {
    this.#write = write;
  }

  add(kind: string, detail: Detail): void {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    this.#last = detail;
    const wait = Math.max(gathering, this.#written + quiet - performance.now());
    this.#timer ??= setTimeout(() => this.#flush(), wait).unref();
  }

  /** Writes what waits. */
  close(): void {
    if (this.#timer !== undefined) this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#written = performance.now();
    const counts = this.#counts;
    this.#counts = {};
    this.#write(counts, this.#last!);
  }
}
