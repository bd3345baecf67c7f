import type { Mapping } from "../../../../schemas/pipeline.ts";
import { columnTypeText, isNullable } from "./column-type.ts";
import type { ColumnType, ColumnTypeProblem } from "./column-type.ts";
import { geometries } from "./geometries.ts";
import { json, tuple } from "./structured-grammar.ts";

/** Deeper nesting than any real table has: a longer chain of brackets is refused instead of followed. */
const deepest = 16;
const longest = 100_000;

type Parsed = ColumnType | ColumnTypeProblem;
type Arguments = readonly string[] | undefined;

const notYet = /^(Object|AggregateFunction|QBit|Nothing|Interval\w*)\b/;

/**
 * Reads a column type: trimmed, case-sensitive, as ClickHouse spells it. The text of a problem completes a sentence
 * that begins with the column type.
 */
export function parseColumnType(text: string): ColumnType | ColumnTypeProblem {
  return text.length > longest ? { problem: `is longer than ${longest} characters` } : parse(text.trim(), 0);
}

export function isProblem(parsed: Parsed): parsed is ColumnTypeProblem {
  return "problem" in parsed;
}

/** The column type that a mapping configures. Throws an Error that names field and column if it is invalid. */
export function configuredType(entry: Mapping): ColumnType {
  const parsed = parseColumnType(entry.column_type);
  if (isProblem(parsed)) {
    throw new Error(
      `mapping of field "${entry.name}" to column "${entry.column_name}": column_type ${entry.column_type} ${parsed.problem}`,
    );
  }
  return parsed;
}

function parse(text: string, depth: number): Parsed {
  if (depth > deepest) return { problem: `is nested deeper than ${deepest} levels` };
  const match = /^([A-Za-z][A-Za-z0-9]*)\s*(?:\(([\s\S]*)\))?$/.exec(text);
  if (match === null) return { problem: `is not a column type such as String or Array(Int64)` };
  const [, name = "", inner] = match;
  const list = inner === undefined ? undefined : splitArguments(inner);
  if (notYet.test(name)) return { problem: `is not supported yet` };
  return plain(name, list) ?? parameterised(name, list, depth) ?? { problem: unsupported };
}

const unsupported = `is an unsupported column type; expected Bool, Int8..Int256, UInt8..UInt256, Float32, Float64, BFloat16, Decimal(P, S), String, FixedString(N), UUID, Enum8, Enum16, Date, Date32, DateTime, DateTime64, Time, Time64, IPv4, IPv6, JSON, Dynamic, Point, Ring, LineString, MultiLineString, Polygon, MultiPolygon, Geometry, or some of them in Nullable, LowCardinality, Array, Map, Tuple, Nested or Variant`;

/** Types that take no argument. */
function plain(name: string, list: Arguments): Parsed | undefined {
  if (list !== undefined) return undefined;
  const number = /^(Int|UInt)(8|16|32|64|128|256)$|^(Float)(32|64)$/.exec(name);
  if (number !== null) {
    const bits = Number(number[2] ?? number[4]) as 32 | 64;
    return { kind: (number[1] ?? number[3]) as "Int" | "Float", bits };
  }
  switch (name) {
    case "Bool":
    case "String":
    case "UUID":
    case "Date":
    case "Date32":
    case "IPv4":
    case "IPv6":
    case "FixedString":
    case "BFloat16":
    case "Time":
    case "Dynamic":
      return { kind: name };
    case "Time64":
      return { kind: "Time64", precision: 3 };
    case "JSON":
      return json([], () => ({ problem: unsupported }));
    case "DateTime":
    case "DateTime32":
      return { kind: "DateTime" };
    case "DateTime64":
      return { kind: "DateTime64", precision: 3 };
    case "Enum8":
    case "Enum16":
      return { kind: "Enum", bits: name === "Enum8" ? 8 : 16 };
    default:
      return geometries.get(name);
  }
}

