import type { OtlpSourceConfig, SchemaField } from "./pipeline.ts";

type Signal = OtlpSourceConfig["type"];

const strings = (...names: string[]): SchemaField[] => names.map((name) => ({ name, type: "string" }));
const uints = (...names: string[]): SchemaField[] => names.map((name) => ({ name, type: "uint" }));
const floats = (...names: string[]): SchemaField[] => names.map((name) => ({ name, type: "float" }));
const arrays = (...names: string[]): SchemaField[] => names.map((name) => ({ name, type: "array" }));

/** The fields that every record has: of its resource, of its scope, and its own attributes. */
const origin: readonly SchemaField[] = [
  { name: "resource_attributes", type: "map" },
  ...strings("scope_name", "scope_version"),
  { name: "scope_attributes", type: "map" },
  { name: "attributes", type: "map" },
];

/** The fields of an OTLP event, fixed by the signal (docs/reference/pipeline.md, Fields of OTLP events). */
export const otlpFields: Readonly<Record<Signal, readonly SchemaField[]>> = {
  "otlp.logs": [
    ...strings("timestamp", "observed_timestamp"),
    ...uints("severity_number"),
    ...strings("severity_text", "body", "trace_id", "span_id"),
    ...uints("flags", "dropped_attributes_count"),
    ...origin,
  ],
  "otlp.traces": [
    ...strings("trace_id", "span_id", "parent_span_id", "trace_state"),
    ...uints("flags"),
    ...strings("name", "kind", "start_timestamp", "end_timestamp"),
    ...uints("duration_ns"),
    ...strings("status_code", "status_message"),
    ...uints("dropped_attributes_count", "dropped_events_count", "dropped_links_count"),
    ...arrays("events", "links"),
    ...origin,
  ],
  "otlp.metrics": [
    ...strings("timestamp", "start_timestamp", "metric_name", "metric_description", "metric_unit"),
    ...strings("metric_type", "aggregation_temporality"),
    { name: "is_monotonic", type: "bool" },
    ...uints("flags"),
    ...floats("value_double"),
    { name: "value_int", type: "int" },
    ...uints("count"),
    ...floats("sum", "min", "max"),
    ...arrays("bucket_counts", "explicit_bounds"),
    // Only of exponential histograms and summaries.
    { name: "scale", type: "int" },
    ...uints("zero_count"),
    ...floats("zero_threshold"),
    { name: "positive_offset", type: "int" },
    ...arrays("positive_bucket_counts"),
    { name: "negative_offset", type: "int" },
    ...arrays("negative_bucket_counts", "quantiles", "quantile_values"),
    ...origin,
  ],
};

/**
 * The field that `name` means in an event of the signal: a field, or an attribute as `<map field>.<attribute key>`,
 * whose rest is one literal key (`resource_attributes.service.name`). Attributes are texts.
 */
export function otlpField(signal: Signal, name: string): SchemaField | undefined {
  const fields = otlpFields[signal];
  const field = fields.find((one) => one.name === name);
  if (field !== undefined) return field;
  const dot = name.indexOf(".");
  const map = fields.find((one) => one.type === "map" && one.name === name.slice(0, dot));
  return dot < 0 || map === undefined || dot === name.length - 1 ? undefined : { name, type: "string" };
}
