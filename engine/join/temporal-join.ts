import type { SideHeld } from "../core/counters.ts";
import type { Disk } from "../core/disk.ts";
import { Mutex } from "../flow/mutex.ts";
import { arrivalsOf, clockOf } from "./arrivals.ts";
import { BufferedEvents, type Location, type Side } from "./buffered-events.ts";
import { JoinLog, type LogOptions, type PlacedEntries } from "./log.ts";
import type { FoundEntry, LogReader } from "./log-reading.ts";
import type { Part } from "./part.ts";
import { type OutputField, RowFields } from "./row-fields.ts";
import { type Pair, StepRows } from "./step-rows.ts";
import type { Rows } from "./unsettled-rows.ts";

export interface JoinSettings {
  /** How long events of a side wait, in milliseconds; 0 without an end. */
  windows: Readonly<Record<Side, number>>;
  /** What each side gives to a row. */
  fields: Readonly<Record<Side, readonly OutputField[]>>;
}

export interface JoinOptions extends LogOptions, JoinSettings {
  disk: Disk;
  /** The folder of its log. */
  path: string;
}

/** What a step has done. */
export interface StepResult {
  rows: number;
  /** Events that left their window without a match. */
  unmatched: Readonly<Record<Side, number>>;
}

/** A part is written when its rows, or its entries, have so many bytes. */
const partBytes = 4 * 1024 * 1024;
/** Segments below this size are not worth moving what counts of them. */
const leastMoved = 1024 * 1024;
/** Nor is the newest one below this size worth that another one is begun. */
const leastRetired = 4 * leastMoved;

/** A step between its decision and the moment when it is durable. */
interface Step {
  token: string;
  /** When its events arrived, in milliseconds since the epoch: the batch clock, except where that ran backwards. */
  time: number;
  body: Buffer;
  pairs: Pair[];
  /** The events that it buffers, unless they have matched within the step. */
  added: { slot: number; id: number }[];
  unmatched: Readonly<Record<Side, number>>;
}

/**
 * A temporal join (docs/delivery-protocol.md, "Join"): inner, by the time of arrival. A left event joins at most once: at
 * once with the right event of its key, if that is within its window, else with the next one that comes while the left one is
 * within its own. The newest right event of a key replaces the one before.
 *
 * Each batch of the sides is one step, at one time, in the order of its body. A step is durable as a whole: its rows, the
 * events that it buffers, and by these what no longer waits. After a crash the step of a batch is made again unless it is
 * durable, so that no row is lost and none is made twice.
 */
export class TemporalJoin {
  readonly #log: JoinLog;
  readonly #buffered: BufferedEvents;
  readonly #rows: StepRows;
  readonly #steps = new Mutex();
  readonly #leastMoved: number;
  readonly #leastRetired: number;
  #nextId: number;
  /** The step that is not durable yet. No other one is decided before it is. */
  #unsaved: Step | undefined;
  /** How many buffered events of another shape were forgotten when it was opened. */
  readonly forgotten: number;

  private constructor(
    log: JoinLog,
    buffered: BufferedEvents,
    fields: JoinSettings["fields"],
    { nextId, forgotten, segmentBytes = Infinity }: { nextId: number; forgotten: number; segmentBytes?: number },
  ) {
    this.#leastMoved = Math.min(leastMoved, segmentBytes / 2);
    this.#leastRetired = Math.min(leastRetired, segmentBytes / 2);
    this.#log = log;
    this.#buffered = buffered;
    this.#rows = new StepRows(log, { left: new RowFields(fields.left), right: new RowFields(fields.right) });
    this.#nextId = nextId;
    this.forgotten = forgotten;
  }

  /** Opens a join with what it buffers. Throws as `JoinLog.open`. */
  static async open({ disk, path, windows, fields, ...options }: JoinOptions): Promise<TemporalJoin> {
    const buffered = new BufferedEvents(windows);
    const loading = new Loading(buffered);
    const { log, forgotten } = await JoinLog.open(disk, path, options, loading);
    return new TemporalJoin(log, buffered, fields, {
      nextId: loading.end(),
      forgotten,
      ...(options.segmentBytes !== undefined && { segmentBytes: options.segmentBytes }),
    });
  }

  /** Memory of the index, in bytes. */
  get memory(): number {
    return this.#buffered.memory;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return this.#log.bytes;
  }

  held(side: Side): Readonly<SideHeld> {
    return this.#buffered.held(side);
  }

  /** The sequence of the newest row. */
  get lastRow(): number {
    return this.#log.lastRow;
  }

  /** The newest row that was not dropped. */
  get newestRow(): number {
    return this.#log.newestRow;
  }

