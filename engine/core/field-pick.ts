import type { Event } from "./batch.ts";
import type { FieldNotes } from "./field-notes.ts";
import { KnownTexts } from "./known-texts.ts";
import { valueOf } from "./raw-reading.ts";

/** Stands for a value that was not read yet. */
const unread = Symbol("unread");

/** Where bytes spell a field letter by letter; `end` is 0 where none do. */
interface Spelling {
  start: number;
  end: number;
}

/**
 * Reads some fields of events, and no others: from the bytes of an event where its notes tell where they lie, else from
 * its whole object. Either way the values are the same. One for each stage that reads, as it is used again and again.
 */
export class FieldPick {
  readonly #names: readonly string[];
  readonly #isWhole: boolean;
  /** Has each field, and reads it when it is asked for. */
  readonly #record: Record<string, unknown> = {};
  readonly #values: unknown[];
  readonly #spelling: Spelling = { start: 0, end: 0 };
  readonly #texts = new KnownTexts();
  /** The event that is read: its bytes, where they begin, and where its notes do. */
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #places: Int32Array = new Int32Array(0);
  #first = 0;
  /** Names of the notes that were met last, and where the fields are among them; undefined where one is not. */
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
   * An object with these fields of the event; one that the event lacks is undefined, or there is no such key. It is good
   * until the next call. Undefined where the event is no JSON object.
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
