import type { Event } from "../../event/event.ts";
import { fieldReader, keysRead, type ReadField } from "../../event/field-path.ts";
import { FieldPick } from "../../event/fields.ts";
import { dedupKeyText } from "./dedup-key.ts";
import type { Fingerprints } from "./fingerprint.ts";

const [quote, minus, zero, nine] = Buffer.from('"-09') as unknown as [number, number, number, number];

/** Whole numbers of so many digits have one text, which is their spelling. */
const mostDigits = 15;

/** Reads the keys of events and makes their fingerprints, from their bytes alone where these spell the key's text. */
export class KeyReader {
  /** Keys of an event that it asks for. */
  readonly reads: readonly string[];
  /** The fingerprint that was made last. */
  readonly print = new Uint32Array(4);
  readonly #read: ReadField;
  readonly #fields: FieldPick;
  readonly #prints: Fingerprints;

  /** `name` is that of the field, which may be a path. */
  constructor(name: string, prints: Fingerprints) {
    this.reads = keysRead(name);
    this.#read = fieldReader(name);
    this.#fields = new FieldPick(this.reads);
    this.#prints = prints;
  }

  /** Makes the fingerprint of an event's key; false if the event has none. */
  makePrint(event: Event): boolean {
    if (this.#isMadeOfBytes(event)) return true;
    const text = dedupKeyText(this.value(event));
    if (text === undefined) return false;
    this.#prints.of(text, this.print, 0);
    return true;
  }

  /** What the field holds. */
  value(event: Event): unknown {
    return this.#read(this.#fields.of(event) ?? {});
  }

  #isMadeOfBytes(event: Event): boolean {
    const { start, end } = this.#fields.spelling(event, 0);
    const bytes = event.within;
    if (bytes === undefined || end === 0) return false;
    if (bytes[start] === quote) {
      if (end - start === 2) return false;
      this.#prints.ofLetters(bytes, start + 1, end - 1, this.print, 0);
      return true;
    }
    if (!isShortWhole(bytes, start, end)) return false;
    this.#prints.ofLetters(bytes, start, end, this.print, 0);
    return true;
  }
}

/** Whether a number is spelled as its own text: whole, of few digits, and not `-0`. */
function isShortWhole(bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start] === minus ? start + 1 : start;
  if (end - first > mostDigits || (first > start && bytes[first] === zero)) return false;
  for (let at = first; at < end; at += 1) if (bytes[at]! < zero || bytes[at]! > nine) return false;
  return true;
}
