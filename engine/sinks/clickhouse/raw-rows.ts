import { gapEnd, textEnd, textOf, valueEnd } from "./raw-json.ts";
import type { Walk } from "./raw-json.ts";

/** A key that events have. */
interface Key {
  /** Bytes of its spelling, which is with its quotes and the colon: at least four. */
  length: number;
  /** The spelling as numbers of four bytes each; the last ones may be among those before, too. */
  fours: Int32Array;
  /** Over the value of a mapped key; undefined for any other key. */
  walk: Walk | undefined;
  /** The number of the event that had it last, for a mapped key. */
  seen: number;
  /** The key that stood behind it last. */
  next: Key | undefined;
}

const [comma, colon, openObject, closeObject] = Buffer.from(",:{}");

/** Keys that are not mapped and yet remembered, as events may have any; and characters of the longest such key. */
const [mostKeys, longestKey] = [1000, 200];

/** Longer events are not sent whole: ClickHouse refuses rows that are longer than it thinks that JSON can be. */
const longestRow = 1 << 20;

/**
 * At most so much of an event may be keys that are not mapped, with their values. ClickHouse has to receive them and to
 * read over them, which soon costs more than encoding the others.
 */
const othersShare = 1 / 3;

/**
 * Tells which events are rows of JSONEachRow as they are: objects on one line that hold each mapped key once, with a
 * value that its walk passes, and beside them only a little other JSON. To everything that is not surely such an event,
 * the answer is no.
 *
 * Producers hardly ever change the order of their keys. So each key remembers which one stood behind it, and most are
 * found by comparing bytes with that one.
 */
export class RawRows {
  readonly #keys = new Map<string, Key>();
  readonly #mapped: number;
  /** Mapped names without their case: ClickHouse takes a key for a column also in another case. */
  readonly #folded: ReadonlySet<string>;
  /** Stands before the first key. */
  readonly #start = keyOf("-", undefined);
  /** Counts them, round and round. */
  #event = 0;

  /** `walks` are those over the values of the mapped keys, at least one. */
  constructor(walks: ReadonlyMap<string, Walk>) {
    for (const [name, walk] of walks) this.#keys.set(name, keyOf(name, walk));
    this.#mapped = walks.size;
    this.#folded = new Set([...walks.keys()].map((name) => name.toLowerCase()));
  }

  /** Whether the bytes from `start` to `end` are such an event. At `end` a line break has to stand, and `padding` behind it. */
  isRow(bytes: DataView, start: number, end: number): boolean {
    if (bytes.getUint8(start) !== openObject || end - start > longestRow) return false;
    this.#event = (this.#event + 1) | 0;
    let key = this.#start;
    let at = start + 1;
    let found = 0;
    let others = (end - start) * othersShare;
    for (;;) {
      const begin = at;
      const next = this.#keyAt(bytes, at, key.next);
      if (next === undefined || next.seen === this.#event) return false;
      key.next = next;
      key = next;
      at = gapEnd(bytes, at + key.length);
      if (key.walk === undefined) {
        at = valueEnd(bytes, at);
        others -= at - begin;
      } else {
        key.seen = this.#event;
        found += 1;
        at = key.walk(bytes, at);
      }
      if (at === 0 || others < 0) return false;
      const byte = bytes.getUint8(at);
      if (byte !== comma) return byte === closeObject && at + 1 === end && found === this.#mapped;
      at = gapEnd(bytes, at + 1);
    }
  }

  /** The key whose first quote is at a place; undefined where there is none, or none that a row may have. */
  #keyAt(bytes: DataView, at: number, expected: Key | undefined): Key | undefined {
    if (expected !== undefined && standsAt(bytes, at, expected)) return expected;
    const end = textEnd(bytes, at);
    if (end === 0 || bytes.getUint8(end) !== colon) return undefined;
    const name = textOf(bytes, at + 1, end - 1, "utf8");
    return this.#keys.get(name) ?? this.#remember(name);
  }

  #remember(name: string): Key | undefined {
    // With an escape, or in another case, it may be a mapped key to ClickHouse.
    if (name.includes("\\") || this.#folded.has(name.toLowerCase())) return undefined;
    // The empty one is shorter than the bytes that are compared at once.
    if (name === "" || name.length > longestKey) return undefined;
    if (this.#keys.size >= this.#mapped + mostKeys) this.#forget();
    const key = keyOf(name, undefined);
    this.#keys.set(name, key);
    return key;
  }

  /** Begins anew: where events bring ever new keys, the old ones are of no use. */
  #forget(): void {
    this.#start.next = undefined;
    for (const [name, key] of this.#keys) {
      key.next = undefined;
      if (key.walk === undefined) this.#keys.delete(name);
    }
  }
}

function keyOf(name: string, walk: Walk | undefined): Key {
  const spelling = Buffer.from(`"${name}":`);
  const { length } = spelling;
  const fours = Int32Array.from({ length: Math.ceil(length / 4) }, (_, index) =>
    spelling.readInt32LE(Math.min(4 * index, length - 4)),
  );
  return { length, fours, walk, seen: 0, next: undefined };
}

function standsAt(bytes: DataView, start: number, { length, fours }: Key): boolean {
  const last = fours.length - 1;
  for (let index = 0; index < last; index += 1) {
    if (bytes.getInt32(start + 4 * index, true) !== fours[index]) return false;
  }
  return bytes.getInt32(start + length - 4, true) === fours[last];
}
