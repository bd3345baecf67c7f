import { isIPv4, isIPv6 } from "node:net";
import { type ColumnType, columnTypeText } from "../columns/column-type.ts";
import { decimal, float, whole } from "./number-writers.ts";
import { expectedText, readText, type Value } from "./values.ts";
import { quoted, textWriter, type Writer } from "./writer.ts";
import {
  clockText,
  dateText,
  fromSeconds,
  hasUnclearDay,
  type Instant,
  isoText,
  parseClock,
  type Parsed,
  parseSeconds,
  parseTime,
  wallText,
} from "./times.ts";
import { offsetOf } from "./zones.ts";

/** Column types that hold one value, without a wrapper. */
export type ScalarType = Exclude<
  ColumnType,
  { kind: "Array" | "Map" | "Tuple" | "JSON" | "Nullable" | "LowCardinality" | "Variant" | "Dynamic" }
>;

/** The writer of a scalar column type. */
export function writerOf(type: ScalarType): Writer {
  switch (type.kind) {
    case "Bool":
      return {
        write: (value) => (typeof value === "boolean" ? String(value) : undefined),
        expected: "true or false",
        zero: "false",
      };
    case "Int":
    case "UInt":
      return whole(type.kind === "Int", type.bits);
    case "Float":
      return float(type.bits);
    case "BFloat16":
      return float(16);
    case "Decimal":
      return decimal(type.precision, type.scale);
    case "String":
      return { write: (value) => quoted(readText(value)), expected: expectedText, zero: '""' };
    case "FixedString":
      return fixedString(type.length);
    case "UUID":
      return textWriter("a UUID", uuid, '"00000000-0000-0000-0000-000000000000"');
    case "Enum":
      return enumeration(type);
    case "IPv4":
      return textWriter("an IPv4 address", (value) => (isIPv4(value) ? value : undefined), '"0.0.0.0"');
    case "IPv6":
      return textWriter("an IPv6 address", ipv6, '"::"');
    case "Date":
    case "Date32":
      return date(type.kind);
    case "DateTime":
      return dateTime(type.zone);
    case "DateTime64":
      return dateTime64(type.precision, type.zone);
    case "Time":
      return timeOfDay(0);
    case "Time64":
      return timeOfDay(type.precision);
    default:
      return type satisfies never;
  }
}

function fixedString(length: number | undefined): Writer {
  const fits = (value: string): boolean => length === undefined || Buffer.byteLength(value) <= length;
  return textWriter(
    length === undefined ? "text" : `text of up to ${length} bytes`,
    (value) => (fits(value) ? value : undefined),
    '""',
  );
}

const uuidLayout = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i;

function uuid(value: string): string | undefined {
  return value.length === 36 || value.length === 32 ? uuidLayout.exec(value)?.slice(1).join("-") : undefined;
}

/** A zone (`%eth0`) is not part of an address; an IPv6 column takes IPv4 addresses as `::ffff:a.b.c.d`. */
function ipv6(value: string): string | undefined {
  return (isIPv6(value) && !value.includes("%")) || isIPv4(value) ? value : undefined;
}

/** A member by its name, or by its number. */
function enumeration(type: Extract<ColumnType, { kind: "Enum" }>): Writer {
  const { members } = type;
  const names = members && new Map([...members].map(([name, number]) => [number, JSON.stringify(name)]));
  const byName = (value: string): string | undefined =>
    members === undefined || members.has(value) ? quoted(value) : undefined;
  const byNumber = (value: number): string | undefined =>
    names === undefined ? (Number.isInteger(value) ? String(value) : undefined) : names.get(value);
  return {
    write: (value) => {
      if (typeof value === "string") return byName(value);
      return typeof value === "number" ? byNumber(value) : undefined;
    },
    expected: members === undefined ? "a member of the Enum" : `a member of ${columnTypeText(type)}`,
    zero: names?.get(0),
  };
}

/** The last instant that a DateTime64(9) holds: 2^63 - 1 nanoseconds. */
const lastNano: Instant = { seconds: 9223372036, nanos: 854775807 };
const lastDay: Instant = instant("2299-12-31T23:59:59.999999999Z");

function instant(literal: string): Instant {
  return parseTime(literal) as Instant;
}

/** A DateTime holds 32 bits of seconds. */
function dateTime(zone: string | undefined): Writer {
  return time(0, zone, instant("1970-01-01"), { seconds: 0xffffffff, nanos: 0 });
}

