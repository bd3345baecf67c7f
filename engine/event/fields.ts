import type { Event } from "./event.ts";
import { mayHoldWide, parseExactly } from "./exact-json.ts";

/**
 * Where the fields that will be read lie in the bytes of some events, as a walk over these bytes found them: each name
 * at most once, as a key of the event itself.
 */
export class FieldNotes {
  readonly names: readonly string[];
  /**
   * Of each event and field two numbers, counted from where the event begins: where the value begins and where it ends;
   * both 0 where the event has no such field. The start is negative for a text with escapes or with letters beyond
   * ASCII, whose bytes do not spell it letter by letter.
   */
  readonly places: Int32Array;

  constructor(names: readonly string[], events: number) {
    this.names = names;
    this.places = new Int32Array(2 * names.length * events);
  }

  /** The index in `places` of a field, for the event with that place. */
  at(place: number, note: number): number {
    return 2 * (place * this.names.length + note);
  }
}

/** Stands for a value that was not read yet. */
const unread = Symbol("unread");

/** Where bytes spell a field letter by letter; `end` is 0 where they do not. */
interface Spelling {
  start: number;
  end: number;
}

/**
 * Reads some fields of events: from the bytes of an event where its notes have their places, otherwise from its parsed
 * object. The values are the same. Each stage that reads has one of its own and reuses it.
 */
export class FieldPick {
  readonly #names: readonly string[];
  readonly #isWhole: boolean;
  /** Has a getter for each field. */
  readonly #record: Record<string, unknown> = {};
  readonly #values: unknown[];
  readonly #spelling: Spelling = { start: 0, end: 0 };
  readonly #texts = new KnownTexts();
  /** The event that is read: its bytes, where they begin, and where its notes do. */
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #places: Int32Array = new Int32Array(0);
  #first = 0;
  /** The names of the last notes, and where the fields are among them; undefined where one is not. */
  #noted: readonly string[] = [];
  #indexes: readonly number[] | undefined;

