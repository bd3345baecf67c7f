import { describe, expect, test } from "vitest";
import { otlpFields } from "../../../schemas/index.ts";
import type { MetricKindName } from "../../../engine/sources/otlp/rows/metric-kinds.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { type Part, requestOf, rowOf, rowTexts, wireOf } from "./requests.ts";

const about = { name: "m", description: "d", unit: "s" };
const when = { timeUnixNano: "1705315800000000000", startTimeUnixNano: "1705315740000000000" };
const attributes = [{ key: "k", value: { stringValue: "v" } }];
/** What a row has where its kind of metric has nothing. */
const nothing = {
  timestamp: "2024-01-15T10:50:00Z",
  start_timestamp: "2024-01-15T10:49:00Z",
  metric_name: "m",
  metric_description: "d",
  metric_unit: "s",
  aggregation_temporality: null,
  is_monotonic: null,
  flags: 0,
  value_double: null,
  value_int: null,
  count: null,
  sum: null,
  min: null,
  max: null,
  bucket_counts: [],
  explicit_bounds: [],
  scale: null,
  zero_count: null,
  zero_threshold: null,
  positive_offset: null,
  positive_bucket_counts: [],
  negative_offset: null,
  negative_bucket_counts: [],
  quantiles: [],
  quantile_values: [],
  resource_attributes: {},
  scope_name: "",
  scope_attributes: {},
  attributes: { k: "v" },
};
const zeroExponential = { scale: 0, zero_count: 0, zero_threshold: 0, positive_offset: 0, negative_offset: 0 };

const kinds: [string, Part, Part][] = [
  ["a gauge of a double", { gauge: { dataPoints: [{ asDouble: 1.5 }] } }, { metric_type: "gauge", value_double: 1.5 }],
  ["a gauge of an integer", { gauge: { dataPoints: [{ asInt: "-7" }] } }, { metric_type: "gauge", value_int: -7 }],
  ["a gauge of zero", { gauge: { dataPoints: [{ asDouble: 0 }] } }, { metric_type: "gauge", value_double: 0 }],
  ["a point without a value", { gauge: { dataPoints: [{ flags: 2 }] } }, { metric_type: "gauge", flags: 2 }],
  ["NaN", { gauge: { dataPoints: [{ asDouble: NaN }] } }, { metric_type: "gauge", value_double: "NaN" }],
  [
    "a monotonic sum",
    { sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ asInt: "3" }] } },
    { metric_type: "sum", aggregation_temporality: "CUMULATIVE", is_monotonic: true, value_int: 3 },
  ],
  [
    "a sum of differences",
    { sum: { aggregationTemporality: 1, dataPoints: [{ asDouble: -0.5 }] } },
    { metric_type: "sum", aggregation_temporality: "DELTA", is_monotonic: false, value_double: -0.5 },
  ],
  [
    "a histogram",
    {
      histogram: {
        aggregationTemporality: 1,
        dataPoints: [
          {
            count: "6",
            sum: 12.5,
            min: 0.5,
            max: 9,
            bucketCounts: ["1", "2", "3"],
            explicitBounds: [1, 2.5],
            flags: 2,
          },
        ],
      },
    },
    {
      metric_type: "histogram",
      aggregation_temporality: "DELTA",
      flags: 2,
      count: 6,
      sum: 12.5,
      min: 0.5,
      max: 9,
      bucket_counts: [1, 2, 3],
      explicit_bounds: [1, 2.5],
    },
  ],
  [
    "a histogram without anything",
    { histogram: { dataPoints: [{}] } },
    { metric_type: "histogram", aggregation_temporality: "UNSPECIFIED", count: 0, sum: null },
  ],
  [
    "a histogram of what JSON has not",
    { histogram: { dataPoints: [{ sum: NaN, min: -Infinity, max: Infinity, explicitBounds: [1, Infinity] }] } },
    {
      metric_type: "histogram",
      aggregation_temporality: "UNSPECIFIED",
      count: 0,
      sum: "NaN",
      min: "-Infinity",
      max: "Infinity",
      explicit_bounds: [1, "Infinity"],
    },
  ],
  [
    "an exponential histogram",
    {
      exponentialHistogram: {
        aggregationTemporality: 2,
        dataPoints: [
          {
            count: "10",
            sum: 4,
            min: -1,
            max: 3,
            scale: -2,
            zeroCount: "4",
            zeroThreshold: 0.25,
            positive: { offset: -3, bucketCounts: ["1", "300"] },
            negative: { offset: 5, bucketCounts: ["2"] },
          },
        ],
      },
    },
    {
      metric_type: "exp_histogram",
      aggregation_temporality: "CUMULATIVE",
      count: 10,
      sum: 4,
      min: -1,
      max: 3,
      scale: -2,
      zero_count: 4,
      zero_threshold: 0.25,
      positive_offset: -3,
      positive_bucket_counts: [1, 300],
      negative_offset: 5,
      negative_bucket_counts: [2],
    },
  ],
  [
    "an exponential histogram without anything",
    { exponentialHistogram: { dataPoints: [{}] } },
    {
      metric_type: "exp_histogram",
      aggregation_temporality: "UNSPECIFIED",
      count: 0,
      sum: null,
      ...zeroExponential,
    },
  ],
  [
    "a summary",
    {
      summary: {
        dataPoints: [
          {
            count: "8",
            sum: 20,
            quantileValues: [
              { quantile: 0, value: 1 },
              { quantile: 0.99, value: NaN },
            ],
          },
        ],
      },
    },
    { metric_type: "summary", count: 8, sum: 20, quantiles: [0, 0.99], quantile_values: [1, "NaN"] },
  ],
];

