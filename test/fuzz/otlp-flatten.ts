import type { Signal } from "../../engine/core/push.ts";
import type { Decoded } from "./otlp-reference.ts";

type Row = Record<string, unknown>;

/**
 * The rows of a decoded request, made the plain way: of objects, field by field. `isKept`: points without a recorded value
 * are rows too.
 */
export function flatten(signal: Signal, request: Decoded, isKept: boolean): Row[] {
  const [resources, scopes, items] = {
    logs: ["resourceLogs", "scopeLogs", "logRecords"],
    traces: ["resourceSpans", "scopeSpans", "spans"],
    metrics: ["resourceMetrics", "scopeMetrics", "metrics"],
  }[signal] as [string, string, string];
  const rowsOf = { logs: logRows, traces: spanRows, metrics: metricRows }[signal];
  return list(request, resources).flatMap((resource) =>
    list(resource, scopes).flatMap((scope) => {
      const origin = originOf(message(resource, "resource"), message(scope, "scope"));
      return list(scope, items).flatMap((item) => rowsOf(item, origin, isKept));
    }),
  );
}

function originOf(resource: Decoded, scope: Decoded): Row {
  return {
    resource_attributes: attributes(resource),
    scope_name: scope["name"],
    ...unlessEmpty("scope_version", scope["version"]),
    scope_attributes: attributes(scope),
  };
}

function logRows(record: Decoded, origin: Row): Row[] {
  return [
    {
      timestamp: time(record["timeUnixNano"], record["observedTimeUnixNano"]),
      observed_timestamp: time(record["observedTimeUnixNano"]),
      severity_number: record["severityNumber"],
      severity_text: record["severityText"],
      body: asText(message(record, "body")),
      ...idsOf(record),
      flags: record["flags"],
      dropped_attributes_count: record["droppedAttributesCount"],
      ...origin,
      attributes: attributes(record),
    },
  ];
}

/** Whether bytes are an id of a length, and not zeros. */
function isId(value: unknown, length: number): boolean {
  return id(value).length === 2 * length;
}

function idsOf(of: Decoded): Row {
  return {
    ...(isId(of["traceId"], 16) && { trace_id: id(of["traceId"]) }),
    ...(isId(of["spanId"], 8) && { span_id: id(of["spanId"]) }),
  };
}

function spanRows(span: Decoded, origin: Row): Row[] {
  const hasParent = id(span["parentSpanId"]) !== "";
  if (!isId(span["traceId"], 16) || !isId(span["spanId"], 8)) return [];
  if (hasParent && !isId(span["parentSpanId"], 8)) return [];
  const status = message(span, "status");
  const [start, end] = [whole(span["startTimeUnixNano"]), whole(span["endTimeUnixNano"])].map(BigInt) as [
    bigint,
    bigint,
  ];
  const kinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
  return [
    {
      ...unlessEmpty("trace_id", id(span["traceId"])),
      ...unlessEmpty("span_id", id(span["spanId"])),
      ...unlessEmpty("parent_span_id", id(span["parentSpanId"])),
      ...unlessEmpty("trace_state", span["traceState"]),
      flags: span["flags"],
      name: span["name"],
      kind: kinds[span["kind"] as number] ?? "UNSPECIFIED",
      start_timestamp: time(span["startTimeUnixNano"], span["endTimeUnixNano"]),
      end_timestamp: time(span["endTimeUnixNano"], span["startTimeUnixNano"]),
      duration_ns: start === 0n || end < start ? 0 : end - start,
      status_code: ["UNSET", "OK", "ERROR"][(status["code"] ?? 0) as number] ?? "UNSET",
      ...unlessEmpty("status_message", status["message"] ?? ""),
      dropped_attributes_count: span["droppedAttributesCount"],
      dropped_events_count: span["droppedEventsCount"],
      dropped_links_count: span["droppedLinksCount"],
      events: list(span, "events").map((event) => ({
        timestamp: time(event["timeUnixNano"]),
        name: event["name"],
        attributes: attributes(event),
        dropped_attributes_count: event["droppedAttributesCount"],
      })),
      links: list(span, "links").map((link) => ({
        ...idsOf(link),
        ...unlessEmpty("trace_state", link["traceState"]),
        attributes: attributes(link),
        dropped_attributes_count: link["droppedAttributesCount"],
      })),
      ...origin,
      attributes: attributes(span),
    },
  ];
}