  /** Rows that are not in the table yet. */
  get waitingRows(): number {
    return this.#log.unsettledRows;
  }

  /** When the oldest of them was made, in milliseconds since the epoch; undefined where there is none. */
  get oldestRow(): number | undefined {
    return this.#log.oldestRow;
  }

  /**
   * Makes the step of a batch, whose events are in `body`; does nothing where it is durable already. Throws errors of the
   * disk: the same call may be repeated then.
   */
  step(token: string, body: Buffer): Promise<StepResult> {
    return this.#steps.run(async () => {
      const before = this.#unsaved;
      if (before !== undefined) await this.#save(before);
      if (before?.token === token) return resultOf(before);
      if (this.#log.has(token)) return { rows: 0, unmatched: { left: 0, right: 0 } };
      const step = this.#decide(token, body);
      this.#unsaved = step;
      await this.#save(step);
      return resultOf(step);
    });
  }

  /** Ends the windows that end at `clock`, which no later step is before. Resolves with how many leave unmatched. */
  expire(clock: number): Promise<StepResult["unmatched"]> {
    const buffered = this.#buffered;
    // The log has when the clock was set back: with a step.
    const work = (): StepResult["unmatched"] => buffered.advance(Math.max(clock, buffered.now)).unmatched;
    return this.#steps.run(() => Promise.resolve(work()));
  }

  /** See `JoinLog.committed`. */
  committed(token: string): void {
    this.#log.committed(token);
  }

  /** See `JoinLog.rowsFrom`. */
  rowsFrom(position: number): Promise<Rows | undefined> {
    return this.#log.rowsFrom(position);
  }

  /** See `UnsettledRows.firstFrom`. */
  firstRowFrom(position: number): number {
    return this.#log.firstRowFrom(position);
  }

  /** See `JoinLog.passed`. */
  passed(position: number): void {
    this.#log.passed(position);
  }

  /** Rows up to `position` are in the table, or settled otherwise. */
  trim(position: number): void {
    this.#log.trim(position);
  }

  /**
   * Removes files of which nothing counts, and moves what counts of one that is more than half empty. Throws errors of the
   * disk; nothing is lost then.
   */
  reclaim(): Promise<void> {
    return this.#steps.run(async () => {
      await this.#retireNewest();
      const joined = segmentsOf(this.#unsaved);
      for (const { number, bytes } of this.#log.settledSegments) {
        if (joined.has(number)) continue;
        const held = this.#buffered.heldIn(number);
        if (held.events === 0) await this.#log.remove(number);
        else if (bytes >= this.#leastMoved && held.bytes < bytes / 2 && this.#unsaved === undefined) {
          await this.#move(number);
          return;
        }
      }
    });
  }

  close(): Promise<void> {
    return this.#steps.run(() => this.#log.close());
  }

  #decide(token: string, body: Buffer): Step {
    const buffered = this.#buffered;
    const { time, unmatched } = buffered.advance(clockOf(body));
    const step: Step = { token, time, body, pairs: [], added: [], unmatched };
    for (const { side, print, start, length } of arrivalsOf(body)) {
      const here: Location = { segment: 0, offset: start, length };
      const right = side === "left" ? buffered.right(print) : 0;
      if (right !== 0) {
        step.pairs.push({ left: here, right: buffered.location(right) });
        buffered.used(right);
        continue;
      }
      const id = this.#nextId++;
      const slot = buffered.add(side, print, { ...here, id, time });
      step.added.push({ slot, id });
      if (side === "left") continue;
      const first = buffered.firstLeft(print);
      if (first === 0) continue;
      for (let left = first; left !== 0; left = buffered.next(left)) {
        step.pairs.push({ left: buffered.location(left), right: here });
      }
      buffered.used(slot);
      buffered.takeLefts(print);
    }
    return step;
  }

  async #save(step: Step): Promise<void> {
    const added = step.added.filter(({ slot, id }) => this.#buffered.idOf(slot) === id);
    const placed = await this.#log.write(this.#partsOf(step, added));
    this.#noteMoved(
      added.map(({ slot }) => slot),
      placed,
    );
    this.#unsaved = undefined;
  }

  async *#partsOf(step: Step, added: Step["added"]): AsyncGenerator<Part> {
    const { token, time: clock, body } = step;
    const common = { token, clock, isMoved: false };
    let firstRow = this.#log.lastRow + 1;
    let rows: Buffer[] = [];
    let rowEnds: number[] = [];
    for await (const made of this.#rows.of(step)) {
      for (const row of made) {
        rows.push(row);
        rowEnds.push((rowEnds.at(-1) ?? 0) + row.length);
        if (rowEnds.at(-1)! < partBytes) continue;
        yield { ...common, firstRow, rows, rowEnds, entries: [], isLast: false };
        firstRow += rowEnds.length;
        [rows, rowEnds] = [[], []];
      }
    }
    let entries: Part["entries"][number][] = [];
    let bytes = 0;
    for (const { slot } of added) {
      const { offset, length } = this.#buffered.location(slot);
      entries.push({ ...this.#buffered.arrivalOf(slot), bytes: body.subarray(offset, offset + length) });
      bytes += length;
      if (bytes < partBytes) continue;
      yield { ...common, firstRow, rows, rowEnds, entries, isLast: false };
      firstRow += rowEnds.length;
      [rows, rowEnds, entries, bytes] = [[], [], [], 0];
    }
    yield { ...common, firstRow, rows, rowEnds, entries, isLast: true };
  }

  /** Of a join with few events the newest file is the only one: what does not count of it goes once another one is begun. */
  async #retireNewest(): Promise<void> {
    const newest = this.#log.settledNewest;
    if (newest === undefined || newest.bytes < this.#leastRetired || this.#unsaved !== undefined) return;
    if (this.#buffered.heldIn(newest.number).bytes < newest.bytes / 2) await this.#log.retireNewest();
  }

  /** Writes the entries of a segment that count once more, and removes the segment. */
  async #move(segment: number): Promise<void> {
    const slots = this.#buffered.inSegment(segment);
    const placed = await this.#log.write(this.#movedParts(slots));
    this.#noteMoved(slots, placed);
    await this.#log.remove(segment);
  }

  /** The events of these slots lie where the entries were written, in the same order. */
  #noteMoved(slots: readonly number[], placed: readonly PlacedEntries[]): void {
    const places = placed.flatMap(({ segment, offsets }) => offsets.map((offset) => ({ segment, offset })));
    for (const [index, slot] of slots.entries()) {
      const { segment, offset } = places[index]!;
      this.#buffered.move(slot, segment, offset);
    }
  }

  async *#movedParts(slots: readonly number[]): AsyncGenerator<Part> {
    const common = { token: "", clock: 0, rows: [], rowEnds: [], isMoved: true, firstRow: this.#log.lastRow + 1 };
    for (let from = 0; from < slots.length;) {
      let to = from;
      for (let bytes = 0; to < slots.length && bytes < partBytes; to += 1) {
        bytes += this.#buffered.location(slots[to]!).length;
      }
      const part = slots.slice(from, to);
      const found = await this.#log.entries(part.map((slot) => this.#buffered.location(slot)));
      const entries = part.map((slot, index) => ({ ...this.#buffered.arrivalOf(slot), bytes: found[index]! }));
      yield { ...common, entries, isLast: to === slots.length };
      from = to;
    }
  }
}

/** The segments with events that a step joins. They do not wait any more, and are read until it is durable. */
function segmentsOf(step: Step | undefined): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { left, right } of step?.pairs ?? []) found.add(left.segment).add(right.segment);
  return found;
}

