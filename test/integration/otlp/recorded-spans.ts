import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import type { Mapping } from "../../../schemas/pipeline.ts";
import { nanosecondsBetween, textsOf, timeText, type Row } from "./values.ts";

const elsewhere = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  traceFlags: TraceFlags.SAMPLED,
  traceState: createTraceState("vendor=1,other=two"),
  isRemote: true,
};

/** Spans of every kind, as the SDK made them: a root with children, and one whose parent is in another process. */
export function recordSpans(): ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "shop", "service.instance.id": "shop-1" }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    spanLimits: { attributeCountLimit: 3, eventCountLimit: 2, linkCountLimit: 1 },
  });
  recordTree(provider.getTracer("checkout", "2.0.0"));
  recordDistant(provider.getTracer("bare"));
  return exporter.getFinishedSpans();
}

function recordTree(tracer: Tracer): void {
  const root = tracer.startSpan("GET /cart", { kind: SpanKind.SERVER, startTime: [1_705_315_800, 0] }, ROOT_CONTEXT);
  const within = trace.setSpan(ROOT_CONTEXT, root);
  for (const [n, kind] of [SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER].entries()) {
    const child = tracer.startSpan(`step ${n}`, { kind, startTime: [1_705_315_800, 1000 + n] }, within);
    child.setAttributes({ n, "db.statement": 'SELECT "é"', slow: n === 1, fourth: "is dropped" });
    for (const event of ["first", "second", "third"].slice(0, n)) {
      child.addEvent(event, { "exception.type": "Timeout", tries: n }, [1_705_315_800, 2000]);
    }
    if (n === 2) child.setStatus({ code: SpanStatusCode.ERROR, message: "no answer from <db>" });
    if (n === 3) child.setStatus({ code: SpanStatusCode.OK });
    child.end([1_705_315_801 + n, 5]);
  }
  root.end([1_705_315_806, 999_999_999]);
}

function recordDistant(tracer: Tracer): void {
  const from = trace.setSpanContext(ROOT_CONTEXT, elsewhere);
  const links = [{ context: elsewhere, attributes: { why: "retry" } }, { context: { ...elsewhere, isRemote: false } }];
  tracer.startSpan("consume", { links, startTime: [1_705_315_900, 0] }, from).end([1_705_315_900, 0]);
}

/** Every field of a span's row, each in a column of its own name. */
export const spanMapping: Mapping[] = [
  ...["trace_id", "span_id", "parent_span_id", "trace_state", "status_message", "scope_version"].map(nullable),
  ...["name", "kind", "start_timestamp", "end_timestamp", "status_code", "scope_name", "events", "links"].map(text),
  { name: "flags", column_name: "flags", column_type: "UInt32" },
  { name: "duration_ns", column_name: "duration_ns", column_type: "UInt64" },
  ...["attributes", "events", "links"].map((of) => {
    return { name: `dropped_${of}_count`, column_name: `dropped_${of}_count`, column_type: "UInt32" };
  }),
  ...["resource_attributes", "scope_attributes", "attributes"].map((name) => {
    return { name, column_name: name, column_type: "Map(String, String)" };
  }),
];

function text(name: string): Mapping {
  return { name, column_name: name, column_type: "String" };
}

function nullable(name: string): Mapping {
  return { name, column_name: name, column_type: "Nullable(String)" };
}

const kinds = ["INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const codes = ["UNSET", "OK", "ERROR"];

/** What is expected of a span in those columns; lists as what their JSON means. */
export function spanRow(span: ReadableSpan): Row {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const { instrumentationScope: scope, parentSpanContext: parent } = span;
  return {
    trace_id: traceId,
    span_id: spanId,
    parent_span_id: parent?.spanId ?? null,
    trace_state: traceState?.serialize() ?? null,
    // The bits say that it is known whether the parent is remote, and whether it is.
    flags: traceFlags | 0x100 | (parent?.isRemote === true ? 0x200 : 0),
    name: span.name,
    kind: kinds[span.kind],
    start_timestamp: timeText(span.startTime),
    end_timestamp: timeText(span.endTime),
    duration_ns: nanosecondsBetween(span.startTime, span.endTime),
    status_code: codes[span.status.code],
    status_message: span.status.message ?? null,
    dropped_attributes_count: span.droppedAttributesCount,
    dropped_events_count: span.droppedEventsCount,
    dropped_links_count: span.droppedLinksCount,
    events: span.events.map(({ name, time, attributes, droppedAttributesCount = 0 }) => {
      const dropped_attributes_count = droppedAttributesCount;
      return { timestamp: timeText(time), name, attributes: textsOf(attributes), dropped_attributes_count };
    }),
    links: span.links.map(({ context, attributes, droppedAttributesCount = 0 }) => {
      const dropped_attributes_count = droppedAttributesCount;
      const trace_state = context.traceState?.serialize();
      const ids = { trace_id: context.traceId, span_id: context.spanId, ...(trace_state && { trace_state }) };
      return { ...ids, attributes: textsOf(attributes), dropped_attributes_count };
    }),
    resource_attributes: textsOf(span.resource.attributes),
    scope_name: scope.name,
    scope_version: scope.version || null,
    scope_attributes: {},
    attributes: textsOf(span.attributes),
  };
}
