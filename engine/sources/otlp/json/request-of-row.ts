import type { Signal } from "../../../core/push.ts";
import { isObject } from "../../../event/objects.ts";
import messagesFile from "../proto/messages.json" with { type: "json" };

type Row = Readonly<Record<string, unknown>>;
type Message = Record<string, unknown>;

const { enums } = messagesFile;
const epoch = "1970-01-01T00:00:00Z";
const timestamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/**
 * An export request in OTLP/JSON of which the receiver makes this row: the way back from `rowsOf`, as far as the row
 * knows. Attributes and bodies are texts, as they are in the row. What does not have the form of its field is left out.
 */
export function requestOfRow(signal: Signal, row: Row): Message {
  const scope = withoutDefaults({
    name: row["scope_name"],
    version: row["scope_version"],
    attributes: attributesOf(row["scope_attributes"]),
  });
  const [list, inner, items, item] = shapes[signal];
  const resource = withoutDefaults({ attributes: attributesOf(row["resource_attributes"]) });
  return {
    [list]: [{ ...named("resource", resource), [inner]: [{ ...named("scope", scope), [items]: [item(row)] }] }],
  };
}

/** The keys from the request to its record, span or metric, and what makes that of a row. */
const shapes: Readonly<Record<Signal, readonly [string, string, string, (row: Row) => Message]>> = {
  logs: ["resourceLogs", "scopeLogs", "logRecords", logRecord],
  traces: ["resourceSpans", "scopeSpans", "spans", span],
  metrics: ["resourceMetrics", "scopeMetrics", "metrics", metric],
};

function logRecord(row: Row): Message {
  return withoutDefaults({
    timeUnixNano: nanoseconds(row["timestamp"]),
    observedTimeUnixNano: nanoseconds(row["observed_timestamp"]),
    severityNumber: whole(row["severity_number"]),
    severityText: row["severity_text"],
    body: textValue(row["body"]),
    traceId: idOf(row["trace_id"]),
    spanId: idOf(row["span_id"]),
    flags: whole(row["flags"]),
    droppedAttributesCount: whole(row["dropped_attributes_count"]),
    attributes: attributesOf(row["attributes"]),
  });
}

function span(row: Row): Message {
  const code = numberOf("Status.StatusCode", "STATUS_CODE", row["status_code"]);
  return withoutDefaults({
    traceId: idOf(row["trace_id"]),
    spanId: idOf(row["span_id"]),
    parentSpanId: idOf(row["parent_span_id"]),
    traceState: row["trace_state"],
    flags: whole(row["flags"]),
    name: row["name"],
    kind: numberOf("Span.SpanKind", "SPAN_KIND", row["kind"]),
    startTimeUnixNano: nanoseconds(row["start_timestamp"]),
    endTimeUnixNano: nanoseconds(row["end_timestamp"]),
    ...named("status", withoutDefaults({ code, message: row["status_message"] })),
    droppedAttributesCount: whole(row["dropped_attributes_count"]),
    droppedEventsCount: whole(row["dropped_events_count"]),
    droppedLinksCount: whole(row["dropped_links_count"]),
    attributes: attributesOf(row["attributes"]),
    events: rowsIn(row["events"]).map(spanEvent),
    links: rowsIn(row["links"]).map(spanLink),
  });
}

function spanEvent(row: Row): Message {
  return withoutDefaults({
    timeUnixNano: nanoseconds(row["timestamp"]),
    name: row["name"],
    attributes: attributesOf(row["attributes"]),
    droppedAttributesCount: whole(row["dropped_attributes_count"]),
  });
}

function spanLink(row: Row): Message {
  return withoutDefaults({
    traceId: idOf(row["trace_id"]),
    spanId: idOf(row["span_id"]),
    traceState: row["trace_state"],
    attributes: attributesOf(row["attributes"]),
    droppedAttributesCount: whole(row["dropped_attributes_count"]),
  });
}

/** The kinds of metrics by their name in a row: their key, and what only their data points have. */
const metricKinds: Readonly<Record<string, readonly [key: string, point: (row: Row) => Message]>> = {
  gauge: ["gauge", numberPoint],
  sum: ["sum", numberPoint],
  histogram: ["histogram", histogramPoint],
  exp_histogram: ["exponentialHistogram", exponentialPoint],
  summary: ["summary", summaryPoint],
};

