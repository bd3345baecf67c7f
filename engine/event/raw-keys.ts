import { textEnd, textOf, type Walk } from "./raw-json.ts";

/** Kinds of JSON values, as errors name them. */
export type JsonKind = "string" | "number" | "bool" | "array" | "object" | "null";

/** A bit for each kind. */
export const kindBits: Readonly<Record<JsonKind, number>> = {
  string: 1,
  number: 2,
  bool: 4,
  array: 8,
  object: 16,
  null: 32,
};

export const anyKind = 0xff;

/** Of each byte: the bit of the kind whose values begin with it; 0 where none does. */
export const kindsBeginning: Uint8Array = beginnings({
  string: '"',
  number: "-0123456789",
  bool: "tf",
  array: "[",
  object: "{",
  null: "n",
});

function beginnings(of: Readonly<Record<JsonKind, string>>): Uint8Array {
  const bits = new Uint8Array(256);
  for (const [kind, letters] of Object.entries(of)) {
    for (const byte of Buffer.from(letters)) bits[byte] = kindBits[kind as JsonKind];
  }
  return bits;
}

/** What a scan checks and notes at a key that it was given. */
export interface KeyChecks {
  /** Bits of the kinds that its value may be of, see `kindBits`. */
  kinds: number;
  /** 1 where an event must have it, with a value of those kinds; else 0. */
  declared: 0 | 1;
  /** Reads over the value, where it is mapped to a column. */
  walk: Walk | undefined;
  /** 1 where a row must have it; else 0. */
  needed: 0 | 1;
  /** A row may have null there. */
  isNullable: boolean;
  /** Which of the noted fields it is; -1 for none. */
  note: number;
}

/** A key that events have. */
export interface Key extends KeyChecks {
  /** Bytes of its spelling, with the quotes and the colon: at least four. */
  readonly length: number;
  /** The spelling as numbers of four bytes each; the last number may overlap the one before. */
  readonly fours: Int32Array;
  /** It was given to the scan: an event must not have it twice. */
  readonly isGiven: boolean;
  /** It is not mapped, but ClickHouse may read it as a mapped key. */
  readonly isConfusing: boolean;
  /** Its value must be a text. */
  readonly isText: boolean;
  /** The number of the event that had it last. */
  seen: number;
  /** The key that came after it last. */
  next: Key | undefined;
}

const colon = 0x3a;
const nothing: KeyChecks = { kinds: anyKind, declared: 0, walk: undefined, needed: 0, isNullable: false, note: -1 };

/** The most other keys that are remembered, since events may have any; and characters of the longest key. */
const [mostKeys, longestKey] = [1000, 200];

/**
 * The keys of events, found by their bytes. Producers rarely change the order of their keys. So each key remembers the
 * one that came after it, and most are found by one comparison with that.
 */
export class RawKeys {
  /** Precedes the first key. */
  readonly start: Key;
  readonly #keys = new Map<string, Key>();
  readonly #given: number;
  /** Mapped names in lower case: ClickHouse matches keys with columns without regard to case. */
  readonly #folded: ReadonlySet<string>;

  constructor(checked: ReadonlyMap<string, KeyChecks>) {
    const mapped = [...checked].filter(([, { walk }]) => walk !== undefined);
    this.#folded = new Set(mapped.map(([name]) => name.toLowerCase()));
    this.#given = checked.size;
    this.start = keyOf("-", nothing, false, false);
    for (const [name, checks] of checked) {
      if (isUsual(name)) this.#keys.set(name, keyOf(name, checks, true, this.#isConfusing(name, checks)));
    }
  }

  /**
   * The key whose first quote is at a place, after the key `before`; undefined where there is none, or an unusual one.
   */
  at(bytes: DataView, at: number, before: Key): Key | undefined {
    const expected = before.next;
    if (expected !== undefined) {
      if (standsAt(bytes, at, expected)) return expected;
      // Some events lack the expected key. It stays the next one, so that those that have it find it again.
      const following = expected.next;
      if (following !== undefined && standsAt(bytes, at, following)) return following;
    }
    const found = this.#find(bytes, at);
    if (found !== undefined) before.next = found;
    return found;
  }

  #find(bytes: DataView, at: number): Key | undefined {
    const end = textEnd(bytes, at);
    if (end === 0 || bytes.getUint8(end) !== colon) return undefined;
    const name = textOf(bytes, at + 1, end - 1, "utf8");
    return this.#keys.get(name) ?? this.#remember(name);
  }

  #isConfusing(name: string, { walk }: KeyChecks): boolean {
    return walk === undefined && this.#folded.has(name.toLowerCase());
  }

  #remember(name: string): Key | undefined {
    // With an escape it may spell any key.
    if (name.includes("\\") || !isUsual(name)) return undefined;
    if (this.#keys.size >= this.#given + mostKeys) this.#forget();
    const key = keyOf(name, nothing, false, this.#isConfusing(name, nothing));
    this.#keys.set(name, key);
    return key;
  }

  /** Makes room for `count` more keys, so that none is dropped while they are read. */
  makeRoom(count: number): void {
    if (this.#keys.size + count > this.#given + mostKeys) this.#forget();
  }

  /** Starts over: where events keep bringing new keys, the old ones are of no use. */
  #forget(): void {
    this.start.next = undefined;
    for (const [name, key] of this.#keys) {
      key.next = undefined;
      if (!key.isGiven) this.#keys.delete(name);
    }
  }
}

/** The empty name is shorter than the bytes that are compared at once. */
function isUsual(name: string): boolean {
  return name !== "" && name.length <= longestKey;
}

function keyOf(name: string, checks: KeyChecks, isGiven: boolean, isConfusing: boolean): Key {
  const spelling = Buffer.from(`"${name}":`);
  const { length } = spelling;
  const fours = Int32Array.from({ length: Math.ceil(length / 4) }, (_, index) =>
    spelling.readInt32LE(Math.min(4 * index, length - 4)),
  );
  const { kinds, declared, walk, needed, isNullable, note } = checks;
  const isText = walk === textEnd || (walk === undefined && kinds === kindBits.string);
  const given = { kinds, declared, walk, needed, isNullable, note, isGiven };
  return { length, fours, ...given, isConfusing, isText, seen: 0, next: undefined };
}

function standsAt(bytes: DataView, start: number, { length, fours }: Key): boolean {
  const last = fours.length - 1;
  for (let index = 0; index < last; index += 1) {
    if (bytes.getInt32(start + 4 * index, true) !== fours[index]) return false;
  }
  return bytes.getInt32(start + length - 4, true) === fours[last];
}