function parameterised(name: string, list: Arguments, depth: number): Parsed | undefined {
  if (list === undefined) return undefined;
  switch (name) {
    case "FixedString":
      return fixedString(list);
    case "DateTime":
    case "DateTime32":
      return withZone({ kind: "DateTime" }, list);
    case "DateTime64":
      return dateTime64(list);
    case "Time64":
      return time64(list);
    case "Dynamic":
      return dynamic(list);
    case "Variant":
      return variant(list, depth);
    case "Nested":
      return nested(list, depth);
    case "Decimal":
      return decimal(list);
    case "Enum8":
    case "Enum16":
      return enumeration(name === "Enum8" ? 8 : 16, list);
    case "Array":
    case "Nullable":
    case "LowCardinality":
      return wrapper(name, list, depth);
    case "Map":
      return map(list, depth);
    case "Tuple":
      return tuple(list, (text) => parse(text, depth + 1));
    case "JSON":
      return json(list, (text) => parse(text, depth + 1));
    default:
      return undefined;
  }
}

function integer(text: string | undefined, from: number, to: number): number | undefined {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= from && value <= to ? value : undefined;
}

function fixedString(list: readonly string[]): Parsed {
  const length = list.length === 1 ? integer(list[0], 1, 0xffffff) : undefined;
  return length === undefined
    ? { problem: "needs its length in bytes, such as FixedString(16)" }
    : { kind: "FixedString", length };
}

function decimal(list: readonly string[]): Parsed {
  const precision = integer(list[0], 1, 76);
  const scale = list.length === 1 ? 0 : integer(list[1], 0, precision ?? 0);
  if (precision === undefined || scale === undefined || list.length > 2) {
    return { problem: "needs a precision from 1 to 76 and a scale up to it, such as Decimal(18, 4)" };
  }
  return { kind: "Decimal", precision, scale };
}

const insideNullable =
  /^(Bool|String|UUID|Date|Date32|IPv4|IPv6|Int|UInt|Float|BFloat16|FixedString|Enum|DateTime|DateTime64|Time|Time64|Decimal|Tuple|JSON)$/;
const insideLowCardinality =
  /^(Nullable|String|UUID|Date|Date32|IPv4|IPv6|Int|UInt|Float|BFloat16|FixedString|DateTime|Time)$/;
/** The key of a map is a text in JSON, from which ClickHouse reads none of the others. */
const keyOfMap =
  /^(String|UUID|Date|Date32|IPv4|IPv6|Int|UInt|Float|BFloat16|FixedString|Enum|DateTime|DateTime64|Time|Time64|Decimal)$/;

function wrapper(kind: "Array" | "Nullable" | "LowCardinality", list: readonly string[], depth: number): Parsed {
  const of = list.length === 1 ? parse(list[0] ?? "", depth + 1) : undefined;
  if (of === undefined) return { problem: `needs one type, such as ${kind}(String)` };
  if (isProblem(of)) return { problem: `holds ${list[0]}, which ${of.problem}` };
  const inside = kind === "Nullable" ? insideNullable : insideLowCardinality;
  if (kind !== "Array" && !inside.test(of.kind)) return { problem: `cannot hold ${list[0]}` };
  return { kind, of };
}

function map(list: readonly string[], depth: number): Parsed {
  if (list.length !== 2) return { problem: "needs a key and a value type, such as Map(String, String)" };
  const [key, value] = [parse(list[0] ?? "", depth + 1), parse(list[1] ?? "", depth + 1)];
  if (isProblem(key)) return { problem: `has the key type ${list[0]}, which ${key.problem}` };
  if (isProblem(value)) return { problem: `has the value type ${list[1]}, which ${value.problem}` };
  const keyKind = key.kind === "LowCardinality" ? key.of.kind : key.kind;
  if (!keyOfMap.test(keyKind)) {
    return { problem: "needs a key that is a text, a number, a date, a time, an Enum, a UUID or an address" };
  }
  return { kind: "Map", key, value };
}

function time64(list: readonly string[]): Parsed {
  return list.length === 1 && /^\d$/.test(list[0] ?? "")
    ? { kind: "Time64", precision: Number(list[0]) }
    : { problem: "needs a precision from 0 to 9, such as Time64(3)" };
}

