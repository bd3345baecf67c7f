import type { SideHeld } from "../core/counters.ts";
import { SlotTable } from "./slot-table.ts";

export type Side = "left" | "right";

/** Where the bytes of a buffered event lie. Segment 0 is the body of the step that is being made. */
export interface Location {
  segment: number;
  offset: number;
  /** Bytes of the event. */
  length: number;
}

/** What is known of an event when it is buffered. */
export interface Arrival extends Location {
  /** Ascends in the order of arrival, over both sides, and is never used twice for one join. */
  id: number;
  /** When it arrived: the batch clock of its step, in milliseconds since the epoch. */
  time: number;
}

/** Words of a slot: the fingerprint of the key takes the first four. */
const [segmentWord, offsetWord, lengthWord, timeWord, idWord, highWord, nextWord, tailWord, olderWord, newerWord] = [
  4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
] as const;
const slotWords = 14;
const chunkSlots = 1 << 16;
/** The high word: 12 bits of the time, 16 of the id, and flags. */
const [timeShift, idShift, rightFlag, usedFlag, liveFlag] = [0, 12, 1 << 28, 1 << 29, 1 << 30] as const;
const word = 2 ** 32;

/** A smaller step of the clock backwards is not one that was set back: time stands still until the clock has caught up. */
const hour = 3_600_000;

/**
 * The index of what a join buffers: left events without a right one, and of each key the newest right event. The bytes of
 * the events are on disk; here an event takes 56 bytes, and its key 6 to 14.
 *
 * An event leaves when its window ends (`advance`), a left one also when the right event of its key comes (`takeLefts`),
 * and a right one when another one of its key replaces it. A number from 1 on, the slot, names an event until it
 * leaves.
 */
export class BufferedEvents {
  readonly #windows: Readonly<Record<Side, number>>;
  readonly #chunks: Uint32Array[] = [];
  #now = 0;
  #free = 0;
  #slots = 0;
  readonly #tables: Readonly<Record<Side, SlotTable>>;
  /** The oldest and the newest slot of each side, by arrival. */
  readonly #oldest = { left: 0, right: 0 };
  readonly #newest = { left: 0, right: 0 };
  readonly #held: Record<Side, SideHeld> = { left: { events: 0, bytes: 0 }, right: { events: 0, bytes: 0 } };
  /** What each segment holds of buffered events. */
  readonly #segments = new Map<number, SideHeld>();
  /** The one that was counted last. */
  #counted: { segment: number; held: SideHeld } | undefined;

  /** `windows`: how long events wait, in milliseconds; 0 without an end. */
  constructor(windows: Readonly<Record<Side, number>>) {
    this.#windows = windows;
    const hasKey = (slot: number, words: Uint32Array): boolean => this.#hasKey(slot, words);
    const secondWord = (slot: number): number => this.#chunk(slot)[this.#at(slot) + 1]!;
    this.#tables = { left: new SlotTable(hasKey, secondWord), right: new SlotTable(hasKey, secondWord) };
  }

  /** What a side holds. Right events that another one of their key replaced are gone at once. */
  held(side: Side): Readonly<SideHeld> {
    return this.#held[side];
  }

  /** What a segment holds. */
  heldIn(segment: number): Readonly<SideHeld> {
    return this.#segments.get(segment) ?? { events: 0, bytes: 0 };
  }

  /** Bytes of memory that it takes. */
  get memory(): number {
    return this.#chunks.length * chunkSlots * slotWords * 4 + this.#tables.left.bytes + this.#tables.right.bytes;
  }

  /** The right event of a key; 0 where there is none. */
  right(print: Uint32Array): number {
    return this.#tables.right.get(print);
  }

  /** The first buffered left event of a key; 0 where there is none. `next` has the others, in the order of arrival. */
  firstLeft(print: Uint32Array): number {
    return this.#tables.left.get(print);
  }

  next(slot: number): number {
    return this.#chunk(slot)[this.#at(slot) + nextWord]!;
  }

  location(slot: number): Location {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    return { segment: chunk[at + segmentWord]!, offset: chunk[at + offsetWord]!, length: chunk[at + lengthWord]! };
  }

  /** The id of a buffered event; undefined where the slot is free. */
  idOf(slot: number): number | undefined {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    const high = chunk[at + highWord]!;
    return (high & liveFlag) === 0 ? undefined : ((high >>> idShift) & 0xffff) * word + chunk[at + idWord]!;
  }

  timeOf(slot: number): number {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    return ((chunk[at + highWord]! >>> timeShift) & 0xfff) * word + chunk[at + timeWord]!;
  }

  /** A copy of what is known of a buffered event, but for its location. */
  arrivalOf(slot: number): { side: Side; print: Uint32Array; id: number; time: number; length: number } {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    const side = (chunk[at + highWord]! & rightFlag) === 0 ? "left" : "right";
    const [id, time] = [this.idOf(slot)!, this.timeOf(slot)];
    return { side, print: chunk.slice(at, at + 4), id, time, length: chunk[at + lengthWord]! };
  }

