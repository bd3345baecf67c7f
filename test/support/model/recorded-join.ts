/** An event of a join, as a step of its log has it, or a row names it. */
export interface RecordedEvent {
  key: number;
  value: number;
}

/** One step of the log of a join. */
export interface RecordedStep {
  /** The time of the step, in milliseconds. */
  clock: number;
  rows: { left: RecordedEvent; right: RecordedEvent }[];
  /** The events that are buffered from then on. */
  lefts: RecordedEvent[];
  rights: RecordedEvent[];
}

type Waiting = RecordedEvent & { time: number };

/**
 * Holds the steps that a join has recorded against what a temporal join means: an inner join by arrival, in which a left
 * event takes the newest right one of its key, or waits for the next, and windows end by the clock of the steps. The order
 * within a step is only seen in its rows. Events are told apart by their value.
 */
export class RecordedJoin {
  readonly problems: string[] = [];
  readonly rows: { left: number; right: number }[] = [];
  readonly #windows: { left: number; right: number };
  readonly #lefts = new Set<number>();
  readonly #rights = new Set<number>();
  /** Left events that wait, by their key. */
  readonly #waiting = new Map<number, Map<number, Waiting>>();
  /** The right event that counts, by its key. */
  readonly #newest = new Map<number, Waiting>();

  constructor(windows: { left: number; right: number }) {
    this.#windows = windows;
  }

  /** Whether a left event has come into the join. */
  hasLeft(value: number): boolean {
    return this.#lefts.has(value);
  }

  step({ clock, rows, lefts, rights }: RecordedStep): void {
    this.#expire(clock);
    const came = new Set<number>();
    for (const { left, right } of rows) {
      this.rows.push({ left: left.value, right: right.value });
      if (left.key !== right.key) this.#problem(`left ${left.value} of key ${left.key} met a right of ${right.key}`);
      if (this.#newest.get(right.key)?.value !== right.value) this.#arrive(right, clock, came);
      this.#match(left, came);
    }
    // One that was replaced within the step may be there too: the last one of a key counts.
    for (const right of new Map(rights.map((of) => [of.key, of])).values()) {
      if (this.#newest.get(right.key)?.value !== right.value) this.#arrive(right, clock, came);
      came.delete(right.key);
    }
    for (const key of came) this.#problem(`a right of key ${key} came and is not buffered`);
    for (const { key } of rights) {
      if ((this.#waiting.get(key)?.size ?? 0) > 0)
        this.#problem(`left events of key ${key} wait beside a right that came`);
    }
    for (const left of lefts) this.#wait(left, clock);
  }

  /** Right events come in the order in which they count. */
  #arrive(right: RecordedEvent, clock: number, came: Set<number>): void {
    if (this.#rights.has(right.value)) this.#problem(`right ${right.value} came, or counted, again`);
    this.#rights.add(right.value);
    this.#newest.set(right.key, { ...right, time: clock });
    came.add(right.key);
  }

  /** A left event that waited meets only a right one that comes; one that comes meets any. */
  #match(left: RecordedEvent, came: ReadonlySet<number>): void {
    const waited = this.#waiting.get(left.key)?.delete(left.value) === true;
    if (waited && !came.has(left.key)) this.#problem(`left ${left.value} waited beside the right that it met`);
    if (!waited && this.#lefts.has(left.value)) this.#problem(`left ${left.value} matched again, or after its window`);
    this.#lefts.add(left.value);
  }

  #wait(left: RecordedEvent, clock: number): void {
    if (this.#lefts.has(left.value)) this.#problem(`left ${left.value} is buffered again`);
    if (this.#newest.has(left.key)) this.#problem(`left ${left.value} waits beside a right of key ${left.key}`);
    this.#lefts.add(left.value);
    const waiting = this.#waiting.get(left.key) ?? new Map<number, Waiting>();
    this.#waiting.set(left.key, waiting.set(left.value, { ...left, time: clock }));
  }

  #expire(clock: number): void {
    const { left, right } = this.#windows;
    for (const [key, waiting] of this.#waiting) {
      for (const [value, { time }] of waiting) if (time + left <= clock) waiting.delete(value);
      if (waiting.size === 0) this.#waiting.delete(key);
    }
    for (const [key, { time }] of this.#newest) if (time + right <= clock) this.#newest.delete(key);
  }

  #problem(text: string): void {
    this.problems.push(text);
  }
}
