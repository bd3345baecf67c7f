import { AnyValues } from "./any-values.ts";
import { Fields } from "./fields.ts";
import { JsonBytes, writeNumber } from "./json-bytes.ts";
import { Timestamps } from "./timestamps.ts";
import { Wire } from "../protobuf/wire.ts";

const [openObject, closeObject] = Buffer.from("{}");

/** The bytes of an id: other lengths are invalid, says the protocol. */
export const idBytes = { trace: 16, span: 8 } as const;

const attributesKey = Buffer.from(',"attributes":');

/** Writes the members of rows that all signals have, from the fields of the message that becomes a row. */
export class RowWriter {
  readonly wire: Wire;
  readonly out: JsonBytes;
  readonly values: AnyValues;
  readonly origin: Origin;
  /** Where each row ends. */
  readonly ends: number[] = [];
  /** Data points without a recorded value that are no rows. */
  leftOut = 0;
  /** Spans that are no rows, as they have no valid ids. */
  refused = 0;
  readonly #timestamps = new Timestamps();
  /** The halves of the time of arrival, in nanoseconds since the epoch. */
  readonly #arrival: readonly [high: number, low: number];

  /** `receivedAt`: in milliseconds since the epoch. */
  constructor(request: Buffer, out: JsonBytes, receivedAt: number) {
    const arrival = BigInt(receivedAt) * 1_000_000n;
    this.#arrival = [Number(arrival >> 32n), Number(arrival & 0xffffffffn)];
    this.wire = new Wire(request);
    this.out = out;
    this.values = new AnyValues(this.wire);
    this.origin = new Origin(this.wire, this.values);
  }

  /** Writes a key, given with a comma before it and its colon: `,"body":`. */
  key(json: Uint8Array): void {
    this.out.put(json);
  }

  /** Makes an object of the members that were written since `start`. */
  close(start: number): void {
    this.out.byte(closeObject!);
    // The brace replaces the comma before the first member.
    this.out.bytes[start] = openObject!;
  }

  /**
   * Writes a time; where it is unknown, which 0 says in OTLP, the time `other`, else that of arrival: in 1970 a TTL would
   * remove the row at once.
   */
  timestamp(fields: Fields, number: number, other = number): void {
    if (this.isKnown(fields, number)) this.#time(fields, number);
    else if (this.isKnown(fields, other)) this.#time(fields, other);
    else this.#timestamps.write(this.out, this.#arrival[0], this.#arrival[1]);
  }

  /** Writes a time; null where it is unknown, as the beginning of a gauge is. */
  timestampOrNull(fields: Fields, number: number): void {
    if (this.isKnown(fields, number)) this.#time(fields, number);
    else this.out.ascii("null");
  }

  /** Whether a time is there, and is not 0. */
  isKnown(fields: Fields, number: number): boolean {
    const place = fields.start(number);
    return place >= 0 && (this.wire.uint32(place + 4) | this.wire.uint32(place)) !== 0;
  }