function resultOf({ pairs, unmatched }: Step): StepResult {
  return { rows: pairs.length, unmatched };
}

/** Takes what a log has into the index, in the order of the log. */
class Loading implements LogReader {
  readonly #buffered: BufferedEvents;
  #newestId = 0;
  /** Events that were moved come later in the log than they arrived, and so they are not in the order of their times. */
  #isUnordered = false;

  constructor(buffered: BufferedEvents) {
    this.#buffered = buffered;
  }

  step(clock: number): void {
    // What left its window before must not come back with the time of the clock.
    if (this.#buffered.isSetBack(clock)) this.#order();
    this.#buffered.advance(clock);
  }

  entry(entry: FoundEntry): void {
    const { side, print, id, isMoved } = entry;
    const buffered = this.#buffered;
    this.#newestId = Math.max(this.#newestId, id);
    this.#isUnordered ||= isMoved;
    if (side === "right") {
      if (!isMoved) buffered.takeLefts(print);
      // Whether it has matched before is not known: it does not count as unmatched.
      buffered.used(buffered.add(side, print, entry));
    } else {
      buffered.add(side, print, entry);
    }
  }

  /** All of it was taken. Returns the id of the next event. */
  end(): number {
    this.#order();
    return this.#newestId + 1;
  }

  /** Orders what was moved, so that all of it that has left its window is found. */
  #order(): void {
    if (this.#isUnordered) this.#buffered.reorder();
    this.#isUnordered = false;
    this.#buffered.advance(this.#buffered.now);
  }
}
