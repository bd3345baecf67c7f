import { normalise } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import type { Over } from "../../support/engine-on-server.ts";

/** The batch of two events that the usual webhook pipeline makes, each id once. */
export const ordersOver: Over = {
  transforms: [{ type: "dedup", source_id: "input", config: { key: "id", time_window: "7d" } }],
};

/** Log records with the spans of their traces, each span once. */
export function joined(connection_params: object): PipelineConfig {
  return normalise({
    version: "v3",
    pipeline_id: "joined",
    sources: [
      { type: "otlp.logs", source_id: "records" },
      { type: "otlp.traces", source_id: "spans" },
    ],
    transforms: [{ type: "dedup", source_id: "spans", config: { key: "span_id", time_window: "7d" } }],
    join: {
      enabled: true,
      type: "temporal",
      left_source: { source_id: "records", key: "trace_id", time_window: "7d" },
      right_source: { source_id: "spans", key: "trace_id", time_window: "7d" },
      output_fields: [
        { source_id: "records", name: "body", output_name: "message" },
        { source_id: "spans", name: "name", output_name: "span" },
      ],
    },
    sink: {
      type: "clickhouse",
      connection_params,
      table: "joined",
      max_batch_size: 500,
      max_delay_time: "50ms",
      mapping: [
        { name: "message", column_name: "message", column_type: "String" },
        { name: "span", column_name: "span", column_type: "String" },
      ],
    },
  } as never);
}

/** An export of log records, one for each trace. */
export function records(...traces: number[]): object {
  const logRecords = traces.map((trace) => ({ traceId: traceId(trace), body: { stringValue: `record ${trace}` } }));
  return { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
}

/** An export of spans, one for each trace. */
export function spans(...traces: number[]): object {
  const found = traces.map((trace) => ({
    traceId: traceId(trace),
    spanId: trace.toString(16).padStart(16, "0"),
    name: `span ${trace}`,
  }));
  return { resourceSpans: [{ scopeSpans: [{ spans: found }] }] };
}

function traceId(trace: number): string {
  return trace.toString(16).padStart(32, "0");
}
