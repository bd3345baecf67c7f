import type { MessageForm } from "./fields.ts";

export type MetricKindName = "gauge" | "sum" | "histogram" | "exp_histogram" | "summary";

/** A kind of metric: its parts, by the numbers of their fields. Parts that it does not have are null in its rows. */
export interface MetricKind {
  readonly name: MetricKindName;
  /** The field of the metric that holds the data, the form of the data and that of a data point, which is parts 1. */
  readonly field: number;
  readonly data: MessageForm;
  readonly point: MessageForm;
  /** Of the data. */
  readonly temporality?: number;
  readonly isMonotonic?: number;
  /** Of the data point; each has its start as 2 and its time as 3. */
  readonly attributes: number;
  readonly flags: number;
  readonly double?: number;
  readonly int?: number;
  readonly count?: number;
  readonly sum?: number;
  /** Whether each point has a sum: one that is not there is 0. */
  readonly hasSum?: true;
  readonly min?: number;
  readonly max?: number;
  readonly bucketCounts?: number;
  readonly bounds?: number;
  readonly exponential?: {
    scale: number;
    zeroCount: number;
    zeroThreshold: number;
    positive: number;
    negative: number;
  };
  readonly quantiles?: number;
}

const gaugePoint = {
  point: {
    fields: { 2: "fixed64", 3: "fixed64", 4: "fixed64", 6: "fixed64", 7: "message", 8: "varint" },
    oneOf: [4, 6],
  },
  attributes: 7,
  flags: 8,
  double: 4,
  int: 6,
} as const;

export const metricKinds: readonly MetricKind[] = [
  { name: "gauge", field: 5, data: { fields: { 1: "message" } }, ...gaugePoint },
  {
    name: "sum",
    field: 7,
    data: { fields: { 1: "message", 2: "varint", 3: "varint" } },
    temporality: 2,
    isMonotonic: 3,
    ...gaugePoint,
  },
  {
    name: "histogram",
    field: 9,
    data: { fields: { 1: "message", 2: "varint" } },
    temporality: 2,
    point: {
      fields: {
        2: "fixed64",
        3: "fixed64",
        4: "fixed64",
        5: "fixed64",
        6: "fixed64s",
        7: "fixed64s",
        9: "message",
        10: "varint",
        11: "fixed64",
        12: "fixed64",
      },
    },
    attributes: 9,
    flags: 10,
    count: 4,
    sum: 5,
    min: 11,
    max: 12,
    bucketCounts: 6,
    bounds: 7,
  },
  {
    name: "exp_histogram",
    field: 10,
    data: { fields: { 1: "message", 2: "varint" } },
    temporality: 2,
    point: {
      fields: {
        1: "message",
        2: "fixed64",
        3: "fixed64",
        4: "fixed64",
        5: "fixed64",
        6: "varint",
        7: "fixed64",
        8: "message",
        9: "message",
        10: "varint",
        12: "fixed64",
        13: "fixed64",
        14: "fixed64",
      },
    },
    attributes: 1,
    flags: 10,
    count: 4,
    sum: 5,
    min: 12,
    max: 13,
    exponential: { scale: 6, zeroCount: 7, zeroThreshold: 14, positive: 8, negative: 9 },
  },
  {
    name: "summary",
    field: 11,
    data: { fields: { 1: "message" } },
    point: {
      fields: {
        2: "fixed64",
        3: "fixed64",
        4: "fixed64",
        5: "fixed64",
        6: "message",
        7: "message",
        8: "varint",
      },
    },
    attributes: 7,
    flags: 8,
    count: 4,
    sum: 5,
    hasSum: true,
    quantiles: 6,
  },
];
