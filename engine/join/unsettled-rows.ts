/** Rows of the newest parts are kept in memory until they are read, up to so many bytes. */
const mostKept = 32 * 1024 * 1024;

/** Where the rows of one part lie. */
export interface RowPart {
  segment: number;
  /** Where the part begins. */
  offset: number;
  /** The sequence of its first row. */
  first: number;
  count: number;
  /** The batch clock of its step, in milliseconds since the epoch. */
  clock: number;
}

/** Rows of one part. */
export interface Rows {
  /** The sequence of the first. */
  first: number;
  /** The batch clock of the step that made them, in milliseconds since the epoch. */
  clock: number;
  /** Where each begins and ends in `bytes`: the end of one is the beginning of the next. */
  places: Uint32Array;
  bytes: Buffer;
}

/** The rows of a log that are not settled: the parts that hold them, and the newest ones themselves until they are read. */
export class UnsettledRows {
  /** In the order of their rows. */
  #parts: RowPart[] = [];
  #next = 1;
  #settled: number;
  /** By the first row of their part. */
  readonly #kept = new Map<number, Rows>();
  #keptBytes = 0;

  /** Rows up to `settled` are settled. */
  constructor(settled: number) {
    this.#settled = settled;
  }

  /** The sequence of the row that comes next. */
  get next(): number {
    return this.#next;
  }

  /** The newest row that was not dropped. */
  get newest(): number {
    const last = this.#parts.at(-1);
    return last === undefined ? this.#settled : last.first + last.count - 1;
  }

  get count(): number {
    return this.#parts.reduce((sum, { first, count }) => sum + count - Math.max(0, this.#settled - first + 1), 0);
  }

  /** When the oldest was made, by the batch clock; undefined where there is none. */
  get oldest(): number | undefined {
    return this.#parts[0]?.clock;
  }

  /** The segments that hold them. */
  get segments(): Set<number> {
    return new Set(this.#parts.map(({ segment }) => segment));
  }

  /** The rows before `next` are known, or gone. */
  reach(next: number): void {
    this.#next = Math.max(this.#next, next);
  }

  /** Adds the rows that come next. */
  add(part: RowPart): void {
    this.#parts.push(part);
    this.#next = part.first + part.count;
  }

  /** Keeps the rows of a part in memory, while there is room. */
  keep(rows: Rows): void {
    if (this.#keptBytes + rows.bytes.length > mostKept) return;
    this.#keptBytes += rows.bytes.length;
    this.#kept.set(rows.first, rows);
  }

  /** The rows of a part, where they are in memory. */
  kept({ first }: RowPart): Rows | undefined {
    return this.#kept.get(first);
  }

  /** The part with a row, or the first one after it. */
  partOf(position: number): RowPart | undefined {
    let [low, high] = [0, this.#parts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { first, count } = this.#parts[middle]!;
      if (first + count - 1 < position) low = middle + 1;
      else high = middle;
    }
    return this.#parts[low];
  }

  /** The first row from `position` on that is there, or the one that comes next: rows that were dropped leave a gap. */
  firstFrom(position: number): number {
    const part = this.partOf(position);
    return Math.max(position, part === undefined ? this.#next : part.first);
  }

  /** Rows before `position` are read, and need not be kept in memory. */
  passed(position: number): void {
    for (const [first, rows] of this.#kept) {
      if (first + rows.places.length - 1 > position) continue;
      this.#kept.delete(first);
      this.#keptBytes -= rows.bytes.length;
    }
  }

  /** Rows up to `position` are settled. */
  settle(position: number): void {
    this.#settled = Math.max(this.#settled, position);
    const keep = this.#parts.findIndex(({ first, count }) => first + count - 1 > this.#settled);
    this.#parts.splice(0, keep === -1 ? this.#parts.length : keep);
    this.passed(this.#settled);
  }

  /** Rows after `keptUpTo` that are there do not count any more. */
  drop(keptUpTo: number): void {
    this.#parts = this.#parts
      .map((part) => ({ ...part, count: Math.min(part.count, keptUpTo - part.first + 1) }))
      .filter(({ count }) => count > 0);
  }
}