  /** The slots of the events of a segment, in the order of arrival on each side. */
  inSegment(segment: number): number[] {
    const found: number[] = [];
    const { events } = this.heldIn(segment);
    for (const side of ["left", "right"] as const) {
      for (let slot = this.#oldest[side]; slot !== 0 && found.length < events;) {
        const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
        if (chunk[at + segmentWord] === segment) found.push(slot);
        slot = chunk[at + newerWord]!;
      }
    }
    return found;
  }

  /** A right event has matched: it does not count as unmatched when it leaves. */
  used(slot: number): void {
    this.#chunk(slot)[this.#at(slot) + highWord]! |= usedFlag;
  }

  /** Buffers an event; of a right one, in the place of an earlier one with its key. Returns its slot. */
  add(side: Side, print: Uint32Array, arrival: Arrival): number {
    const slot = this.#take(side, print, arrival);
    const before = this.#tables[side].exchange(print, slot, side === "right");
    if (before !== 0 && side === "left") this.#link(before, slot);
    else if (before !== 0) this.#release("right", before);
    return slot;
  }

  /** The bytes of an event lie elsewhere now. */
  move(slot: number, segment: number, offset: number): void {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    const length = chunk[at + lengthWord]!;
    this.#count(chunk[at + segmentWord]!, -1, length);
    chunk[at + segmentWord] = segment;
    chunk[at + offsetWord] = offset;
    this.#count(segment, 1, length);
  }

  /** Takes all buffered left events of a key out: they have matched. */
  takeLefts(print: Uint32Array): void {
    if (this.#held.left.events === 0) return;
    let slot = this.#tables.left.get(print);
    if (slot !== 0) this.#tables.left.delete(print);
    while (slot !== 0) {
      const next = this.next(slot);
      this.#release("left", slot);
      slot = next;
    }
  }

  /** The newest time that it was advanced to. */
  get now(): number {
    return this.#now;
  }

  /** Whether a step at `clock` shows that the clock was set back. */
  isSetBack(clock: number): boolean {
    return clock < this.#now - hour;
  }

  /**
   * A step begins at `clock`. Time does not run backwards with it, unless the clock was set back by more than an hour: then
   * events that had come later count as come at `clock`. Returns the time of the step, and how many events of each side have
   * left their window unmatched.
   */
  advance(clock: number): { time: number; unmatched: Readonly<Record<Side, number>> } {
    const isSetBack = this.isSetBack(clock);
    if (isSetBack) this.#setBack(clock);
    const time = isSetBack ? clock : Math.max(clock, this.#now);
    this.#now = time;
    return { time, unmatched: { left: this.#expire("left", time), right: this.#expire("right", time) } };
  }

  /**
   * Orders the events anew by their ids: after a load, where events that were moved within the log come later than they
   * arrived.
   */
  reorder(): void {
    for (const side of ["left", "right"] as const) this.#reorder(side);
  }

  #setBack(to: number): void {
    for (const side of ["left", "right"] as const) {
      for (let slot = this.#newest[side]; slot !== 0 && this.timeOf(slot) > to;) {
        const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
        chunk[at + timeWord] = to % word;
        chunk[at + highWord] = (chunk[at + highWord]! & ~0xfff) | Math.floor(to / word);
        slot = chunk[at + olderWord]!;
      }
    }
  }

  #expire(side: Side, now: number): number {
    const window = this.#windows[side];
    let unmatched = 0;
    if (window === 0) return 0;
    for (;;) {
      const slot = this.#oldest[side];
      if (slot === 0 || this.timeOf(slot) + window > now) return unmatched;
      const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
      if ((chunk[at + highWord]! & usedFlag) === 0) unmatched += 1;
      this.#dropOldest(side, slot);
    }
  }

  /** The oldest event of a side is the first one of its key too. */
  #dropOldest(side: Side, slot: number): void {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    const print = chunk.subarray(at, at + 4);
    const next = side === "left" ? chunk[at + nextWord]! : 0;
    if (next === 0) {
      this.#tables[side].delete(print);
    } else {
      this.#chunk(next)[this.#at(next) + tailWord] = chunk[at + tailWord]!;
      this.#tables[side].set(print, next);
    }
    this.#release(side, slot);
  }

  #take(side: Side, print: Uint32Array, { id, time, segment, offset, length }: Arrival): number {
    const slot = this.#freeSlot();
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    for (let index = 0; index < 4; index += 1) chunk[at + index] = print[index]!;
    chunk[at + segmentWord] = segment;
    chunk[at + offsetWord] = offset;
    chunk[at + lengthWord] = length;
    chunk[at + timeWord] = time % word;
    chunk[at + idWord] = id % word;
    chunk[at + highWord] =
      (Math.floor(time / word) << timeShift) |
      (Math.floor(id / word) << idShift) |
      (side === "right" ? rightFlag : 0) |
      liveFlag;
    chunk[at + nextWord] = 0;
    chunk[at + tailWord] = slot;
    this.#append(side, slot);
    const held = this.#held[side];
    held.events += 1;
    held.bytes += length;
    this.#count(segment, 1, length);
    return slot;
  }

