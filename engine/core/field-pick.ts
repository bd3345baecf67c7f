import { Event } from "./batch.ts";
import type { FieldNotes } from "./field-notes.ts";
import { valueOf } from "./raw-reading.ts";

interface Spelling {
  start: number;
  end: number;
}

/** Stands for a value that was not read yet. */
const unread = Symbol("unread");

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
  #event = new Event(0, 0, {});
  /** Names of the notes that were last met, and where the fields are among them; undefined where one is not. */
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
    const { notes } = event;
    if (this.#isWhole || notes === undefined || !this.#knows(notes)) return event.record;
    this.#event = event;
    this.#values.fill(unread);
    return this.#record;
  }

  /**
   * Where the bytes of an event spell a field letter by letter, by the field's index among the names; `end` is 0 where
   * they do not, or nobody knows. Good until the next call.
   */
  spelling(event: Event, index: number): Readonly<Spelling> {
    const spelling = this.#spelling;
    const { notes, place, start } = event;
    spelling.end = 0;
    if (notes === undefined || !this.#knows(notes)) return spelling;
    const at = notes.at(place, this.#indexes![index]!);
    const begin = notes.places[at]!;
    if (begin <= 0) return spelling;
    spelling.start = start + begin;
    spelling.end = start + notes.places[at + 1]!;
    return spelling;
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
    return known === unread ? (this.#values[index] = noted(this.#event, this.#indexes![index]!)) : known;
  }
}

/** The value of a noted field; undefined where the event has no such field. */
function noted({ within, notes, place, start }: Event, note: number): unknown {
  const at = notes!.at(place, note);
  const begin = notes!.places[at]!;
  if (begin === 0) return undefined;
  return valueOf(within!, start + Math.abs(begin), start + notes!.places[at + 1]!, begin > 0);
}
