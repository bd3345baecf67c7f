import { exactWhole } from "../../../event/plain-numbers.ts";
import type { WireWriter } from "../protobuf/wire-writer.ts";

/** Writes a JSON value as a scalar; returns what was expected where the value does not fit. */
type WriteScalar = (writer: WireWriter, value: unknown) => string | undefined;

const [two32, two64] = [2 ** 32, 2n ** 64n];
const hexDigits = /^(?:[\da-f]{2})*$/i;
const base64 = /^[\w+/-]*={0,2}$/;
/** Lengths of the ids of traces and spans in base64, with and without padding, and their lengths in bytes. */
const base64Ids: Readonly<Record<number, number>> = { 24: 16, 22: 16, 12: 8, 11: 8 };
const namedDoubles: Readonly<Record<string, number>> = { NaN: NaN, Infinity, "-Infinity": -Infinity };

/** The writers of scalar types, from their spelling in OTLP/JSON. */
export const scalars: Readonly<Record<string, WriteScalar>> = {
  string: (writer, value) => {
    if (typeof value !== "string") return "a string";
    writer.content(value);
    return undefined;
  },
  bool: (writer, value) => {
    if (typeof value !== "boolean") return "true or false";
    writer.uint32(value ? 1 : 0);
    return undefined;
  },
  double: (writer, value) => {
    const number = doubleOf(value);
    if (number === undefined) return 'a number, "NaN", "Infinity" or "-Infinity"';
    writer.double(number);
    return undefined;
  },
  bytes: (writer, value) => {
    if (typeof value !== "string" || !base64.test(value)) return "a string of base64";
    writer.content(Buffer.from(value, "base64"));
    return undefined;
  },
  int32: whole(-(2n ** 31n), 2n ** 31n - 1n, (writer, high, low) => writer.varint(high, low)),
  uint32: whole(0n, 2n ** 32n - 1n, (writer, high, low) => writer.varint(high, low)),
  int64: whole(-(2n ** 63n), 2n ** 63n - 1n, (writer, high, low) => writer.varint(high, low)),
  uint64: whole(0n, two64 - 1n, (writer, high, low) => writer.varint(high, low)),
  sint32: whole(-(2n ** 31n), 2n ** 31n - 1n, (writer, _high, low) => writer.uint32((low << 1) ^ (low >> 31))),
  fixed32: whole(0n, 2n ** 32n - 1n, (writer, _high, low) => writer.fixed32(low)),
  fixed64: whole(0n, two64 - 1n, (writer, high, low) => writer.fixed64(high, low)),
  sfixed64: whole(-(2n ** 63n), 2n ** 63n - 1n, (writer, high, low) => writer.fixed64(high, low)),
};

/** The id of a trace or a span: hexadecimal, or base64 where the length shows it. */
export const id: WriteScalar = (writer, value) => {
  if (typeof value !== "string") return "a string of hexadecimal digits";
  if (hexDigits.test(value)) {
    writer.content(Buffer.from(value, "hex"));
    return undefined;
  }
  const bytes = base64.test(value) ? Buffer.from(value, "base64") : undefined;
  if (bytes === undefined || bytes.length !== base64Ids[value.length]) return "an even number of hexadecimal digits";
  writer.content(bytes);
  return undefined;
};

/** An enum's number, or its name. */
export function enumScalar(numbers: Readonly<Record<string, number>>): WriteScalar {
  return (writer, value) => {
    const isName = typeof value === "string" && Object.hasOwn(numbers, value);
    const problem = scalars["int32"]!(writer, isName ? numbers[value] : value);
    return problem === undefined ? undefined : "a number or a name of its enum";
  };
}

function whole(
  least: bigint,
  most: bigint,
  write: (writer: WireWriter, high: number, low: number) => void,
): WriteScalar {
  return (writer, value) => {
    const number = wholeOf(value);
    if (number === undefined || number < least || number > most) return `a whole number from ${least} to ${most}`;
    if (typeof number === "number") write(writer, Math.floor(number / two32) | 0, number | 0);
    else write(writer, Number(BigInt.asIntN(32, number >> 32n)), Number(BigInt.asIntN(32, number)));
    return undefined;
  };
}

/** Wide numbers are bigints, strings of digits, or have an exponent, such as 1.7e18. */
function wholeOf(value: unknown): number | bigint | undefined {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return exactWhole(value);
  if (typeof value !== "string") return undefined;
  if (/^-?\d{1,20}$/.test(value)) return BigInt(value);
  return /^-?\d{1,20}(?:\.\d{1,20})?[eE]\+?\d{1,2}$/.test(value) ? exactWhole(Number(value)) : undefined;
}

function doubleOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "string") return undefined;
  if (Object.hasOwn(namedDoubles, value)) return namedDoubles[value];
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value) ? Number(value) : undefined;
}
