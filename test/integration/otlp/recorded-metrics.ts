import { ValueType, type Meter } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { AggregationType, DataPointType, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import type {
  DataPoint,
  ExponentialHistogram,
  Histogram,
  MetricData,
  ResourceMetrics,
  ScopeMetrics,
} from "@opentelemetry/sdk-metrics";
import type { Mapping } from "../../../schemas/pipeline.ts";
import { textsOf, timeText, type Row } from "./values.ts";

/** Collects when it is asked. */
class Collector extends MetricReader {
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
}

/** Metrics of every kind that the SDK has. */
export async function recordMetrics(): Promise<ResourceMetrics> {
  const collector = new Collector();
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ "service.name": "shop" }),
    readers: [collector],
    views: [{ instrumentName: "latency.exponential", aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }],
  });
  recordNumbers(provider.getMeter("checkout", "3.1.0"));
  recordDistributions(provider.getMeter("bare"));
  const { resourceMetrics } = await collector.collect();
  return resourceMetrics;
}

function recordNumbers(meter: Meter): void {
  const requests = meter.createCounter("requests", { unit: "1", valueType: ValueType.INT, description: "Requests." });
  requests.add(3, { "http.route": "/cart" });
  requests.add(2 ** 53 - 1, { "http.route": "/pay" });
  meter.createCounter("bytes.sent", { unit: "By" }).add(0.1 + 0.2);
  meter.createUpDownCounter("open", { valueType: ValueType.INT }).add(-4, { pool: "a" });
  meter.createGauge("temperature", { unit: "Cel" }).record(-1.5e-7, { room: 'the "cold" one' });
}

function recordDistributions(meter: Meter): void {
  const advice = { explicitBucketBoundaries: [1, 2.5, 10] };
  const explicit = meter.createHistogram("latency.explicit", { unit: "s", advice });
  const exponential = meter.createHistogram("latency.exponential", { unit: "s" });
  for (const value of [0, 0.25, 1, 3, 3.5, 100]) {
    explicit.record(value, { status: 200 });
    exponential.record(value, { status: 200 });
  }
}

const columns: readonly (readonly [name: string, column_type: string])[] = [
  ["timestamp", "String"],
  ["start_timestamp", "String"],
  ["metric_name", "String"],
  ["metric_description", "String"],
  ["metric_unit", "String"],
  ["metric_type", "LowCardinality(String)"],
  ["aggregation_temporality", "Nullable(String)"],
  ["is_monotonic", "Nullable(Bool)"],
  ["flags", "UInt32"],
  ["value_double", "Nullable(Float64)"],
  ["value_int", "Nullable(Int64)"],
  ["count", "Nullable(UInt64)"],
  ["sum", "Nullable(Float64)"],
  ["min", "Nullable(Float64)"],
  ["max", "Nullable(Float64)"],
  ["bucket_counts", "Array(UInt64)"],
  ["explicit_bounds", "Array(Float64)"],
  ["scale", "Nullable(Int32)"],
  ["zero_count", "Nullable(UInt64)"],
  ["zero_threshold", "Nullable(Float64)"],
  ["positive_offset", "Nullable(Int32)"],
  ["positive_bucket_counts", "Array(UInt64)"],
  ["negative_offset", "Nullable(Int32)"],
  ["negative_bucket_counts", "Array(UInt64)"],
  ["quantiles", "Array(Float64)"],
  ["quantile_values", "Array(Float64)"],
  ["resource_attributes", "Map(String, String)"],
  ["scope_name", "String"],
  ["scope_version", "Nullable(String)"],
  ["scope_attributes", "Map(String, String)"],
  ["attributes", "Map(String, String)"],
];

/** Every field of a data point's row, each in a column of its own name. */
export const metricMapping: Mapping[] = columns.map(([name, column_type]) => ({
  name,
  column_name: name,
  column_type,
}));

/** What is expected in those columns, a row for each data point. */
export function metricRows({ resource, scopeMetrics }: ResourceMetrics): Row[] {
  const ofResource = { resource_attributes: textsOf(resource.attributes), scope_attributes: {} };
  return scopeMetrics.flatMap(({ scope, metrics }: ScopeMetrics) =>
    metrics.flatMap((metric) =>
      metric.dataPoints.map((point) => {
        const ofScope = { scope_name: scope.name, scope_version: scope.version || null };
        return { ...nothing, ...ofResource, ...ofScope, ...metricPart(metric), ...pointPart(metric, point) };
      }),
    ),
  );
}

/** What a row has of what its kind of metric has not. */
const nothing: Row = {
  aggregation_temporality: null,
  is_monotonic: null,
  flags: 0,
  ...Object.fromEntries(["value_double", "value_int", "count", "sum", "min", "max"].map((name) => [name, null])),
  bucket_counts: [],
  explicit_bounds: [],
  ...Object.fromEntries(["scale", "zero_count", "zero_threshold"].map((name) => [name, null])),
  positive_offset: null,
  positive_bucket_counts: [],
  negative_offset: null,
  negative_bucket_counts: [],
  quantiles: [],
  quantile_values: [],
};

const types: Record<DataPointType, string> = {
  [DataPointType.GAUGE]: "gauge",
  [DataPointType.SUM]: "sum",
  [DataPointType.HISTOGRAM]: "histogram",
  [DataPointType.EXPONENTIAL_HISTOGRAM]: "exp_histogram",
};

function metricPart(metric: MetricData): Row {
  const { descriptor, dataPointType } = metric;
  return {
    metric_name: descriptor.name,
    metric_description: descriptor.description,
    metric_unit: descriptor.unit,
    metric_type: types[dataPointType],
    ...(dataPointType === DataPointType.GAUGE ? {} : { aggregation_temporality: "CUMULATIVE" }),
    ...(dataPointType === DataPointType.SUM ? { is_monotonic: metric.isMonotonic } : {}),
  };
}

function pointPart(metric: MetricData, point: DataPoint<unknown>): Row {
  return {
    timestamp: timeText(point.endTime),
    start_timestamp: timeText(point.startTime),
    attributes: textsOf(point.attributes),
    ...valuePart(metric, point),
  };
}

function valuePart({ dataPointType, descriptor }: MetricData, { value }: DataPoint<unknown>): Row {
  if (dataPointType === DataPointType.HISTOGRAM) {
    const { count, sum, min, max, buckets } = value as Histogram;
    return { count, sum, min, max, bucket_counts: buckets.counts, explicit_bounds: buckets.boundaries };
  }
  if (dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) {
    const { count, sum, min, max, scale, zeroCount, positive, negative } = value as ExponentialHistogram;
    return {
      count,
      sum,
      min,
      max,
      scale,
      zero_count: zeroCount,
      zero_threshold: 0,
      positive_offset: positive.offset,
      positive_bucket_counts: positive.bucketCounts,
      negative_offset: negative.offset,
      negative_bucket_counts: negative.bucketCounts,
    };
  }
  return descriptor.valueType === ValueType.INT ? { value_int: value } : { value_double: value };
}