function dynamic(list: readonly string[]): Parsed {
  const [, digits] = list.length === 1 ? (/^max_types\s*=\s*(\d{1,3})$/.exec(list[0] ?? "") ?? []) : [];
  return digits !== undefined && Number(digits) <= 254
    ? { kind: "Dynamic", most: Number(digits) }
    : { problem: "needs nothing, or a limit from 0 to 254 such as Dynamic(max_types=16)" };
}

function variant(list: readonly string[], depth: number): Parsed {
  const types: ColumnType[] = [];
  for (const text of list) {
    const of = parse(text, depth + 1);
    if (isProblem(of)) return { problem: `holds ${text === "" ? "nothing" : text}, which ${of.problem}` };
    if (isNullable(of) || of.kind === "Dynamic") return { problem: `cannot hold ${text}` };
    types.push(of);
  }
  const byText = new Map(types.map((type) => [columnTypeText(type), type]));
  return {
    kind: "Variant",
    types: [...byText].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, of]) => of),
  };
}

/** ClickHouse's other spelling of an array of tuples. A table that flattens it has an Array column for each element. */
function nested(list: readonly string[], depth: number): Parsed {
  const of = tuple(list, (text) => parse(text, depth + 1));
  if (isProblem(of)) return of;
  const hasNames = of.kind === "Tuple" && of.names !== undefined;
  return hasNames ? { kind: "Array", of } : { problem: "needs a name for each element, such as Nested(a String)" };
}

const quotes: ReadonlySet<string> = new Set(["'", "`", '"']);

/** Splits at the commas outside of brackets and quotes, and trims the parts. */
function splitArguments(inner: string): string[] {
  const parts: string[] = [];
  let [depth, from, quote] = [0, 0, ""];
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at] ?? "";
    if (quote !== "") {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (quotes.has(char)) quote = char;
    else if (char === "(") depth++;
    else if (char === ")") depth--;
    else if (char === "," && depth === 0) {
      parts.push(inner.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(inner.slice(from).trim());
  return parts;
}

/** `'name' = number`, or a name alone, whose number is the previous one plus 1 (the first is 1). */
function enumeration(bits: 8 | 16, list: readonly string[]): ColumnType | ColumnTypeProblem {
  const members = new Map<string, number>();
  const limit = 2 ** (bits - 1);
  let next = 1;
  for (const text of list) {
    const match = /^'((?:[^'\\]|\\[\s\S]|'')*)'(?:\s*=\s*(-?\d{1,6}))?$/.exec(text);
    const name = match?.[1]?.replace(/\\([\s\S])|''/g, (_, escaped?: string) => escaped ?? "'");
    const value = match?.[2] === undefined ? next : Number(match[2]);
    if (name === undefined || members.has(name) || value < -limit || value >= limit) {
      return {
        problem: `needs members such as Enum${bits}('a' = 1, 'b' = 2), each once and from ${-limit} to ${limit - 1}`,
      };
    }
    members.set(name, value);
    next = value + 1;
  }
  return { kind: "Enum", bits, members };
}

type Zoned = Extract<ColumnType, { kind: "DateTime" | "DateTime64" }>;

/** Only zone names may become part of a statement that creates a table. */
function withZone(type: Zoned, list: readonly string[]): ColumnType | ColumnTypeProblem {
  if (list.length === 0) return type;
  const zone = /^'([A-Za-z0-9_+\-/]+)'$/.exec(list[0] ?? "")?.[1];
  return list.length > 1 || zone === undefined
    ? { problem: "needs a time zone such as 'UTC' or 'Europe/Berlin'" }
    : { ...type, zone };
}

function dateTime64(list: readonly string[]): ColumnType | ColumnTypeProblem {
  if (!/^\d$/.test(list[0] ?? "")) return { problem: "needs a precision from 0 to 9, such as DateTime64(3)" };
  return withZone({ kind: "DateTime64", precision: Number(list[0]) }, list.slice(1));
}