  #time(fields: Fields, number: number): void {
    const place = fields.start(number);
    this.#timestamps.write(this.out, this.wire.uint32(place + 4), this.wire.uint32(place));
  }

  text(fields: Fields, number: number): void {
    this.out.text(this.wire.bytes, fields.start(number), fields.end(number));
  }

  /** Writes the key and the string, unless it is empty. */
  textUnlessEmpty(json: Uint8Array, fields: Fields, number: number): void {
    if (fields.start(number) === fields.end(number)) return;
    this.key(json);
    this.text(fields, number);
  }

  /** Writes the key and the id's bytes as hexadecimal digits, if it is valid. */
  idIfValid(json: Uint8Array, fields: Fields, number: number, length: number): void {
    if (!this.isValidId(fields, number, length)) return;
    this.key(json);
    this.out.hex(this.wire.bytes, fields.start(number), fields.end(number));
  }

  /** Whether an id has its length in bytes, and is not all zeros. */
  isValidId(fields: Fields, number: number, length: number): boolean {
    const end = fields.end(number);
    return end - fields.start(number) === length && !this.isZero(fields, number);
  }

  /** Whether all bytes of an id are zeros, as where there are none. */
  isZero(fields: Fields, number: number): boolean {
    const { bytes } = this.wire;
    const end = fields.end(number);
    for (let at = fields.start(number); at < end; at += 1) if (bytes[at] !== 0) return false;
    return true;
  }

  /** Writes the lower 32 bits of a varint as an unsigned number. */
  uint32(fields: Fields, number: number): void {
    this.out.digits(fields.low(number) >>> 0);
  }

  /** Writes an enum's number, which may be negative. */
  enumNumber(fields: Fields, number: number): void {
    const low = fields.low(number);
    this.out.int64(low >> 31, low);
  }

  fixed32(fields: Fields, number: number): void {
    const place = fields.start(number);
    this.out.digits(place < 0 ? 0 : this.wire.uint32(place));
  }

  /**
   * Ends the row that began at `start` with the members of its scope, and with its own attributes, which are parts
   * `number` of its message.
   */
  end(start: number, fields: Fields, number: number, depth: number): void {
    this.out.append(this.origin.members);
    this.attributes(fields, number, depth);
    this.close(start);
    this.ends.push(this.out.length);
  }

  /** Takes back the row that was written last, and that began at `start`. */
  undo(start: number): void {
    this.out.dropAfter(start);
    this.ends.pop();
  }

  /** Writes the attributes of a message at `depth`, with their key. */
  attributes(fields: Fields, number: number, depth: number): void {
    this.key(attributesKey);
    this.values.attributes(this.out, fields, number, depth + 1);
  }

  /** Writes the key and null. */
  missing(json: Uint8Array): void {
    this.key(json);
    this.out.ascii("null");
  }

  /** Writes the key and a constant word, which needs no escapes. */
  name(json: Uint8Array, name: string): void {
    this.key(json);
    this.out.quoted(name);
  }

  /** Writes a signed whole number of 32 bits, whose sign is its lowest bit. */
  sint32(fields: Fields, number: number): void {
    const low = fields.low(number);
    const value = (low >>> 1) ^ -(low & 1);
    this.out.int64(value >> 31, value);
  }

  /** Writes the key and a double; `absent` where it is absent. */
  double(json: Uint8Array, fields: Fields, number: number, absent: "0" | "null"): void {
    const place = fields.start(number);
    this.key(json);
    if (place < 0) this.out.ascii(absent);
    else writeNumber(this.out, this.wire.double(place));
  }

  /** Writes the key and an unsigned whole number of 64 bits; 0 where it is absent. */
  count(json: Uint8Array, fields: Fields, number: number): void {
    const place = fields.start(number);
    this.key(json);
    if (place < 0) this.out.digits(0);
    else this.out.uint64(this.wire.uint32(place + 4), this.wire.uint32(place));
  }
}

const resourceKey = Buffer.from(',"resource_attributes":');
const nameKey = Buffer.from(',"scope_name":');
const versionKey = Buffer.from(',"scope_version":');
const originAttributesKey = Buffer.from(',"scope_attributes":');

/** The JSON members that all rows of one scope have. They are written once. */
class Origin {
  members: Buffer = Buffer.alloc(0);
  readonly #json = new JsonBytes(1024);
  readonly #wire: Wire;
  readonly #values: AnyValues;
  readonly #resource = new Fields({ fields: { 1: "message", 2: "varint" } });
  readonly #scope = new Fields({ fields: { 1: "text", 2: "text", 3: "message", 4: "varint" } });
  /** Where the members of the resource end. */
  #resourceEnd = 0;

  constructor(wire: Wire, values: AnyValues) {
    this.#wire = wire;
    this.#values = values;
  }

  /** Reads the resource that is parts 1 of a message at `depth`. Read its scope next. */
  turnToResource(of: Fields, depth: number): void {
    this.#resource.readParts(this.#wire, of, 1, depth);
    this.#json.length = 0;
    this.#json.put(resourceKey);
    this.#values.attributes(this.#json, this.#resource, 1, depth + 1);
    this.#resourceEnd = this.#json.length;
  }

  /** Reads the scope that is parts 1 of a message at `depth`. */
  turnToScope(of: Fields, depth: number): void {
    const json = this.#json;
    const scope = this.#scope;
    const { bytes } = this.#wire;
    scope.readParts(this.#wire, of, 1, depth);
    json.length = this.#resourceEnd;
    json.put(nameKey);
    json.text(bytes, scope.start(1), scope.end(1));
    if (scope.end(2) > scope.start(2)) {
      json.put(versionKey);
      json.text(bytes, scope.start(2), scope.end(2));
    }
    json.put(originAttributesKey);
    this.#values.attributes(json, scope, 3, depth + 1);
    this.members = json.written();
  }
}
