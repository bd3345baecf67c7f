import { serverError } from "./errors.ts";

/** A column of a simulated table. */
export interface SimulatedColumn {
  name: string;
  /** Such as `Int64` or `Nullable(String)`. */
  type: string;
  /** What a row without a value for it gets; with it the column has a DEFAULT, and is not asked for. */
  byDefault?: unknown;
}

/** A row as a table holds it. */
export type Row = Record<string, unknown>;

/** Reads one value of JSONEachRow for a column. Throws a text where it does not fit. */
type ReadValue = (value: unknown, key: string) => unknown;

/**
 * Reads the rows of a body of JSONEachRow for these columns, as ClickHouse does with the settings of the sink: fields
 * without a column are skipped, a number out of range wraps around, null in a column of numbers is 0.
 * Throws the server's error, which names the first bad row.
 */
export function readRows(body: string, written: readonly SimulatedColumn[], all: readonly SimulatedColumn[]): Row[] {
  const readers = written.map(({ name, type }) => [name, readerOf(type)] as const);
  const defaults = all.map((column) => [column.name, defaultOf(column)] as const);
  const rows: Row[] = [];
  for (let at = 0; at < body.length;) {
    const next = body.indexOf("\n", at);
    const end = next === -1 ? body.length : next;
    if (end > at) rows.push(readRow(body.slice(at, end), readers, defaults, rows.length + 1));
    at = end + 1;
  }
  return rows;
}

function readRow(
  line: string,
  readers: readonly (readonly [string, ReadValue])[],
  defaults: readonly (readonly [string, unknown])[],
  number: number,
): Row {
  const parsed = parse(line, number);
  const row: Row = {};
  for (const [name, value] of defaults) row[name] = value;
  for (const [name, read] of readers) {
    const value = parsed[name];
    if (value === undefined) continue;
    try {
      row[name] = read(value, name);
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      throw serverError(error.code, `${error.message}: (while reading the value of key ${name}): ${atRow(number)}`);
    }
  }
  return row;
}

function atRow(row: number): string {
  return `(at row ${row})\n: While executing ParallelParsingBlockInputFormat`;
}

function parse(line: string, number: number): Row {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    parsed = undefined;
  }
  if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed as Row;
  throw serverError(27, `Cannot parse input: expected '{' before: '${line.slice(0, 20)}': ${atRow(number)}`);
}

/** A value that a column does not take. */
class Misfit extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

function refuse(value: unknown): never {
  throw new Misfit(27, `Cannot parse input: expected '"' before: '${JSON.stringify(value).slice(0, 20)}'`);
}

const readers = new Map<string, ReadValue>();

function readerOf(type: string): ReadValue {
  let reader = readers.get(type);
  if (reader === undefined) readers.set(type, (reader = makeReader(type)));
  return reader;
}

const wrapped = /^(Nullable|LowCardinality|Array)\((.*)\)$/s;

function makeReader(type: string): ReadValue {
  const [, wrapper, inner = ""] = wrapped.exec(type) ?? [];
  if (wrapper === "LowCardinality") return readerOf(inner);
  if (wrapper === "Nullable") {
    const read = readerOf(inner);
    return (value, key) => (value === null ? null : read(value, key));
  }
  if (wrapper === "Array") {
    const read = readerOf(inner);
    return (value, key) => (Array.isArray(value) ? value.map((item) => read(item, key)) : refuse(value));
  }
  const [, kind, bits] = /^(U?Int)(\d+)$/.exec(type) ?? [];
  if (kind !== undefined) return (value) => whole(value, kind === "Int", Number(bits));
  if (type.startsWith("Float")) return float;
  if (type === "Bool") return (value) => (typeof value === "boolean" ? value : refuse(value));
  if (type === "String") return text;
  // Times, UUIDs and all others are kept as they came: the sink writes them in one spelling.
  return (value) => value;
}

function whole(value: unknown, isSigned: boolean, bits: number): number | string {
  if (value === null) return 0;
  if (typeof value === "boolean") return Number(value);
  const isWhole = typeof value === "string" ? /^-?\d+$|^$/.test(value) : Number.isInteger(value);
  if (!isWhole) refuse(value);
  const stored = isSigned
    ? BigInt.asIntN(bits, BigInt(value as number | string))
    : BigInt.asUintN(bits, BigInt(value as number | string));
  const number = Number(stored);
  return Number.isSafeInteger(number) ? number : String(stored);
}

function float(value: unknown): number {
  if (value === null) return 0;
  const number = typeof value === "string" || typeof value === "boolean" ? Number(value) : value;
  return typeof number === "number" && !Number.isNaN(number) ? number : refuse(value);
}

function text(value: unknown): string {
  if (value === null) throw new Misfit(117, "Cannot parse JSON String value here: null");
  return typeof value === "string" ? value : JSON.stringify(value);
}

function defaultOf({ type, byDefault }: SimulatedColumn): unknown {
  if (byDefault !== undefined) return byDefault;
  if (type.startsWith("Nullable(")) return null;
  if (type.startsWith("Array(")) return [];
  if (type.startsWith("Map(")) return {};
  if (type === "Bool") return false;
  return /^(?:LowCardinality\()?(?:U?Int\d|Float|Decimal)/.test(type) ? 0 : "";
}