describe("a data point becomes a row with every field, null where its kind has nothing", () => {
  test.each(kinds)("%s", (_title, data, expected) => {
    const [[kind, { dataPoints, ...rest }]] = Object.entries(data) as [[string, { dataPoints: Part[] }]];
    const points = dataPoints.map((point) => ({ ...when, attributes, ...point }));
    const row = rowOf("metrics", { ...about, [kind]: { ...rest, dataPoints: points } }, undefined, { version: "v" });
    expect(row).toEqual({ ...nothing, scope_version: "v", ...expected });
    expect(Object.keys(row)).toEqual(otlpFields["otlp.metrics"].map(({ name }) => name));
  });
});

describe("whole numbers of 64 bits keep their digits", () => {
  const counts = ["9007199254740993", "18446744073709551615"];
  test.each<[string, Part, string]>([
    ["a value", { gauge: { dataPoints: [{ asInt: "-9223372036854775808" }] } }, '"value_int":-9223372036854775808,'],
    ["a count", { histogram: { dataPoints: [{ count: counts[1] }] } }, '"count":18446744073709551615,'],
    [
      "counts of buckets",
      { histogram: { dataPoints: [{ bucketCounts: counts }] } },
      `"bucket_counts":[${counts.join()}],`,
    ],
    [
      "counts of exponential buckets",
      { exponentialHistogram: { dataPoints: [{ negative: { bucketCounts: counts } }] } },
      `"negative_bucket_counts":[${counts.join()}],`,
    ],
    [
      "a count of zeros",
      { exponentialHistogram: { dataPoints: [{ zeroCount: counts[0] }] } },
      `"zero_count":${counts[0]},`,
    ],
  ])("%s", (_title, metric, expected) => {
    expect(rowTexts("metrics", wireOf("metrics", requestOf("metrics", [metric])))[0]).toContain(expected);
  });
});

const gauge = (...values: number[]) => ({ gauge: { dataPoints: values.map((asDouble) => ({ asDouble })) } });

test("points come one after the other, and a metric without data has none", () => {
  const request = requestOf("metrics", [{ ...gauge(1, 2), name: "a" }, { name: "b" }, { ...gauge(3), name: "c" }]);
  const rows = rowTexts("metrics", wireOf("metrics", request)).map((row) => JSON.parse(row) as Record<string, unknown>);
  expect(rows.map((row) => [row["metric_name"], row["value_double"]])).toEqual([
    ["a", 1],
    ["a", 2],
    ["c", 3],
  ]);
});

describe("great and small doubles are JSON numbers", () => {
  test.each([1e21, 5e-324, 1.7976931348623157e308, -1e-7, 2 ** 53, 0.1])("%d", (asDouble) => {
    expect(rowOf("metrics", { gauge: { dataPoints: [{ asDouble }] } })["value_double"]).toBe(asDouble);
  });
});

function requestFor(data: Part): Buffer {
  return wireOf("metrics", requestOf("metrics", [{ ...about, ...data }]));
}

describe("a data point without a recorded value", () => {
  const flagged = { ...when, attributes };
  const ended: [MetricKindName, Part][] = [
    ["gauge", { gauge: { dataPoints: [{ ...flagged, flags: 1, asDouble: NaN }] } }],
    ["sum", { sum: { dataPoints: [{ ...flagged, flags: 3, asInt: "7" }] } }],
    ["histogram", { histogram: { dataPoints: [{ ...flagged, flags: 1, bucketCounts: ["0"], explicitBounds: [] }] } }],
    ["exp_histogram", { exponentialHistogram: { dataPoints: [{ ...flagged, flags: 1, zeroCount: "3" }] } }],
    ["summary", { summary: { dataPoints: [{ ...flagged, flags: 1, quantileValues: [{ quantile: 0.5 }] }] } }],
  ];
  test.each(ended)("of kind %s is left out and counted", (_kind, data) => {
    expect(rowsOf("metrics", requestFor(data), "protobuf", 5)).toMatchObject({ ends: [], leftOut: 1, refused: 0 });
  });

  test.each(ended)("of kind %s has nulls where the pipeline stores NULL, and never a 0", (kind, data) => {
    const [text, ...more] = rowTexts("metrics", requestFor(data), "protobuf", { keptAsNull: [kind] });
    expect(more).toEqual([]);
    expect(JSON.parse(text!)).toEqual({
      ...nothing,
      metric_type: kind,
      flags: kind === "sum" ? 3 : 1,
      aggregation_temporality: kind === "gauge" || kind === "summary" ? null : "UNSPECIFIED",
      is_monotonic: kind === "sum" ? false : null,
    });
  });

  test("stands beside others, which stay, and counts once where its data are replaced", () => {
    const points = [{ asInt: "1" }, { flags: 1 }, { asInt: "2" }];
    const replaced = requestFor({ gauge: { dataPoints: [{ flags: 1 }] } });
    const rows = rowsOf("metrics", requestFor({ gauge: { dataPoints: points } }), "protobuf", 5);
    expect(rows).toMatchObject({ leftOut: 1 });
    expect(rows.ends).toHaveLength(2);
    expect(rowsOf("metrics", Buffer.concat([replaced, replaced]), "protobuf", 5)).toMatchObject({ leftOut: 2 });
  });
});
