import type { FieldType } from "../../../../schemas/pipeline.ts";
import { bare, type ColumnType } from "../columns/column-type.ts";
import { gapEnd, isDigit, matches, textEnd, textOf, type Walk } from "../../../event/raw-json.ts";
import { rawFloat, rawInteger, shortUnsigned, shortWhole, wholeWithin } from "./raw-numbers.ts";
import { rawDay, rawTime } from "./raw-times.ts";
import { RawKeys } from "../../../event/raw-keys.ts";

const [yes, no] = [Buffer.from("true"), Buffer.from("false")];

/**
 * The walk that checks whether a value of a source type can be copied to the row unchanged; undefined where none can.
 * For each value that it passes: the converter of the pair accepts the value and its range; ClickHouse accepts the
 * bytes; and ClickHouse stores the same value as for the text of the converter.
 *
 * The third holds because the bytes are the same, except for four cases. A string may contain escapes. A float may have
 * only zeros after its point. A time may have more or fewer digits of a fraction than its column. Seconds for a
 * DateTime may be a number.
 *
 * Every other pair has no walk, as ClickHouse reads it by rules of its own or not at all: Decimal, IPv4, IPv6, JSON,
 * arrays, tuples and maps of anything but texts, numbers for a DateTime64, and whatever has to become text.
 */
export function rawWalk(source: FieldType, column: ColumnType): Walk | undefined {
  const type = bare(column);
  switch (source) {
    case "string":
      return textWalk(type);
    case "bool":
      return type.kind === "Bool" ? truthEnd : undefined;
    case "int":
    case "uint": {
      const isSigned = source === "int";
      if (type.kind === "Int" || type.kind === "UInt") return rawInteger(isSigned, type.kind === "Int", type.bits);
      if (type.kind === "DateTime") return seconds;
      return type.kind === "Float" ? (isSigned ? shortWhole : shortUnsigned) : undefined;
    }
    case "float":
      if (type.kind === "DateTime") return seconds;
      return type.kind === "Float" ? rawFloat(type.bits) : undefined;
    case "map":
      return type.kind === "Map" && isOfTexts(type) ? rawMap() : undefined;
    default:
      return undefined;
  }
}

function isOfTexts({ key, value }: Extract<ColumnType, { kind: "Map" }>): boolean {
  return bare(key).kind === "String" && bare(value).kind === "String";
}

const seconds = wholeWithin("", "4294967295");

function textWalk(type: ColumnType): Walk | undefined {
  switch (type.kind) {
    case "String":
      return textEnd;
    case "FixedString":
      return type.length === undefined ? textEnd : shortText(type.length);
    case "Enum":
      return type.members === undefined ? textEnd : memberOf([...type.members.keys()]);
    case "UUID":
      return uuidEnd;
    case "DateTime":
      return rawTime("2106-02-07T06:28:15");
    case "DateTime64":
      return rawTime(type.precision === 9 ? "2262-04-11T23:47:16" : "2299-12-31T23:59:59");
    case "Date":
      return rawDay("1970-01-01", "2149-06-06");
    case "Date32":
      return rawDay("1900-01-01", "2299-12-31");
    default:
      return undefined;
  }
}

/** At most so many bytes. An escape is never shorter than its character. */
function shortText(most: number): Walk {
  return (bytes, at) => {
    const end = textEnd(bytes, at);
    return end - at <= most + 2 ? end : 0;
  };
}

function memberOf(names: readonly string[]): Walk {
  const spelled = new Set(names.map((name) => Buffer.from(JSON.stringify(name)).toString("latin1")));
  return (bytes, at) => {
    const end = textEnd(bytes, at);
    return end !== 0 && spelled.has(textOf(bytes, at, end, "latin1")) ? end : 0;
  };
}

/** Of each byte: what it is in a UUID. */
const ofUuid = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (isDigit(byte) || isLetterOfUuid(byte | 0x20)) return 1;
  return byte === 0x2d ? 2 : byte === 0x22 ? 3 : 0;
});
const uuidLayout = Buffer.from('"00000000-0000-0000-0000-000000000000"').map((byte) => ofUuid[byte]!);

function isLetterOfUuid(letter: number): boolean {
  return letter >= 0x61 && letter <= 0x66;
}

function uuidEnd(bytes: DataView, start: number): number {
  for (let index = 0; index < uuidLayout.length; index += 1) {
    if (ofUuid[bytes.getUint8(start + index)] !== uuidLayout[index]) return 0;
  }
  return start + uuidLayout.length;
}

function truthEnd(bytes: DataView, at: number): number {
  if (matches(bytes, at, yes)) return at + yes.length;
  return matches(bytes, at, no) ? at + no.length : 0;
}

const [comma, openObject, closeObject] = Buffer.from(",{}");

/** Keys of the largest map that is walked. */
const mostKeys = 200;

/**
 * The values of a column that maps texts to texts. ClickHouse keeps every key that it is given, so none may stand there
 * twice. Nor may a key begin with a digit, because JavaScript moves numeric keys of an object to the front.
 */
function rawMap(): Walk {
  const keys = new RawKeys(new Map());
  let map = 0;
  return (bytes, start) => {
    if (bytes.getUint8(start) !== openObject) return 0;
    if (bytes.getUint8(start + 1) === closeObject) return start + 2;
    keys.makeRoom(mostKeys);
    map = (map + 1) | 0;
    let key = keys.start;
    let at = start + 1;
    for (let count = 0; count < mostKeys; count += 1) {
      const found = keys.at(bytes, at, key);
      if (found === undefined || found.seen === map || isDigit(bytes.getUint8(at + 1))) return 0;
      key = found;
      key.seen = map;
      const stop = textEnd(bytes, gapEnd(bytes, at + key.length));
      if (stop === 0) return 0;
      if (bytes.getUint8(stop) !== comma) return bytes.getUint8(stop) === closeObject ? stop + 1 : 0;
      at = gapEnd(bytes, stop + 1);
    }
    return 0;
  };
}
