import { gapEnd, matches, textEnd, valueEnd } from "./raw-json.ts";
import type { Walk } from "./raw-json.ts";

/** A key that events have. */
interface Key {
  /** Its bytes, with the quotes and the colon. */
  spelling: Buffer;
  /** Over the value of a mapped key; undefined for any other key. */
  walk: Walk | undefined;
  /** The number of the event that had it last, for a mapped key. */
  seen: number;
  /** The key that stood behind it last. */
  next: Key | undefined;
}

const [comma, colon, openObject, closeObject] = Buffer.from(",:{}");

/** Keys that are not mapped and yet remembered, as events may have any; and the bytes of the longest such key. */
const [mostKeys, longestKey] = [1000, 200];

/** Longer events are not sent whole: ClickHouse refuses rows that are longer than it thinks that JSON can be. */
const longestRow = 1 << 20;

/**
 * An event may be a row as it is if at most a third of its bytes are of keys that are not mapped: ClickHouse has to read
 * over them, which costs more than encoding the rest.
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
  readonly #start = keyOf("", undefined);
  /** Counts them, round and round. */
  #event = 0;

  /** `walks` are those over the values of the mapped keys, at least one. */
  constructor(walks: ReadonlyMap<string, Walk>) {
    for (const [name, walk] of walks) this.#keys.set(name, keyOf(name, walk));
    this.#mapped = walks.size;
    this.#folded = new Set([...walks.keys()].map((name) => name.toLowerCase()));
  }

  /** Whether the bytes from `start` to `end` are such an event. A line break has to stand at `end`. */
  isRow(bytes: Buffer, start: number, end: number): boolean {
    if (bytes[start] !== openObject || end - start > longestRow) return false;
    this.#event = (this.#event + 1) | 0;
    let [key, at, found, others] = [this.#start, start + 1, 0, (end - start) * othersShare];
    for (;;) {
      const begin = at;
      const next = this.#keyAt(bytes, at, key.next);
      if (next === undefined || next.seen === this.#event) return false;
      key.next = next;
      key = next;
      at = gapEnd(bytes, at + key.spelling.length);
      if (key.walk === undefined) {
        at = valueEnd(bytes, at);
        others -= at - begin;
      } else {
        key.seen = this.#event;
        found += 1;
        at = key.walk(bytes, at);
      }
      if (at === 0 || others < 0) return false;
      if (bytes[at] !== comma) return bytes[at] === closeObject && at + 1 === end && found === this.#mapped;
      at = gapEnd(bytes, at + 1);
    }
  }

  /** The key whose first quote is at a place; undefined where there is none, or none that a row may have. */
  #keyAt(bytes: Buffer, at: number, expected: Key | undefined): Key | undefined {
    if (expected !== undefined && matches(bytes, at, expected.spelling)) return expected;
    const end = textEnd(bytes, at);
    if (end === 0 || bytes[end] !== colon) return undefined;
    const name = bytes.toString("utf8", at + 1, end - 1);
    return this.#keys.get(name) ?? this.#remember(name);
  }

  #remember(name: string): Key | undefined {
    // With an escape, or in another case, it may be a mapped key to ClickHouse.
    if (name.includes("\\") || this.#folded.has(name.toLowerCase()) || name.length > longestKey) return undefined;
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
  return { spelling: Buffer.from(`"${name}":`), walk, seen: 0, next: undefined };
}