  /** Frees a slot that no key leads to any more. */
  #release(side: Side, slot: number): void {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    const [older, newer] = [chunk[at + olderWord]!, chunk[at + newerWord]!];
    if (older === 0) this.#oldest[side] = newer;
    else this.#chunk(older)[this.#at(older) + newerWord] = newer;
    if (newer === 0) this.#newest[side] = older;
    else this.#chunk(newer)[this.#at(newer) + olderWord] = older;
    const length = chunk[at + lengthWord]!;
    const held = this.#held[side];
    held.events -= 1;
    held.bytes -= length;
    this.#count(chunk[at + segmentWord]!, -1, length);
    chunk[at + highWord] = 0;
    chunk[at + nextWord] = this.#free;
    this.#free = slot;
  }

  #append(side: Side, slot: number): void {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    const newest = this.#newest[side];
    chunk[at + olderWord] = newest;
    chunk[at + newerWord] = 0;
    if (newest === 0) this.#oldest[side] = slot;
    else this.#chunk(newest)[this.#at(newest) + newerWord] = slot;
    this.#newest[side] = slot;
  }

  #count(segment: number, events: number, length: number): void {
    let held = this.#counted?.segment === segment ? this.#counted.held : this.#segments.get(segment);
    if (held === undefined) {
      held = { events: 0, bytes: 0 };
      this.#segments.set(segment, held);
    }
    // Events that follow each other are mostly in one segment.
    if (this.#counted?.held !== held) this.#counted = { segment, held };
    held.events += events;
    held.bytes += events * length;
    if (held.events > 0) return;
    this.#segments.delete(segment);
    this.#counted = undefined;
  }

  #freeSlot(): number {
    const free = this.#free;
    if (free !== 0) {
      this.#free = this.next(free);
      return free;
    }
    this.#slots += 1;
    if (this.#slots >= this.#chunks.length * chunkSlots) this.#chunks.push(new Uint32Array(chunkSlots * slotWords));
    return this.#slots;
  }

  #reorder(side: Side): void {
    const slots = this.#dropDoubled(side);
    this.#oldest[side] = 0;
    this.#newest[side] = 0;
    for (const slot of slots) this.#append(side, slot);
    if (side === "right") return;
    // The lists of the keys are made anew in the same order.
    for (const slot of slots) this.#chunk(slot)[this.#at(slot) + nextWord] = 0;
    const firsts = new Set<number>();
    for (const slot of slots) {
      const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
      const first = this.#tables.left.get(chunk.subarray(at, at + 4));
      if (firsts.has(first)) this.#link(first, slot);
      else {
        firsts.add(slot);
        this.#tables.left.set(chunk.subarray(at, at + 4), slot);
        chunk[at + tailWord] = slot;
      }
    }
  }

  /** The slots of a side in the order of their ids. Of an event that was moved within the log, the newest place counts. */
  #dropDoubled(side: Side): number[] {
    const slots: number[] = [];
    for (let slot = this.#oldest[side]; slot !== 0; slot = this.#chunk(slot)[this.#at(slot) + newerWord]!) {
      slots.push(slot);
    }
    // Slots of one id keep the order of the log.
    slots.sort((one, other) => this.idOf(one)! - this.idOf(other)!);
    const kept: number[] = [];
    for (const [index, slot] of slots.entries()) {
      const next = slots[index + 1];
      if (next === undefined || this.idOf(next) !== this.idOf(slot)) kept.push(slot);
      else {
        // The list of its key is made anew, and must not begin with a free slot.
        const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
        if (this.#tables[side].get(chunk.subarray(at, at + 4)) === slot) {
          this.#tables[side].set(chunk.subarray(at, at + 4), next);
        }
        this.#release(side, slot);
      }
    }
    return kept;
  }

  /** Adds a left event to the end of the list that begins with `first`. */
  #link(first: number, slot: number): void {
    const [head, at] = [this.#chunk(first), this.#at(first)];
    const tail = head[at + tailWord]!;
    this.#chunk(tail)[this.#at(tail) + nextWord] = slot;
    head[at + tailWord] = slot;
  }

  #hasKey(slot: number, words: Uint32Array): boolean {
    const [chunk, at] = [this.#chunk(slot), this.#at(slot)];
    return (
      chunk[at] === words[0] && chunk[at + 1] === words[1] && chunk[at + 2] === words[2] && chunk[at + 3] === words[3]
    );
  }

  #chunk(slot: number): Uint32Array {
    return this.#chunks[Math.floor(slot / chunkSlots)]!;
  }

  #at(slot: number): number {
    return (slot % chunkSlots) * slotWords;
  }
}
