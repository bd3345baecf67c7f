import { Fields } from "./fields.ts";
import type { Wire } from "../protobuf/wire.ts";

/** The numbers noted for each pair: start and end of its key and of its value, and a fingerprint of the key. */
const width = 5;
/** Up to this many keys are compared pairwise. */
const few = 32;
const [keyTag, valueTag] = [0x0a, 0x12];

/** The pairs of one attribute list, and which of them count: for each key the last pair. */
export class Pairs {
  count = 0;
  readonly #pair = new Fields({ fields: { 1: "text", 2: "message" } });
  #notes = new Int32Array(width * 16);

  /** Notes the pairs that are parts `number` of a message. Their values are not read. */
  collect(wire: Wire, of: Fields, number: number, depth: number): void {
    this.count = 0;
    const { parts, partCount } = of;
    for (let at = 0; at < 3 * partCount; at += 3) {
      if (parts[at] !== number) continue;
      if (width * (this.count + 1) > this.#notes.length) this.#grow();
      if (!this.#noteUsual(wire.bytes, parts[at + 1]!, parts[at + 2]!)) {
        this.#noteOther(wire, parts[at + 1]!, parts[at + 2]!, depth);
      }
      this.count += 1;
    }
  }

  keyStart(pair: number): number {
    return this.#notes[width * pair]!;
  }

  keyEnd(pair: number): number {
    return this.#notes[width * pair + 1]!;
  }

  /** Where the only piece of the value begins; -1 where the value has to be read with `other`. */
  valueStart(pair: number): number {
    return Math.max(-1, this.#notes[width * pair + 2]!);
  }

  valueEnd(pair: number): number {
    return this.#notes[width * pair + 3]!;
  }

  /** The fields of a pair that is not encoded as usual; its value is parts 2. */
  other(wire: Wire, pair: number, depth: number): Fields {
    this.#pair.read(wire, -2 - this.#notes[width * pair + 2]!, this.valueEnd(pair), depth);
    return this.#pair;
  }

  /** The pairs that count, each at the place of the first with its key; undefined where all do. */
  counting({ bytes }: Wire): readonly number[] | undefined {
    if (this.count < 2 || (this.count <= few && this.#areSurelyDistinct(bytes))) return undefined;
    const last = new Map<string, number>();
    for (let pair = 0; pair < this.count; pair += 1) {
      // Latin-1 is one to one, so that different keys that are not UTF-8 stay different.
      last.set(bytes.toString("latin1", this.keyStart(pair), this.keyEnd(pair)), pair);
    }
    return last.size === this.count ? undefined : [...last.values()];
  }

  /** Notes a pair that is its key and then its value, as all exporters write it. */
  #noteUsual(bytes: Buffer, start: number, end: number): boolean {
    const keyStart = start + 2;
    if (end - start < 4 || bytes[start] !== keyTag || bytes[start + 1]! > 127) return false;
    const keyEnd = keyStart + bytes[start + 1]!;
    if (keyEnd + 2 > end || bytes[keyEnd] !== valueTag) return false;
    let valueStart = keyEnd + 2;
    let size = bytes[keyEnd + 1]!;
    if (size > 127 && valueStart < end && bytes[valueStart]! < 128) {
      size = (size & 127) | (bytes[valueStart]! << 7);
      valueStart += 1;
    }
    if (valueStart + size !== end) return false;
    this.#note(keyStart, keyEnd, valueStart, end, bytes);
    return true;
  }

  #noteOther(wire: Wire, start: number, end: number, depth: number): void {
    this.#pair.read(wire, start, end, depth);
    this.#note(this.#pair.start(1), this.#pair.end(1), -2 - start, end, wire.bytes);
  }

  #note(keyStart: number, keyEnd: number, valueStart: number, valueEnd: number, bytes: Buffer): void {
    const at = width * this.count;
    const notes = this.#notes;
    notes[at] = keyStart;
    notes[at + 1] = keyEnd;
    notes[at + 2] = valueStart;
    notes[at + 3] = valueEnd;
    notes[at + 4] = fingerprint(bytes, keyStart, keyEnd);
  }

  /** Keys beyond ASCII may have several encodings, and are compared as strings. */
  #areSurelyDistinct(bytes: Buffer): boolean {
    const notes = this.#notes;
    for (let pair = 0; pair < this.count; pair += 1) {
      const print = notes[width * pair + 4]!;
      if (print === beyondAscii) return false;
      for (let other = 0; other < pair; other += 1) {
        if (notes[width * other + 4] === print && this.#areEqual(bytes, pair, other)) return false;
      }
    }
    return true;
  }

  #areEqual(bytes: Buffer, pair: number, other: number): boolean {
    const start = this.keyStart(pair);
    const otherStart = this.keyStart(other);
    const length = this.keyEnd(pair) - start;
    if (length !== this.keyEnd(other) - otherStart) return false;
    for (let index = 0; index < length; index += 1) {
      if (bytes[start + index] !== bytes[otherStart + index]) return false;
    }
    return true;
  }

  #grow(): void {
    const notes = new Int32Array(2 * this.#notes.length);
    notes.set(this.#notes);
    this.#notes = notes;
  }
}

const beyondAscii = -1;

/** Differs for most different keys. */
function fingerprint(bytes: Buffer, start: number, end: number): number {
  let print = end - start;
  let all = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!;
    all |= byte;
    print = (Math.imul(print, 31) + byte) | 0;
  }
  return all > 127 ? beyondAscii : print >>> 1;
}
