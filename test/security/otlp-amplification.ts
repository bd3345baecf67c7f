import type { Signal } from "../../engine/core/push.ts";

/** A body of OTLP that is small on the wire and costs its receiver far more than its size; gzip makes most far smaller still. */
export interface CostlyBody {
  title: string;
  signal: Signal;
  encoding: "protobuf" | "json";
  bytes: Buffer;
}

/** The largest body that a receiver takes, in bytes. */
export const largestBody = 4 * 1024 * 1024;

/** Makes a body of about so many bytes. */
type Make = (size: number) => Buffer;

const inProtobuf: readonly (readonly [title: string, signal: Signal, make: Make])[] = [
  ["empty records", "logs", emptyRecords],
  ["empty spans", "traces", emptyRecords],
  ["rows of nearly all that a request may take", "logs", (size) => emptyRecords(size / 10)],
  ["a large resource on many records", "logs", largeResource],
  ["a large resource in each of many scopes", "logs", manyScopes],
  ["a long name on many data points", "metrics", longName],
  ["data that later data replace", "metrics", replacedData],
  ["wide doubles", "logs", wideDoubles],
  ["control characters", "logs", (size) => textOf(size, 1)],
  ["bytes that are no UTF-8", "logs", (size) => textOf(size, 0xfe)],
  ["many different keys", "logs", manyKeys],
  ["lists in lists", "logs", nestedLists],
];

const inJson: readonly (readonly [title: string, make: Make])[] = [
  ["empty records in JSON", (size) => jsonRecords(size, "{}")],
  ["records of an attribute", (size) => jsonRecords(size, '{"attributes":[{"key":"","value":{}}]}')],
  ["numbers beyond 2^53", (size) => jsonUnknown(size, () => "98765432109876543")],
  ["objects of different shapes", (size) => jsonUnknown(size, (n) => `{"${n.toString(36)}":1}`)],
  ["arrays in arrays", jsonNested],
  ["half of a character", (size) => jsonText(size, String.raw`\ud800`)],
  ["a long id", jsonId],
];

const makes: readonly (Omit<CostlyBody, "bytes"> & { make: Make })[] = [
  ...inProtobuf.map(([title, signal, make]) => ({ title, signal, encoding: "protobuf" as const, make })),
  ...inJson.map(([title, make]) => ({ title, signal: "logs" as const, encoding: "json" as const, make })),
];

/** The worst bodies of each kind, each of about `size` bytes before gzip. */
export function costlyBodies(size: number): CostlyBody[] {
  return makes.map(({ make, ...kind }) => ({ ...kind, bytes: make(size) }));
}

/** One of them. */
export function costlyBody(name: string, size: number): CostlyBody {
  const { make, ...kind } = makes.find(({ title }) => title === name)!;
  return { ...kind, bytes: make(size) };
}

/** Two bytes each, which become a row of some hundred bytes. */
function emptyRecords(size: number): Buffer {
  return field(1, field(2, Buffer.alloc(even(size), Buffer.from([0x12, 0x00]))));
}

/** Each row repeats the attributes of its resource. */
function largeResource(size: number): Buffer {
  const resource = field(1, field(1, attribute("a", Buffer.alloc(size / 2, "x"))));
  return field(1, Buffer.concat([resource, field(2, Buffer.alloc(even(size / 2), Buffer.from([0x12, 0x00])))]));
}

/** The rows of each scope alone are few enough. */
function manyScopes(size: number): Buffer {
  const resource = field(1, field(1, attribute("a", Buffer.alloc(size / 4, "x"))));
  const scope = field(2, Buffer.alloc(2, Buffer.from([0x12, 0x00])));
  return field(1, Buffer.concat([resource, ...repeated(scope, size / 2)]));
}

function longName(size: number): Buffer {
  const points = field(5, Buffer.alloc(even(size / 2), Buffer.from([0x0a, 0x00])));
  return field(1, field(2, field(2, Buffer.concat([field(1, Buffer.alloc(size / 2, "x")), points]))));
}

/** Gauges and sums in turn: each replaces the one before, whose data points have to be checked, and become no rows. */
function replacedData(size: number): Buffer {
  const points = Buffer.alloc(120, Buffer.from([0x0a, 0x00]));
  const both = Buffer.concat([field(5, points), field(7, points)]);
  const metric = [field(1, Buffer.alloc(size / 8, "x")), ...repeated(both, size / 2)];
  return field(1, field(2, field(2, Buffer.concat(metric))));
}

/** Nine bytes each, which become 309 digits. */
function wideDoubles(size: number): Buffer {
  const double = Buffer.alloc(9, 0x21);
  double.writeDoubleLE(Number.MAX_VALUE, 1);
  return record(field(5, field(5, Buffer.concat(repeated(field(1, double), size)))));
}

function textOf(size: number, byte: number): Buffer {
  return record(field(5, field(1, Buffer.alloc(size, byte))));
}

function manyKeys(size: number): Buffer {
  const count = size / 12;
  return record(Buffer.concat(Array.from({ length: count }, (_, n) => field(6, attribute(n.toString(36), empty)))));
}

/** As deep as messages may be, again and again. */
function nestedLists(size: number): Buffer {
  let value: Buffer = empty;
  for (let depth = 0; depth < 45; depth += 1) value = field(5, field(1, value));
  return record(field(5, field(5, Buffer.concat(repeated(field(1, value), size)))));
}

function jsonRecords(size: number, one: string): Buffer {
  return Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[${listOf(size, () => one)}]}]}]}`);
}

/** A field that no message has: it is read, and left out. */
function jsonUnknown(size: number, one: (n: number) => string): Buffer {
  return Buffer.from(`{"unknown":[${listOf(size, one)}],"resourceLogs":[]}`);
}

function jsonNested(size: number): Buffer {
  return Buffer.from(`{"unknown":${"[".repeat(size / 2)}${"]".repeat(size / 2)}}`);
}

function jsonText(size: number, first: string): Buffer {
  const body = `{"body":{"stringValue":"${first}${"x".repeat(size)}"}}`;
  return Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[${body}]}]}]}`);
}

function jsonId(size: number): Buffer {
  const body = `{"traceId":"${"ab".repeat(size / 2)}"}`;
  return Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[${body}]}]}]}`);
}

const empty = Buffer.alloc(0);

function even(size: number): number {
  return 2 * Math.floor(size / 2);
}

function listOf(size: number, one: (n: number) => string): string {
  const count = Math.floor(size / (one(1_000_000).length + 1));
  return Array.from({ length: count }, (_, n) => one(n)).join(",");
}

function repeated(piece: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.floor(size / piece.length) }, () => piece);
}

/** A request of one log record. */
function record(content: Buffer): Buffer {
  return field(1, field(2, field(2, content)));
}

function attribute(key: string, text: Buffer): Buffer {
  return Buffer.concat([field(1, Buffer.from(key)), field(2, field(1, text))]);
}

/** A field of protobuf whose content has a length. */
function field(id: number, content: Buffer): Buffer {
  const head = [(id << 3) | 2];
  let rest = content.length;
  for (; rest > 127; rest >>>= 7) head.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...head, rest]), content]);
}
