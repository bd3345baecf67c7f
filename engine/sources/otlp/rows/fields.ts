import { fixed32, fixed64, lengthGiven, varint, deepest, type Wire } from "../protobuf/wire.ts";

/**
 * How a field is encoded. Where it occurs more than once, the last number or string counts; messages and lists of
 * numbers are parts, which all count.
 */
export type FieldKind = "varint" | "fixed64" | "fixed32" | "text" | "message" | "fixed64s" | "varints";

const [last, part, run] = [0, 8, 16];
const codes: Readonly<Record<FieldKind, number>> = {
  varint: last | varint,
  fixed64: last | fixed64,
  fixed32: last | fixed32,
  text: last | lengthGiven,
  message: part | lengthGiven,
  fixed64s: run | fixed64,
  varints: run | varint,
};
const unknown = 255;

/** The fields of a message that are read, by their numbers. Others are skipped. */
export interface MessageForm {
  readonly fields: Readonly<Record<number, FieldKind>>;
  /** Of these fields only the last one that occurs is set. */
  readonly oneOf?: readonly number[];
}

/**
 * Where the fields of one message lie. The pieces of a message that occurs several times are read one by one into the
 * same places, as protobuf merges them. Reused for each message of its form.
 */
export class Fields {
  /** For each part the number of its field, its start and its end. */
  parts = new Int32Array(3 * 16);
  partCount = 0;
  /** The first part of `oneOf` that counts: earlier ones belong to a field that was replaced. */
  firstPart = 0;
  /** Which one of `oneOf` is set; 0 for none. */
  chosen = 0;
  readonly #codes: Uint8Array;
  readonly #oneOf: Uint8Array;
  /**
   * For a number of 64 or 32 bits its place, or -1; for a string its start and end; for a varint its lower and upper
   * half.
   */
  readonly #places: Int32Array;
  readonly #blank: Int32Array;

  constructor({ fields, oneOf = [] }: MessageForm) {
    const count = Math.max(...Object.keys(fields).map(Number)) + 1;
    this.#codes = new Uint8Array(count).fill(unknown);
    this.#oneOf = new Uint8Array(count);
    this.#blank = new Int32Array(2 * count);
    for (const [number, kind] of Object.entries(fields)) {
      this.#codes[Number(number)] = codes[kind];
      if (kind === "fixed64" || kind === "fixed32") this.#blank[2 * Number(number)] = -1;
    }
    for (const number of oneOf) this.#oneOf[number] = 1;
    this.#places = this.#blank.slice();
  }

  /** Forgets the previous message. */
  begin(): void {
    this.#places.set(this.#blank);
    this.partCount = 0;
    this.firstPart = 0;
    this.chosen = 0;
  }

  /** Notes the fields of the message, or of another piece of it, that lies between `start` and `end`. */
  scan(wire: Wire, start: number, end: number, depth: number): void {
    if (depth > deepest) throw wire.tooDeep();
    wire.at = start;
    while (wire.at < end) {
      const tag = wire.tag(end);
      const number = tag >>> 3;
      const code = number < this.#codes.length ? this.#codes[number]! : unknown;
      const isRun = code >= run && (tag & 7) === lengthGiven;
      if (code === unknown || ((code & 7) !== (tag & 7) && !isRun)) {
        wire.skip(tag, end, depth);
        continue;
      }
      if (this.#oneOf[number] === 1) this.#choose(number);
      if (code < part) this.#note(wire, number, tag & 7, end);
      else this.#add(wire, number, tag & 7, end);
    }
  }

  /** Forgets the previous message, and notes the fields of this one. */
  read(wire: Wire, start: number, end: number, depth: number): void {
    this.begin();
    this.scan(wire, start, end, depth);
  }

  /** Forgets the previous message, and notes the fields of this one, which is parts `number` of another message. */
  readParts(wire: Wire, of: Fields, number: number, depth: number): void {
    this.begin();
    const { parts, partCount } = of;
    for (let at = of.#oneOf[number] === 1 ? 3 * of.firstPart : 0; at < 3 * partCount; at += 3) {
      if (parts[at] === number) this.scan(wire, parts[at + 1]!, parts[at + 2]!, depth);
    }
  }

  /** The start of the string, or the place of the number of 64 or 32 bits: -1 where it is absent. */
  start(number: number): number {
    return this.#places[2 * number]!;
  }

  /** The end of the string. */
  end(number: number): number {
    return this.#places[2 * number + 1]!;
  }

  /** The lower and upper 32 bits of a varint, signed; 0 where it is absent. */
  low(number: number): number {
    return this.#places[2 * number]!;
  }

  high(number: number): number {
    return this.#places[2 * number + 1]!;
  }

  /** The place in `parts` of the only part of this field; -1 if there is none, or several. */
  onlyPart(number: number): number {
    let only = -1;
    for (let at = 0; at < 3 * this.partCount; at += 3) {
      if (this.parts[at] !== number) continue;
      if (only >= 0) return -1;
      only = at;
    }
    return only;
  }

  #choose(number: number): void {
    if (this.chosen !== number) this.firstPart = this.partCount;
    this.chosen = number;
  }

  #note(wire: Wire, number: number, kind: number, end: number): void {
    const places = this.#places;
    if (kind === lengthGiven) {
      const stop = wire.content(end);
      places[2 * number] = wire.at;
      places[2 * number + 1] = stop;
      wire.at = stop;
    } else if (kind === varint) {
      wire.varint(end);
      places[2 * number] = wire.low;
      places[2 * number + 1] = wire.high;
    } else {
      places[2 * number] = wire.take(kind === fixed64 ? 8 : 4, end);
    }
  }

  /** A single number of a list counts as a list of one. */
  #add(wire: Wire, number: number, kind: number, end: number): void {
    let start = wire.at;
    if (kind === lengthGiven) {
      const stop = wire.content(end);
      start = wire.at;
      wire.at = stop;
    } else if (kind === varint) {
      wire.varint(end);
    } else {
      wire.take(8, end);
    }
    const at = 3 * this.partCount;
    if (at === this.parts.length) this.#grow();
    this.parts[at] = number;
    this.parts[at + 1] = start;
    this.parts[at + 2] = wire.at;
    this.partCount += 1;
  }

  #grow(): void {
    const parts = new Int32Array(2 * this.parts.length);
    parts.set(this.parts);
    this.parts = parts;
  }
}
