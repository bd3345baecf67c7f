import { dateText, fromSeconds, type Instant, isoText, parseTime } from "./times.ts";
import type { Value } from "./values.ts";
import { textWriter, type Writer } from "./writer.ts";

/** The last instant that a DateTime64(9) holds: 2^63 - 1 nanoseconds. */
const lastNano: Instant = { seconds: 9223372036, nanos: 854775807 };
const lastDay: Instant = instant("2299-12-31T23:59:59.999999999Z");

function instant(literal: string): Instant {
  return parseTime(literal) as Instant;
}

/** A DateTime holds 32 bits of seconds. */
export function dateTime(): Writer {
  return time(0, instant("1970-01-01"), { seconds: 0xffffffff, nanos: 0 });
}

export function dateTime64(precision: number): Writer {
  return time(precision, instant("1900-01-01"), precision === 9 ? lastNano : lastDay);
}

/** Days as text: a number would mean days to one and seconds to another. */
export function date(kind: "Date" | "Date32"): Writer {
  const [first, last] = kind === "Date" ? ["1970-01-01", "2149-06-06"] : ["1900-01-01", "2299-12-31"];
  const convert = (value: string): string | undefined => {
    const parsed = parseTime(value);
    const day = parsed === undefined ? undefined : dateText(parsed);
    return day !== undefined && day.length === 10 && day >= first && day <= last ? day : undefined;
  };
  return textWriter(`a date such as 2024-05-31 from ${first} to ${last}`, convert, '"1970-01-01"');
}

/**
 * Texts in UTC with a `Z`, which ClickHouse reads alike for every zone and precision of the column when
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