function dateTime64(precision: number, zone: string | undefined): Writer {
  return time(precision, zone, instant("1900-01-01"), precision === 9 ? lastNano : lastDay);
}

/** Days as text: a number could mean days or seconds. */
function date(kind: "Date" | "Date32"): Writer {
  const [first, last] = kind === "Date" ? ["1970-01-01", "2149-06-06"] : ["1900-01-01", "2299-12-31"];
  const convert = (value: string): string | undefined => {
    const parsed = parseTime(value);
    const day = parsed === undefined ? undefined : dateText(parsed);
    return day !== undefined && day.length === 10 && day >= first && day <= last ? day : undefined;
  };
  const range = `a date such as 2024-05-31 from ${first} to ${last}`;
  return textWriter((value) => range + dayHintOf(value), convert, '"1970-01-01"');
}

/** How to write a date of which nobody can tell the month. */
function dayHintOf(value: unknown): string {
  return typeof value === "string" && hasUnclearDay(value) ? " (which number is the month? write the year first)" : "";
}

/**
 * Times as text in UTC with a `Z`, which ClickHouse reads the same for every zone and precision of the column when
 * `date_time_input_format` is `best_effort`. A text without a zone is a time in the zone of its column, and is sent
 * without one, so that ClickHouse decides about hours that a clock skips or repeats; without a zone of the column it is
 * UTC. Numbers are seconds since the epoch, also as text; negative ones are refused.
 */
function time(precision: number, zone: string | undefined, first: Instant, last: Instant): Writer {
  const fits = (found: Instant): boolean => !isBefore(found, first) && !isBefore(last, found);
  const range = `a time such as 2024-05-31T12:00:00Z, or seconds since 1970, from ${isoText(first, precision)} to ${isoText(last, precision)}`;
  return {
    write: (value) => {
      const parsed = toInstant(value);
      if (parsed === undefined) return undefined;
      if (zone === undefined || !parsed.isLocal) return fits(parsed) ? `"${isoText(parsed, precision)}"` : undefined;
      const { seconds, nanos } = parsed;
      return fits({ seconds: seconds - offsetOf(zone, seconds), nanos })
        ? `"${wallText(parsed, precision)}"`
        : undefined;
    },
    expected: (value) => range + (dayHintOf(value) || hintOf(value, fits)),
    zero: '"1970-01-01T00:00:00Z"',
  };
}

/** Hours, minutes and seconds as text, which ClickHouse reads in one way; numbers are seconds. */
function timeOfDay(precision: number): Writer {
  return {
    write: (value) => {
      const clock = typeof value === "string" || typeof value === "number" ? parseClock(value) : undefined;
      return clock && `"${clockText(clock, precision)}"`;
    },
    expected: "a time such as 12:30:45, or seconds, from -999:59:59 to 999:59:59",
    zero: '"00:00:00"',
  };
}

/** Units of an epoch that senders use in place of seconds. */
const finerUnits: readonly (readonly [name: string, parts: number])[] = [
  ["milliseconds", 1e3],
  ["microseconds", 1e6],
  ["nanoseconds", 1e9],
];

/** The earliest time that a number of finer units is taken to mean. */
const plausible = Date.UTC(1980, 0, 1) / 1000;

/** What a number probably is that is too large for seconds. */
function hintOf(value: unknown, fits: (found: Instant) => boolean): string {
  const number = typeof value === "string" && /^\d{12,20}$/.test(value) ? Number(value) : Number(value);
  if (!["number", "bigint", "string"].includes(typeof value) || !Number.isFinite(number)) return "";
  if (number < 0 && typeof value !== "string") return " (a negative number would be before 1970)";
  for (const [name, parts] of finerUnits) {
    const seconds = number / parts;
    if (seconds >= plausible && fits({ seconds, nanos: 0 }))
      return ` (${name} since 1970? divide them by ${parts} in a stateless transform)`;
  }
  const isOtherSeconds =
    typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value) && parseSeconds(value) === undefined;
  return isOtherSeconds ? " (in a text, seconds have 9 or 10 digits)" : "";
}

function toInstant(value: Value): Parsed | undefined {
  if (typeof value === "string") return parseTime(value) ?? inUtc(parseSeconds(value));
  return typeof value === "number" ? inUtc(fromSeconds(value)) : undefined;
}

function inUtc(found: Instant | undefined): Parsed | undefined {
  return found && { ...found, isLocal: false };
}

function isBefore(one: Instant, other: Instant): boolean {
  return one.seconds < other.seconds || (one.seconds === other.seconds && one.nanos < other.nanos);
}
