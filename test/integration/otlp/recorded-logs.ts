import { ROOT_CONTEXT, trace, TraceFlags, type Context } from "@opentelemetry/api";
import { SeverityNumber, type AnyValue, type LogRecord } from "@opentelemetry/api-logs";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import type { ReadableLogRecord } from "@opentelemetry/sdk-logs";
import type { Mapping } from "../../../schemas/pipeline.ts";
import { columnTime, textsOf, timeText, type Row } from "./values.ts";

/** Bodies, and the text that a row has of each. */
const bodies: [AnyValue, string][] = [
  ["plain text", "plain text"],
  [
    'quotes " and \\ and \n line breaks \u0000 and 日本語 🎉',
    'quotes " and \\ and \n line breaks \u0000 and 日本語 🎉',
  ],
  ["", ""],
  [42, "42"],
  [-7.25, "-7.25"],
  [1.5e-7, "0.00000015"],
  [true, "true"],
  [new Uint8Array([0, 1, 254, 255]), "0001feff"],
  [["a", 1, true, null], '["a",1,true,null]'],
  [
    { event: "login", user: { id: 7, roles: ["admin", "<ops> & co"] }, raw: new Uint8Array([10, 11]) },
    '{"event":"login","user":{"id":7,"roles":["admin","<ops> & co"]},"raw":"0a0b"}',
  ],
  [null, ""],
];

/** Log records of every kind, as the SDK made them. */
export function recordLogs(): ReadableLogRecord[] {
  const exporter = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ "service.name": "shop", "process.pid": 17, "host.tags": ["a", "b"] }),
    processors: [new SimpleLogRecordProcessor({ exporter })],
    logRecordLimits: { attributeCountLimit: 6 },
  });
  const [versioned, bare] = [provider.getLogger("checkout", "1.2.3"), provider.getLogger("bare")];
  bodies.forEach(([body], n) => (n % 2 === 0 ? versioned : bare).emit(recordOf(n, body)));
  return exporter.getFinishedLogRecords();
}

function recordOf(n: number, body: AnyValue): LogRecord {
  const attributes = {
    n,
    "http.route": "/cart",
    ratio: 0.1,
    ok: n % 2 === 0,
    raw: new Uint8Array([n]),
    list: [1.5, 2],
  };
  return {
    body,
    timestamp: [1_705_315_800 + n, n === 0 ? 0 : 123_456_789 - n * 11],
    ...(n % 3 === 0 ? {} : { observedTimestamp: [1_705_315_900, 500_000_000] }),
    severityNumber: n % 4 === 0 ? SeverityNumber.ERROR : SeverityNumber.INFO2,
    ...(n % 4 === 0 ? { severityText: "error" } : {}),
    attributes: n === 5 ? { ...attributes, seventh: "is dropped" } : attributes,
    context: n % 2 === 0 ? inSpan(n) : ROOT_CONTEXT,
  };
}

function inSpan(n: number): Context {
  const traceId = `0af7651916cd43dd8448eb211c8031${n.toString(16).padStart(2, "0")}`;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: "00f067aa0ba902b7", traceFlags: TraceFlags.SAMPLED });
}

/** Every field of a log row, each in a column of its own name. */
export const logMapping: Mapping[] = [
  { name: "timestamp", column_name: "timestamp", column_type: "String" },
  { name: "timestamp", column_name: "time", column_type: "DateTime64(9, 'UTC')" },
  { name: "observed_timestamp", column_name: "observed_timestamp", column_type: "String" },
  { name: "severity_number", column_name: "severity_number", column_type: "UInt8" },
  { name: "severity_text", column_name: "severity_text", column_type: "String" },
  { name: "body", column_name: "body", column_type: "String" },
  { name: "trace_id", column_name: "trace_id", column_type: "Nullable(String)" },
  { name: "span_id", column_name: "span_id", column_type: "Nullable(String)" },
  { name: "flags", column_name: "flags", column_type: "UInt32" },
  { name: "dropped_attributes_count", column_name: "dropped_attributes_count", column_type: "UInt32" },
  { name: "resource_attributes", column_name: "resource_attributes", column_type: "Map(String, String)" },
  { name: "resource_attributes.service.name", column_name: "service", column_type: "LowCardinality(String)" },
  { name: "scope_name", column_name: "scope_name", column_type: "String" },
  { name: "scope_version", column_name: "scope_version", column_type: "Nullable(String)" },
  { name: "scope_attributes", column_name: "scope_attributes", column_type: "Map(String, String)" },
  { name: "attributes", column_name: "attributes", column_type: "Map(LowCardinality(String), String)" },
];

/** What is expected of a record in those columns. */
export function logRow(record: ReadableLogRecord): Row {
  const { hrTime, resource, instrumentationScope: scope, spanContext } = record;
  return {
    timestamp: timeText(hrTime),
    time: columnTime(hrTime),
    observed_timestamp: timeText(record.hrTimeObserved),
    severity_number: record.severityNumber,
    severity_text: record.severityText ?? "",
    body: bodies[Number(record.attributes["n"])]![1],
    trace_id: spanContext?.traceId ?? null,
    span_id: spanContext?.spanId ?? null,
    flags: spanContext?.traceFlags ?? 0,
    dropped_attributes_count: record.droppedAttributesCount,
    resource_attributes: textsOf(resource.attributes),
    service: "shop",
    scope_name: scope.name,
    scope_version: scope.version || null,
    scope_attributes: textsOf(scope.attributes),
    attributes: textsOf(record.attributes),
  };
}
