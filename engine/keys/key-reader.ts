import type { Event } from "../event/event.ts";
import { fieldReader, keysRead, type ReadField } from "../event/field-path.ts";
import { FieldPick } from "../event/fields.ts";
import type { Fingerprints } from "./fingerprint.ts";

const [quote, minus, zero, nine] = Buffer.from('"-09') as unknown as [number, number, number, number];

/** Whole numbers of up to this many digits are spelled exactly as their text. */
const mostDigits = 15;

/** Reads the keys of events and makes their fingerprints. */
export interface KeyReader {
  /** The keys of an event that it reads. */
  readonly reads: readonly string[];
  /** The fingerprint that was made last. */
  readonly print: Uint32Array;
  /** Makes the fingerprint of an event's key; false if the event has none. */
  makePrint(event: Event): boolean;
  /** The field of an event without a key that is no key, and what it holds. */
  missing(event: Event): [field: string, value: unknown];
}

/** The text of a value as a key, which equal values share; undefined for a value that cannot be a key. */
export type KeyText = (value: unknown) => string | undefined;

/**
 * The reader of a key of one field, or of several that are one key together. Fields may be paths. `textOf` decides what
 * can be a key; it must return the text of a string with letters unchanged.
 */
export function keyReader(fields: readonly string[], prints: Fingerprints, textOf: KeyText = dedupKeyText): KeyReader {
  const [first = "", ...others] = fields;
  if (others.length === 0) return new FieldKeyReader(first, prints, textOf);
  return new SeveralFieldsReader(fields, prints, textOf);
}

/** A key of one field. Its fingerprint is made straight from the bytes where these are the text of the key. */
class FieldKeyReader implements KeyReader {
  readonly reads: readonly string[];
  readonly print = new Uint32Array(4);
  readonly #name: string;
  readonly #read: ReadField;
  readonly #fields: FieldPick;
  readonly #prints: Fingerprints;
  readonly #textOf: KeyText;

  constructor(name: string, prints: Fingerprints, textOf: KeyText) {
    this.#textOf = textOf;
    this.#name = name;
    this.reads = keysRead(name);
    this.#read = fieldReader(name);
    this.#fields = new FieldPick(this.reads);
    this.#prints = prints;
  }

  makePrint(event: Event): boolean {
    if (this.#isMadeOfBytes(event)) return true;
    const text = this.#textOf(this.#value(event));
    if (text === undefined) return false;
    this.#prints.of(text, this.print, 0);
    return true;
  }

  missing(event: Event): [field: string, value: unknown] {
    return [this.#name, this.#value(event)];
  }

  #value(event: Event): unknown {
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

/** A key of several fields, whose texts are joined with their lengths: no two lists of texts make one key. */
class SeveralFieldsReader implements KeyReader {
  readonly reads: readonly string[];
  readonly print = new Uint32Array(4);
  readonly #read: readonly (readonly [name: string, read: ReadField])[];
  readonly #fields: FieldPick;
  readonly #prints: Fingerprints;
  readonly #textOf: KeyText;

  constructor(names: readonly string[], prints: Fingerprints, textOf: KeyText) {
    this.#textOf = textOf;
    this.reads = [...new Set(names.flatMap(keysRead))];
    this.#read = names.map((name) => [name, fieldReader(name)]);
    this.#fields = new FieldPick(this.reads);
    this.#prints = prints;
  }

  makePrint(event: Event): boolean {
    const record = this.#fields.of(event) ?? {};
    let key = "";
    for (const [, read] of this.#read) {
      const text = this.#textOf(read(record));
      if (text === undefined) return false;
      key += `${text.length}:${text}`;
    }
    this.#prints.of(key, this.print, 0);
    return true;
  }

  missing(event: Event): [field: string, value: unknown] {
    const record = this.#fields.of(event) ?? {};
    for (const [name, read] of this.#read) {
      const value = read(record);
      if (this.#textOf(value) === undefined) return [name, value];
    }
    throw new Error("expected an event without a key, found one with all of its fields");
  }
}

/** Whether a number is spelled as its own text: whole, of few digits, and not `-0`. */
function isShortWhole(bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start] === minus ? start + 1 : start;
  if (end - first > mostDigits || (first > start && bytes[first] === zero)) return false;
  for (let at = first; at < end; at += 1) if (bytes[at]! < zero || bytes[at]! > nine) return false;
  return true;
}

/**
 * The text of a dedup key, which equal values share; undefined for a value that cannot be a key: nothing, null, an
 * empty string, an array, an object, and numbers beyond 64-bit floats, all of which JSON.parse reads as Infinity.
 *
 * Types are not distinguished: the string `1` and the number 1 are one key. Numbers that are equal have one text: whole
 * ones all their digits, so 1, 1.0 and 1e0 are one key, 1e21 is a one and twenty-one zeros, and -0 is 0; others the
 * shortest text that reads as the same 64-bit float, such as `0.1` and `1e-7`. A number with a fraction, an exponent or
 * more than 80 digits was rounded to a float when it was parsed.
 */
export function dedupKeyText(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value === "number") return numberText(value);
  return typeof value === "bigint" || typeof value === "boolean" ? String(value) : undefined;
}

/** As `dedupKeyText`, but an empty string is a key like any other. */
export function joinKeyText(value: unknown): string | undefined {
  return value === "" ? "" : dedupKeyText(value);
}

/** What a value is that cannot be a key, as errors name it. */
export function keyKindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" ? "a number beyond the range of 64-bit floats" : "an object";
}

/** The error of an event whose dedup key `name` has a value without a key text: a dead letter, by the component `ingestor`. */
export function badDedupKey(name: string, value: unknown): string {
  const missing = value === undefined || value === null ? " is missing" : "";
  const found = `expected a string with text, a number or a bool, found ${keyKindOf(value)}`;
  return `failed to validate data: dedup key ${name}${missing}: ${found}`;
}

function numberText(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined;
  // Beyond the safe range String pads with zeros, which differ from the digits of an equal bigint.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? String(BigInt(value)) : String(value);
}
