import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import type { MetricKindName } from "./rows/metric-kinds.ts";

const number = ["value_double", "value_int"];
const summary = ["count", "sum"];
const histogram = [...summary, "min", "max"];

/** The fields that hold the value of a data point. Lists are not among them: an empty one is not a value of zero. */
export const valueFields: Readonly<Record<MetricKindName, readonly string[]>> = {
  gauge: number,
  sum: number,
  histogram,
  exp_histogram: [...histogram, "scale", "zero_count", "zero_threshold", "positive_offset", "negative_offset"],
  summary,
};

/** Whether an event is a data point of which no value was recorded: bit 0 of its flags. */
export function isUnrecorded({ flags }: Record<string, unknown>): boolean {
  return typeof flags === "number" && flags % 2 === 1;
}

/** Column types that hold NULL. */
const nullable = /^\s*(?:LowCardinality\(\s*)?(?:Nullable|Variant|Dynamic)\b/;

/**
 * The kinds of metrics of which a data point without a recorded value is stored: the mapping has a column for its value,
 * and each such column is Nullable. Of other kinds, and where the mapping is not of the fields as they arrive, because of
 * a stateless transform or a join, the point is left out: a 0 would be a value that nobody measured.
 */
export function keptAsNull({ sources, transforms, join, sink }: PipelineConfig): MetricKindName[] {
  const source = sources.find(({ type }) => type === "otlp.metrics");
  if (source === undefined || join !== undefined) return [];
  if (transforms.some(({ type, source_id }) => type === "stateless" && source_id === source.source_id)) return [];
  return (Object.keys(valueFields) as MetricKindName[]).filter((kind) => {
    const mapped = sink.mapping.filter(({ name }) => valueFields[kind].includes(name));
    return mapped.length > 0 && mapped.every(({ column_type }) => nullable.test(column_type));
  });
}
