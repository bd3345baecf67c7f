import { plainNumber } from "../../../event/plain-numbers.ts";
import { JsonBytes } from "./json-bytes.ts";
import { Fields, type MessageForm } from "./fields.ts";
import { Pairs } from "./pairs.ts";
import type { Wire } from "../protobuf/wire.ts";

const [text, bool, int, double, array, pairs, bytes] = [1, 2, 3, 4, 5, 6, 7];
const form: MessageForm = {
  fields: { 1: "text", 2: "varint", 3: "varint", 4: "fixed64", 5: "message", 6: "message", 7: "text" },
  oneOf: [1, 2, 3, 4, 5, 6, 7],
};
/** The tags of a value that is just a string, a bool, an integer or a double. */
const [textTag, boolTag, intTag, doubleTag] = [0x0a, 0x10, 0x18, 0x21];
const [quote, comma, colon, openObject, closeObject, openArray, closeArray] = Buffer.from('",:{}[]');

/** The buffers for one level of nested values. */
class Level {
  readonly value = new Fields(form);
  /** An array's or a list's. */
  readonly list = new Fields({ fields: { 1: "message" } });
  readonly pairs = new Pairs();
}

/**
 * Writes the values of attributes and bodies, and lists of attributes. `depth` is the nesting depth of the message to
 * write.
 */
export class AnyValues {
  readonly #wire: Wire;
  readonly #levels: Level[] = [];
  /** The JSON of an array or list that a row holds as a string. */
  readonly #nested = new JsonBytes(256);

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** Writes a list of attributes, which is parts `number` of a message, as an object of strings. */
  attributes(out: JsonBytes, of: Fields, number: number, depth: number): void {
    this.#object(out, of, number, depth, true);
  }

