import { isIPv4, isIPv6 } from "node:net";
import { columnTypeText } from "../columns/column-type.ts";
import type { ColumnType } from "../columns/column-type.ts";
import { decimal, float, whole } from "./number-writers.ts";
import { expectedText, readText } from "./values.ts";
import { date, dateTime, dateTime64 } from "./time-writers.ts";
import { quoted, textWriter } from "./writer.ts";
import type { Writer } from "./writer.ts";

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

/** A zone (`%eth0`) is no part of an address; ClickHouse takes IPv4 addresses in an IPv6 column as `::ffff:a.b.c.d`. */
function ipv6(value: string): string | undefined {
  return (isIPv6(value) && !value.includes("%")) || isIPv4(value) ? value : undefined;
}

function enumeration(type: Extract<ColumnType, { kind: "Enum" }>): Writer {
  const { members } = type;
  if (members === undefined) return textWriter("a member of the Enum", (value) => value, undefined);
  const nought = [...members].find(([, value]) => value === 0)?.[0];
  return textWriter(
    `a member of ${columnTypeText(type)}`,
    (value) => (members.has(value) ? value : undefined),
    nought === undefined ? undefined : JSON.stringify(nought),
  );
}
