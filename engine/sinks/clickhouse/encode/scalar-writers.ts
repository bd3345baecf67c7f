import { isIPv4, isIPv6 } from "node:net";
import { type ColumnType, columnTypeText } from "../columns/column-type.ts";
import { decimal, float, whole } from "./number-writers.ts";
import { expectedText, readText, type Value } from "./values.ts";
import { quoted, textWriter, type Writer } from "./writer.ts";
import { dateText, fromSeconds, type Instant, isoText, parseTime } from "./times.ts";

/** Column types that hold one value, without a wrapper. */
export type ScalarType = Exclude<
  ColumnType,
  { kind: "Array" | "Map" | "Tuple" | "JSON" | "Nullable" | "LowCardinality" }
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
      return dateTime();
    case "DateTime64":
      return dateTime64(type.precision);
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

function enumeration(type: Extract<ColumnType, { kind: "Enum" }>): Writer {
  const { members } = type;
  if (members === undefined) return textWriter("a member of the Enum", (value) => value, undefined);
  const zeroMember = [...members].find(([, value]) => value === 0)?.[0];
  return textWriter(
    `a member of ${columnTypeText(type)}`,
    (value) => (members.has(value) ? value : undefined),
    zeroMember === undefined ? undefined : JSON.stringify(zeroMember),
  );
}

/** The last instant that a DateTime64(9) holds: 2^63 - 1 nanoseconds. */
const lastNano: Instant = { seconds: 9223372036, nanos: 854775807 };
const lastDay: Instant = instant("2299-12-31T23:59:59.999999999Z");

function instant(literal: string): Instant {
  return parseTime(literal) as Instant;
}

/** A DateTime holds 32 bits of seconds. */
function dateTime(): Writer {
  return time(0, instant("1970-01-01"), { seconds: 0xffffffff, nanos: 0 });
}

function dateTime64(precision: number): Writer {
  return time(precision, instant("1900-01-01"), precision === 9 ? lastNano : lastDay);
}

/** Days as text: a number could mean days or seconds. */
function date(kind: "Date" | "Date32"): Writer {
  const [first, last] = kind === "Date" ? ["1970-01-01", "2149-06-06"] : ["1900-01-01", "2299-12-31"];
  const convert = (value: string): string | undefined => {
    const parsed = parseTime(value);
    const day = parsed === undefined ? undefined : dateText(parsed);
    return day !== undefined && day.length === 10 && day >= first && day <= last ? day : undefined;
  };
  return textWriter(`a date such as 2024-05-31 from ${first} to ${last}`, convert, '"1970-01-01"');
}

/**
 * Times as text in UTC with a `Z`, which ClickHouse reads the same for every zone and precision of the column when
 * `date_time_input_format` is `best_effort`. Numbers are seconds since the epoch; negative ones are refused.
 */
function time(precision: number, first: Instant, last: Instant): Writer {
  return {
    write: (value) => {
      const parsed = toInstant(value);
      if (parsed === undefined || isBefore(parsed, first) || isBefore(last, parsed)) return undefined;
      return `"${isoText(parsed, precision)}"`;
    },
    expected: `a time such as 2024-05-31T12:00:00Z, or seconds since 1970, from ${isoText(first, precision)} to ${isoText(last, precision)}`,
    zero: '"1970-01-01T00:00:00Z"',
  };
}

function toInstant(value: Value): Instant | undefined {
  if (typeof value === "string") return parseTime(value);
  return typeof value === "number" ? fromSeconds(value) : undefined;
}

function isBefore(one: Instant, other: Instant): boolean {
  return one.seconds < other.seconds || (one.seconds === other.seconds && one.nanos < other.nanos);
}