const metricTypes: Readonly<Record<string, string>> = {
  gauge: "gauge",
  sum: "sum",
  histogram: "histogram",
  exponentialHistogram: "exp_histogram",
  summary: "summary",
};

function metricRows(metric: Decoded, origin: Row, isKept: boolean): Row[] {
  const kind = metric["data"] as string | undefined;
  if (kind === undefined) return [];
  const data = message(metric, kind);
  const temporality = ["UNSPECIFIED", "DELTA", "CUMULATIVE"][(data["aggregationTemporality"] ?? 0) as number];
  const hasTemporality = kind !== "gauge" && kind !== "summary";
  const points = list(data, "dataPoints").filter((point) => isKept || recorded(point));
  return points.map((point) => ({
    timestamp: time(point["timeUnixNano"]),
    start_timestamp: BigInt(whole(point["startTimeUnixNano"])) === 0n ? null : time(point["startTimeUnixNano"]),
    metric_name: metric["name"],
    metric_description: metric["description"],
    metric_unit: metric["unit"],
    metric_type: metricTypes[kind],
    aggregation_temporality: hasTemporality ? (temporality ?? "UNSPECIFIED") : null,
    is_monotonic: kind === "sum" ? data["isMonotonic"] : null,
    flags: point["flags"],
    ...pointNumbers(recorded(point) ? kind : "gauge", valueOf(point)),
    ...exponential(recorded(point) ? kind : "gauge", valueOf(point)),
    quantiles: list(valueOf(point), "quantileValues").map(({ quantile }) => number(quantile)),
    quantile_values: list(valueOf(point), "quantileValues").map(({ value }) => number(value)),
    ...origin,
    attributes: attributes(point),
  }));
}

function recorded(point: Decoded): boolean {
  return ((point["flags"] as number) & 1) === 0;
}

/** The point with its value; nothing where none was recorded. */
function valueOf(point: Decoded): Decoded {
  return recorded(point) ? point : {};
}

function pointNumbers(kind: string, point: Decoded): Row {
  const isPlain = kind === "gauge" || kind === "sum";
  const has = (name: string) => Object.hasOwn(point, name);
  return {
    value_double: isPlain && point["value"] === "asDouble" ? number(point["asDouble"]) : null,
    value_int: isPlain && point["value"] === "asInt" ? whole(point["asInt"]) : null,
    count: isPlain ? null : whole(point["count"]),
    sum: isPlain ? null : has("sum") ? number(point["sum"]) : kind === "summary" ? 0 : null,
    min: has("min") ? number(point["min"]) : null,
    max: has("max") ? number(point["max"]) : null,
    bucket_counts: ((point["bucketCounts"] ?? []) as unknown[]).map(whole),
    explicit_bounds: ((point["explicitBounds"] ?? []) as unknown[]).map(number),
  };
}

function exponential(kind: string, point: Decoded): Row {
  const isExponential = kind === "exponentialHistogram";
  const side = (name: string) => {
    const buckets = message(point, name);
    return {
      [`${name}_offset`]: isExponential ? (buckets["offset"] ?? 0) : null,
      [`${name}_bucket_counts`]: ((buckets["bucketCounts"] ?? []) as unknown[]).map(whole),
    };
  };
  return {
    scale: isExponential ? point["scale"] : null,
    zero_count: isExponential ? whole(point["zeroCount"]) : null,
    zero_threshold: isExponential ? number(point["zeroThreshold"]) : null,
    ...side("positive"),
    ...side("negative"),
  };
}

function list(of: Decoded, name: string): readonly Decoded[] {
  return (of[name] ?? []) as readonly Decoded[];
}