function metric(row: Row): Message {
  const texts = { name: row["metric_name"], description: row["metric_description"], unit: row["metric_unit"] };
  const [key, pointOf] = metricKinds[String(row["metric_type"])] ?? [];
  if (key === undefined || pointOf === undefined) return withoutDefaults(texts);
  const temporality = row["aggregation_temporality"];
  const data = withoutDefaults({
    aggregationTemporality: numberOf("AggregationTemporality", "AGGREGATION_TEMPORALITY", temporality),
    isMonotonic: row["is_monotonic"] === true ? true : undefined,
  });
  const point = withoutDefaults({
    timeUnixNano: nanoseconds(row["timestamp"]),
    startTimeUnixNano: nanoseconds(row["start_timestamp"]),
    flags: whole(row["flags"]),
    attributes: attributesOf(row["attributes"]),
  });
  return { ...withoutDefaults(texts), [key]: { ...data, dataPoints: [{ ...point, ...pointOf(row) }] } };
}

function numberPoint(row: Row): Message {
  const [asDouble, asInt] = [row["value_double"], whole(row["value_int"])];
  if (asInt !== undefined) return { asInt };
  return asDouble === null || asDouble === undefined ? {} : { asDouble: double(asDouble) };
}

function histogramPoint(row: Row): Message {
  return {
    ...withoutDefaults({
      count: whole(row["count"]),
      sum: ifAny(row["sum"]),
      min: ifAny(row["min"]),
      max: ifAny(row["max"]),
    }),
    bucketCounts: listOf(row["bucket_counts"]).map(String),
    explicitBounds: listOf(row["explicit_bounds"]).map(double),
  };
}

function exponentialPoint(row: Row): Message {
  const buckets = (sign: string): Message => ({
    offset: whole(row[`${sign}_offset`]) ?? "0",
    bucketCounts: listOf(row[`${sign}_bucket_counts`]).map(String),
  });
  return {
    ...withoutDefaults({
      count: whole(row["count"]),
      sum: ifAny(row["sum"]),
      min: ifAny(row["min"]),
      max: ifAny(row["max"]),
    }),
    scale: whole(row["scale"]) ?? "0",
    zeroCount: whole(row["zero_count"]) ?? "0",
    zeroThreshold: double(row["zero_threshold"]),
    positive: buckets("positive"),
    negative: buckets("negative"),
  };
}

function summaryPoint(row: Row): Message {
  const values = listOf(row["quantile_values"]);
  return {
    ...withoutDefaults({ count: whole(row["count"]) }),
    sum: double(row["sum"]),
    quantileValues: listOf(row["quantiles"]).map((quantile, index) => {
      return { quantile: double(quantile), value: double(values[index]) };
    }),
  };
}

/** Leaves out what means the same as its absence. */
function withoutDefaults(message: Message): Message {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => !isDefault(value)));
}

function isDefault(value: unknown): boolean {
  const isEmptyList = Array.isArray(value) && value.length === 0;
  return isEmptyList || value === undefined || value === null || value === "" || value === "0" || value === 0;
}

function named(key: string, message: Message): Message {
  return Object.keys(message).length === 0 ? {} : { [key]: message };
}

function attributesOf(value: unknown): Message[] {
  return Object.entries(isObject(value) ? value : {}).map(([key, text]) => ({
    key,
    value: { stringValue: String(text) },
  }));
}

function textValue(value: unknown): Message | undefined {
  return typeof value === "string" && value !== "" ? { stringValue: value } : undefined;
}

/** Nanoseconds since the epoch. */
function nanoseconds(value: unknown): string | undefined {
  const [, seconds, fraction = ""] = timestamp.exec(String(value)) ?? [];
  if (seconds === undefined || value === epoch) return undefined;
  return String(BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0")));
}

function idOf(value: unknown): string | undefined {
  return typeof value === "string" && /^(?:[\da-f]{2})+$/i.test(value) ? value : undefined;
}

/** Digits, which hold every number of 64 bits. */
function whole(value: unknown): string | undefined {
  return typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Rows have a text in place of a double that JSON does not have. */
function double(value: unknown): number | string {
  if (value === "Infinity" || value === "-Infinity") return value;
  if (typeof value !== "number" && typeof value !== "bigint") return "NaN";
  return Object.is(value, -0) ? "-0" : Number(value);
}

function ifAny(value: unknown): number | string | undefined {
  // Zero is not the same as an absence here.
  if (value === null || value === undefined) return undefined;
  return value === 0 ? "0.0" : double(value);
}

function numberOf(of: keyof typeof enums, prefix: string, name: unknown): number | undefined {
  return (enums[of] as Readonly<Record<string, number>>)[`${prefix}_${String(name)}`];
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function rowsIn(value: unknown): Row[] {
  return listOf(value).filter(isObject);
}