  /** Writes the value that is parts `number` of a message as a string. */
  text(out: JsonBytes, of: Fields, number: number, depth: number): void {
    const only = of.onlyPart(number);
    if (only >= 0 && this.#usualText(out, of.parts[only + 1]!, of.parts[only + 2]!)) return;
    const { value } = this.#level(depth);
    value.readParts(this.#wire, of, number, depth);
    this.#checkReplaced(value, depth);
    this.#asText(out, value, depth);
  }

  #level(depth: number): Level {
    return (this.#levels[depth] ??= new Level());
  }

  #object(out: JsonBytes, of: Fields, number: number, depth: number, isText: boolean): void {
    const { pairs: list } = this.#level(depth);
    list.collect(this.#wire, of, number, depth);
    out.byte(openObject!);
    const counting = list.counting(this.#wire);
    if (counting === undefined) {
      for (let pair = 0; pair < list.count; pair += 1) {
        if (pair > 0) out.byte(comma!);
        this.#pair(out, list, pair, depth, isText);
      }
    } else {
      this.#checkOthers(out, list, new Set(counting), depth, isText);
      for (const [index, pair] of counting.entries()) {
        if (index > 0) out.byte(comma!);
        this.#pair(out, list, pair, depth, isText);
      }
    }
    out.byte(closeObject!);
  }

  /** Reads the replaced pairs too, because a malformed one makes the request malformed. */
  #checkOthers(out: JsonBytes, list: Pairs, counting: ReadonlySet<number>, depth: number, isText: boolean): void {
    const { length } = out;
    for (let pair = 0; pair < list.count; pair += 1) {
      if (!counting.has(pair)) this.#pair(out, list, pair, depth, isText);
      out.length = length;
    }
  }

  #pair(out: JsonBytes, list: Pairs, pair: number, depth: number, isText: boolean): void {
    out.text(this.#wire.bytes, list.keyStart(pair), list.keyEnd(pair));
    out.byte(colon!);
    const start = list.valueStart(pair);
    if (isText && start >= 0 && this.#usualText(out, start, list.valueEnd(pair))) return;
    const { value } = this.#level(depth + 1);
    if (start >= 0) value.read(this.#wire, start, list.valueEnd(pair), depth + 1);
    else value.readParts(this.#wire, list.other(this.#wire, pair, depth), 2, depth + 1);
    this.#checkReplaced(value, depth + 1);
    if (isText) this.#asText(out, value, depth + 1);
    else this.#asJson(out, value, depth + 1);
  }

  /** Writes a value that is just a string, a bool, an integer or a double; false for all others. */
  #usualText(out: JsonBytes, start: number, end: number): boolean {
    const wire = this.#wire;
    const tag = end - start < 2 ? 0 : wire.bytes[start];
    if (tag === textTag) {
      let from = start + 2;
      let size = wire.bytes[start + 1]!;
      if (size > 127 && from < end && wire.bytes[from]! < 128) {
        size = (size & 127) | (wire.bytes[from]! << 7);
        from += 1;
      }
      if (from + size !== end) return false;
      out.text(wire.bytes, from, end);
      return true;
    }
    if (tag === doubleTag && end - start === 9) {
      out.quoted(plainNumber(wire.double(start + 1)));
      return true;
    }
    if (tag !== boolTag && tag !== intTag) return false;
    wire.at = start + 1;
    wire.varint(end);
    if (wire.at !== end) return false;
    if (tag === boolTag) out.quoted((wire.low | wire.high) === 0 ? "false" : "true");
    else writeQuotedInt(out, wire.high, wire.low);
    return true;
  }

  #asText(out: JsonBytes, value: Fields, depth: number): void {
    switch (value.chosen) {
      case bool:
        return out.quoted(isTrue(value) ? "true" : "false");
      case int:
        return writeQuotedInt(out, value.high(int), value.low(int));
      case double:
        return out.quoted(plainNumber(this.#wire.double(value.start(double))));
      case bytes:
        return out.hex(this.#wire.bytes, value.start(bytes), value.end(bytes));
      case array:
      case pairs:
        this.#nested.length = 0;
        this.#asJson(this.#nested, value, depth);
        out.text(this.#nested.bytes, 0, this.#nested.length);
        return;
      default:
        out.text(this.#wire.bytes, value.start(text), value.end(text));
    }
  }

  #asJson(out: JsonBytes, value: Fields, depth: number): void {
    const { list } = this.#level(depth);
    switch (value.chosen) {
      case text:
        out.text(this.#wire.bytes, value.start(text), value.end(text));
        return;
      case bool:
        return out.ascii(isTrue(value) ? "true" : "false");
      case int:
        return out.int64(value.high(int), value.low(int));
      case double:
        return writeDecimal(out, this.#wire.double(value.start(double)));
      case bytes:
        return out.hex(this.#wire.bytes, value.start(bytes), value.end(bytes));
      case array:
        list.readParts(this.#wire, value, array, depth + 1);
        return this.#elements(out, list, depth + 2);
      case pairs:
        list.readParts(this.#wire, value, pairs, depth + 1);
        return this.#object(out, list, 1, depth + 2, false);
      default:
        out.ascii("null");
    }
  }

  #elements(out: JsonBytes, { parts, partCount }: Fields, depth: number): void {
    const { value } = this.#level(depth);
    out.byte(openArray!);
    for (let part = 0; part < partCount; part += 1) {
      if (part > 0) out.byte(comma!);
      value.read(this.#wire, parts[3 * part + 1]!, parts[3 * part + 2]!, depth);
      this.#checkReplaced(value, depth);
      this.#asJson(out, value, depth);
    }
    out.byte(closeArray!);
  }

  /** Reads the arrays and lists that a later value has replaced: they may be malformed. */
  #checkReplaced({ parts, firstPart }: Fields, depth: number): void {
    if (firstPart === 0) return;
    const { list } = this.#level(depth);
    const { length } = this.#nested;
    for (let part = 0; part < firstPart; part += 1) {
      list.read(this.#wire, parts[3 * part + 1]!, parts[3 * part + 2]!, depth + 1);
      if (parts[3 * part] === array) this.#elements(this.#nested, list, depth + 2);
      else this.#object(this.#nested, list, 1, depth + 2, false);
      this.#nested.length = length;
    }
  }
}

function isTrue(value: Fields): boolean {
  return (value.low(bool) | value.high(bool)) !== 0;
}

function writeQuotedInt(out: JsonBytes, high: number, low: number): void {
  out.byte(quote!);
  out.int64(high, low);
  out.byte(quote!);
}

/** NaN and infinities, which JSON does not have, are strings. */
function writeDecimal(out: JsonBytes, value: number): void {
  if (Number.isFinite(value)) out.ascii(plainNumber(value));
  else out.quoted(plainNumber(value));
}
