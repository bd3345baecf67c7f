import type { FieldType } from "../../../../schemas/pipeline.ts";
import { isObject } from "../../../event/objects.ts";
import { isRounded, plainNumber } from "../../../event/plain-numbers.ts";

/** A value, read by its source type. Whole numbers beyond 2^53 are bigints, so that they are never rounded. */
export type Scalar = string | boolean | number | bigint;
export type Value = Scalar | readonly unknown[] | Record<string, unknown>;

/** Reads a JSON value as its source type; undefined if it does not fit. Never called with null or undefined. */
export type Read = (value: unknown) => Value | undefined;

/** The most characters of a whole number: the digits of the widest one, and some leading zeros. */
const wholeText = /^[+-]?\d{1,100}$/;
const numberText = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "True", "TRUE"].map((text): [string, boolean] => [text, true]),
  ...["0", "f", "F", "false", "False", "FALSE"].map((text): [string, boolean] => [text, false]),
]);

/**
 * The readers of the source types. Bad text, and fractions for whole numbers, are refused: never written as 0 or cut.
 */
export const readers: Readonly<Record<FieldType, Read>> = {
  string: readText,
  bool: readBool,
  int: readWhole,
  uint: readUnsigned,
  float: readFloat,
  array: (value) => (Array.isArray(value) ? value : undefined),
  map: (value) => (isObject(value) ? value : undefined),
};

/**
 * Strings as they are, numbers in their shortest form, large ones with all their digits, objects and arrays as compact
 * JSON.
 */
export function readText(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
    case "bigint":
      return String(value);
    case "number":
      if (!isExact(value)) return undefined;
      return Number.isSafeInteger(value) || !Number.isInteger(value) ? String(value) : plainNumber(value);
    default:
      return isFaithful(value, 0) ? compact(value) : undefined;
  }
}

/** What `readText` accepts for a String column: completes "expected ...". */
export function expectedText(value: unknown): string {
  if (value === null) return "text";
  if (typeof value === "string") return "text of whole Unicode characters";
  if (typeof value === "number") return `a number written out in digits, or as a string${beyond}`;
  if (isTooDeep(value, 0)) return `a value of at most ${deepest} levels`;
  return `text, or a value with its numbers written out in digits or as strings${beyond}`;
}

const beyond = " (beyond 2^53 with more than 15 digits, an exponent or a decimal point leaves the digits unknown)";

/** The deepest nesting that is written as JSON text. Deeper values could exhaust the stack. */
export const deepest = 100;

/** Whether the digits of a number in an event are known: a number beyond the range of floats is infinite here. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && !isRounded(value);
}

/** Whether the JSON text of a value equals the value in the event. */
function isFaithful(value: unknown, depth: number): boolean {
  if (typeof value === "number") return isExact(value);
  if (typeof value !== "object" || value === null) return true;
  return depth < deepest && Object.values(value).every((inner) => isFaithful(inner, depth + 1));
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth >= deepest || Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}

/** JSON without spaces. Whole numbers beyond 2^53 keep their digits. */
export function compact(value: unknown, depth = 0): string {
  if (typeof value === "bigint") return value.toString();
  // JSON.parse reads 1e400 as Infinity, which has no spelling in JSON. Only errors show it.
  if (typeof value === "number" && !Number.isFinite(value)) return "a number beyond the range of 64-bit floats";
  if (depth > deepest) return "…";
  if (Array.isArray(value)) return `[${value.map((inner) => compact(inner, depth + 1)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}:${compact(inner, depth + 1)}`)
    .join(",")}}`;
}

function readBool(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return value !== 0;
  return typeof value === "string" ? truths.get(value) : undefined;
}

function readWhole(value: unknown): number | bigint | undefined {
  switch (typeof value) {
    case "number":
      return Number.isInteger(value) ? value : undefined;
    case "bigint":
      return value;
    case "boolean":
      return value ? 1 : 0;
    case "string":
      return wholeText.test(value) ? narrow(BigInt(value.replace(/^\+/, ""))) : undefined;
    default:
      return undefined;
  }
}

/** A negative number in a field of type uint fits no column. */
function readUnsigned(value: unknown): number | bigint | undefined {
  const number = readWhole(value);
  return number === undefined || number < 0 ? undefined : number;
}

/** Whether the type of a field refuses a value that its column would take: a negative number in one of type uint. */
export function isNegativeUnsigned(read: Read, value: unknown): boolean {
  return read === readUnsigned && readUnsigned(value) === undefined && readWhole(value) !== undefined;
}

/** The elements of an array or a map: a number other than 0 and 1 is no bool. */
export function readInnerBool(value: unknown): boolean | undefined {
  return typeof value === "number" && value !== 0 && value !== 1 ? undefined : readBool(value);
}

/** A float that JSON cannot write is a text, in ClickHouse's spelling. */
function readFloat(value: unknown): number | bigint | string | undefined {
  switch (typeof value) {
    case "number":
    case "bigint":
      return value;
    case "boolean":
      return value ? 1 : 0;
    case "string":
      return unwritten.get(value) ?? (numberText.test(value) ? Number(value) : undefined);
    default:
      return undefined;
  }
}

/** Floats that JSON cannot write, by the names that OTLP gives them, in ClickHouse's spelling. */
const unwritten: ReadonlyMap<string, string> = new Map([
  ["NaN", "nan"],
  ["Infinity", "inf"],
  ["-Infinity", "-inf"],
]);

function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The most characters of a value that an error shows. */
export const shown = 80;

/** A value as an error shows it: JSON, cut after 80 characters. */
export function shortened(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = compact(typeof value === "string" ? value.slice(0, shown + 1) : value);
  return text.length > shown ? `${text.slice(0, shown)}…` : text;
}
