import type { Push, Signal } from "../../../core/push.ts";
import { type Allocate, JsonBytes, mostBytes } from "./json-bytes.ts";
import { wireOf } from "../json/from-json.ts";
import { LogRows } from "./log-rows.ts";
import type { MetricKindName } from "./metric-kinds.ts";
import { MetricRows } from "./metric-rows.ts";
import { type ItemRows, leastSize, writeRequest } from "./request.ts";
import { RowWriter } from "./row-writer.ts";
import { SpanRows } from "./span-rows.ts";

const itemRows: Readonly<Record<Signal, (row: RowWriter, keptAsNull: RowRules["keptAsNull"]) => ItemRows>> = {
  logs: (row) => new LogRows(row),
  traces: (row) => new SpanRows(row),
  metrics: (row, keptAsNull) => new MetricRows(row, keptAsNull),
};

/** Rows seldom take more than this many times the bytes of their request. */
const usualGrowth = 3;

/** Rows that repeat much take little more than the fewest bytes that they may take. */
const aboveLeast = 1.25;

/** The rows of a request up to this size are not counted before they are written, in bytes. */
const surelyFew = 64 * 1024;

/** Where rows are written. */
export interface RowMemory {
  /** The most bytes that they may take. */
  most?: number;
  allocate?: Allocate;
}

/** What the pipeline decides of its rows. */
export interface RowRules {
  /** The kinds of metrics of which a data point without a recorded value is a row; of others it is left out. */
  keptAsNull?: readonly MetricKindName[];
}

/** The events of a request, and what of it became none. */
export interface Rows extends Push {
  /** Data points without a recorded value that were left out. */
  leftOut: number;
  /** Spans that were refused, as they have no valid ids. */
  refused: number;
}

/**
 * One event for each log record, valid span or recorded data point of an export request, with the fields of its signal. Throws
 * MalformedRequest for bytes that are not such a request, and OversizedRequest where its rows would take more than they
 * may.
 *
 * The rows are written straight from protobuf's encoding, without an object per message: that is several times as fast
 * as decoding first, and takes no more memory than the rows, whatever the request holds. A JSON request is converted to
 * protobuf first, so that there is one way to make rows.
 */
export function rowsOf(
  signal: Signal,
  body: Buffer,
  encoding: "protobuf" | "json",
  receivedAt: number,
  { most = mostBytes, allocate }: RowMemory = {},
  { keptAsNull }: RowRules = {},
): Rows {
  const request = encoding === "json" ? wireOf(signal, body) : body;
  const out = new JsonBytes(Math.min(most, usualGrowth * request.length + 1024), most, allocate);
  const row = new RowWriter(request, out, receivedAt);
  const items = itemRows[signal](row, keptAsNull);
  if (request.length > surelyFew) out.reserve(Math.min(most, Math.ceil(aboveLeast * leastSize(row, items))));
  writeRequest(row, items);
  const { ends, leftOut, refused } = row;
  return { bytes: out.written(), ends, receivedAt, signal, leftOut, refused };
}