function message(of: Decoded, name: string): Decoded {
  const found = of[name];
  return found === undefined || found === null ? { name: "", version: "", attributes: [] } : (found as Decoded);
}

function unlessEmpty(name: string, value: unknown): Row {
  return value === "" ? {} : { [name]: value };
}

function attributes(of: Decoded): Row {
  return fromPairs(list(of, "attributes").map((pair) => [pair["key"] as string, asText(message(pair, "value"))]));
}

/** Of pairs with one key, the last; `Object.fromEntries` makes an own property even of `__proto__`. */
function fromPairs(pairs: [string, unknown][]): Row {
  return new Pairs(pairs) as unknown as Row;
}

/** Written as a JSON object in the order of its pairs, which that of numeric keys would not be. */
export class Pairs extends Map<string, unknown> {}

function asText(value: Decoded): string {
  switch (value["value"]) {
    case "stringValue":
      return value["stringValue"] as string;
    case "boolValue":
      return String(value["boolValue"]);
    case "intValue":
      return String(value["intValue"]);
    case "doubleValue":
      return plainDecimal(value["doubleValue"] as number);
    case "bytesValue":
      return (value["bytesValue"] as Buffer).toString("hex");
    case "arrayValue":
    case "kvlistValue":
      return asJson(value);
    default:
      return "";
  }
}

function asJson(value: Decoded): string {
  switch (value["value"]) {
    case undefined:
      return "null";
    case "boolValue":
    case "intValue":
      return asText(value);
    case "doubleValue":
      return Number.isFinite(value["doubleValue"]) ? asText(value) : JSON.stringify(asText(value));
    case "arrayValue":
      return `[${list(message(value, "arrayValue"), "values").map(asJson).join(",")}]`;
    case "kvlistValue": {
      const pairs = list(message(value, "kvlistValue"), "values").map((pair): [string, string] => [
        pair["key"] as string,
        asJson(message(pair, "value")),
      ]);
      return `{${[...new Map(pairs)].map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(",")}}`;
    }
    default:
      return JSON.stringify(asText(value));
  }
}

function plainDecimal(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const text = String(value);
  if (!text.includes("e")) return text;
  // Another way than that of the code: all digits of large ones by a bigint of the shortest decimal's digits.
  const [, sign, digits, fraction = "", exponent] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text)!;
  const power = Number(exponent) - fraction.length;
  const all = `${digits}${fraction}`;
  return power >= 0 ? sign + String(BigInt(all) * 10n ** BigInt(power)) : `${sign}0.${all.padStart(-power, "0")}`;
}

function number(value: unknown): number | string {
  return Number.isFinite(value) ? (value as number) : String(value);
}

/** Whole numbers of 64 bits are objects whose text is their digits. */
function whole(value: unknown): bigint | number {
  return typeof value === "number" ? value : BigInt(String(value));
}

function id(value: unknown): string {
  const bytes = Buffer.from((value ?? []) as Uint8Array);
  return bytes.every((byte) => byte === 0) ? "" : bytes.toString("hex");
}

/** The time of arrival of all requests that are compared, in milliseconds since the epoch. */
export const receivedAt = 7;

/** The first time that is not 0, which says that it is unknown, or that of arrival. */
function time(...values: readonly unknown[]): string {
  const known = values.map((value) => BigInt(whole(value))).find((nanoseconds) => nanoseconds !== 0n);
  const nanoseconds = known ?? BigInt(receivedAt) * 1_000_000n;
  const second = new Date(Number(nanoseconds / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${second}${fraction === "" ? "" : `.${fraction}`}Z`;
}

/** A row as JSON. */
export function rowJson(value: unknown): string {
  if (value instanceof Pairs) {
    return `{${[...value].map(([key, inner]) => `${JSON.stringify(key)}:${rowJson(inner)}`).join(",")}}`;
  }
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(rowJson).join(",")}]`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}:${rowJson(inner)}`)
    .join(",")}}`;
}