  /** `names` are keys of the event itself; undefined where it may be any of them. */
  constructor(names: Iterable<string> | undefined) {
    this.#isWhole = names === undefined;
    this.#names = [...new Set(names)];
    this.#values = this.#names.map(() => unread);
    for (const [index, name] of this.#names.entries()) {
      Object.defineProperty(this.#record, name, { get: () => this.#read(index), enumerable: true });
    }
  }

  /**
   * An object with these fields of the event; one that the event lacks is undefined, or there is no such key. It is
   * good until the next call. Undefined where the event is not a JSON object.
   */
  of(event: Event): Record<string, unknown> | undefined {
    if (this.#isWhole || !this.#turnTo(event)) return event.record;
    for (let index = 0; index < this.#values.length; index += 1) this.#values[index] = unread;
    return this.#record;
  }

  /** Where the bytes of an event spell one of the fields, by its index among the names. Good until the next call. */
  spelling(event: Event, index: number): Readonly<Spelling> {
    this.#spelling.end = 0;
    if (!this.#turnTo(event)) return this.#spelling;
    const at = this.#first + 2 * this.#indexes![index]!;
    const begin = this.#places[at]!;
    if (begin <= 0) return this.#spelling;
    this.#spelling.start = this.#start + begin;
    this.#spelling.end = this.#start + this.#places[at + 1]!;
    return this.#spelling;
  }

  /** Whether the fields of an event are noted. */
  #turnTo({ notes, place, within, start }: Event): boolean {
    if (notes === undefined || within === undefined || !this.#knows(notes)) return false;
    this.#bytes = within;
    this.#start = start;
    this.#places = notes.places;
    this.#first = notes.at(place, 0);
    return true;
  }

  #knows({ names }: FieldNotes): boolean {
    if (names !== this.#noted) {
      const indexes = this.#names.map((name) => names.indexOf(name));
      this.#noted = names;
      this.#indexes = indexes.includes(-1) ? undefined : indexes;
    }
    return this.#indexes !== undefined;
  }

  #read(index: number): unknown {
    const known = this.#values[index];
    if (known !== unread) return known;
    const at = this.#first + 2 * this.#indexes![index]!;
    const begin = this.#places[at]!;
    const value =
      begin === 0
        ? undefined
        : valueOf(
            this.#bytes,
            this.#start + Math.abs(begin),
            this.#start + this.#places[at + 1]!,
            begin > 0 ? this.#texts : undefined,
          );
    this.#values[index] = value;
    return value;
  }
}

/** Texts that are remembered, and the letters of the longest. */
const [slots, longest] = [256, 32];

/** One in this many unknown texts is remembered: frequent ones soon are. */
const oneIn = 8;

/**
 * Makes texts of bytes, each of ASCII letters, and remembers frequent short ones, such as names and levels: finding a
 * text takes much less time than making one.
 */
export class KnownTexts {
  readonly #texts: string[] = Array.from({ length: slots }, () => "");
  /** Of each slot the bytes of its text. */
  readonly #bytes = new Uint8Array(slots * longest);
  #unknown = 0;

  /** The text of the bytes from `start` until before `end`. */
  of(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length > longest || length === 0) return bytes.toString("latin1", start, end);
    const slot = (31 * bytes[end - 1]! + 17 * bytes[start + (length >> 1)]! + 7 * bytes[start]! + length) % slots;
    const known = this.#texts[slot]!;
    if (known.length === length && this.#holds(slot, bytes, start, length)) return known;
    const text = bytes.toString("latin1", start, end);
    this.#unknown += 1;
    if (this.#unknown % oneIn === 0) this.#remember(slot, text, bytes, start);
    return text;
  }

  /** Compares from the end: similar texts, such as paths and order numbers, mostly differ there. */
  #holds(slot: number, bytes: Buffer, start: number, length: number): boolean {
    const first = slot * longest;
    for (let at = length - 1; at >= 0; at -= 1) if (this.#bytes[first + at] !== bytes[start + at]) return false;
    return true;
  }

  #remember(slot: number, text: string, bytes: Buffer, start: number): void {
    for (let at = 0; at < text.length; at += 1) this.#bytes[slot * longest + at] = bytes[start + at]!;
    this.#texts[slot] = text;
  }
}

const [quote, minus, point, letterT, letterF, letterN, zero] = Buffer.from('"-.tfn0') as unknown as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/** Digits that a double holds exactly, whatever they are. */
const exactDigits = 15;
const powersOfTen = Array.from({ length: exactDigits + 1 }, (_, exponent) => 10 ** exponent);

/**
 * The value of JSON that lies in bytes, as a parse of the whole event would give it: whole numbers outside the safe
 * range are bigints. The bytes have been walked. `texts` are given where they spell a text letter by letter.
 */
function valueOf(bytes: Buffer, start: number, end: number, texts: KnownTexts | undefined): unknown {
  switch (bytes[start]) {
    case quote:
      return texts === undefined ? parsed(bytes, start, end) : texts.of(bytes, start + 1, end - 1);
    case letterT:
      return true;
    case letterF:
      return false;
    case letterN:
      return null;
    default:
      return shortNumber(bytes, start, end) ?? parsed(bytes, start, end);
  }
}

/** A number of a few digits, with or without a point; undefined for anything else. */
function shortNumber(bytes: Buffer, start: number, end: number): number | undefined {
  const isNegative = bytes[start] === minus;
  const first = isNegative ? start + 1 : start;
  if (end - first > exactDigits) return undefined;
  let digits = 0;
  let decimals = 0;
  let afterPoint = 0;
  for (let at = first; at < end; at += 1) {
    const byte = bytes[at]!;
    const digit = byte - zero;
    if (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      decimals += afterPoint;
    } else if (byte === point) afterPoint = 1;
    else return undefined;
  }
  // Both are exact, so that their quotient is the double next to the number, as in a parse.
  const size = decimals === 0 ? digits : digits / powersOfTen[decimals]!;
  return isNegative ? -size : size;
}

function parsed(bytes: Buffer, start: number, end: number): unknown {
  const text = bytes.toString("utf8", start, end);
  return mayHoldWide(bytes.subarray(start, end)) ? parseExactly(text) : (JSON.parse(text) as unknown);
}
