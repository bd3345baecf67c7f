import { expect, test } from "vitest";
import type { Signal } from "../../../engine/core/push.ts";
import { JsonBytes } from "../../../engine/sources/otlp/rows/json-bytes.ts";
import { LogRows } from "../../../engine/sources/otlp/rows/log-rows.ts";
import { MetricRows } from "../../../engine/sources/otlp/rows/metric-rows.ts";
import { checkSize } from "../../../engine/sources/otlp/rows/request.ts";
import { RowWriter } from "../../../engine/sources/otlp/rows/row-writer.ts";
import { SpanRows } from "../../../engine/sources/otlp/rows/span-rows.ts";
import { OversizedRequest } from "../../../engine/sources/otlp/protobuf/wire.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { randomMessage, wireOfMessage } from "../../fuzz/otlp-json.ts";
import { Random } from "../../support/random.ts";
import { costlyBody, largestBody } from "../../security/otlp-amplification.ts";
import { type Part, requestOf, wireOf } from "./requests.ts";

/** So many requests of one signal, one after the other, which is one request. */
function manyOf(signal: Signal, random: Random, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => wireOfMessage(signal, randomMessage(signal, random))));
}

test.each<Signal>(["logs", "traces", "metrics"])(
  "rows of %s that just fit are never refused by their count",
  (signal) => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const body = manyOf(signal, new Random(seed), 300);
      const { bytes } = rowsOf(signal, body, "protobuf", 5);
      expect(rowsOf(signal, body, "protobuf", 5, { most: bytes.length }).bytes.equals(bytes), `seed ${seed}`).toBe(
        true,
      );
    }
  },
);

test.each<[title: string, signal: Signal, count: number, item: Part]>([
  ["log records", "logs", 40_000, {}],
  ["spans", "traces", 20_000, { kind: "SPAN_KIND_SERVER", status: { code: 1 } }],
  ["gauges", "metrics", 400, { gauge: { dataPoints: Array.from({ length: 100 }, () => ({})) } }],
  ["sums", "metrics", 10_000, { sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: [{}, {}] } }],
])("empty %s that just fit are never refused by their count", (_title, signal, count, item) => {
  const body = wireOf(
    signal,
    requestOf(
      signal,
      Array.from({ length: count }, () => item),
    ),
  );
  const { bytes, ends } = rowsOf(signal, body, "protobuf", 5);
  expect(body.length).toBeGreaterThan(64 * 1024);
  expect(rowsOf(signal, body, "protobuf", 5, { most: bytes.length }).ends.length).toBe(ends.length);
});

const itemRows = { logs: LogRows, traces: SpanRows, metrics: MetricRows };

test.each([
  "empty records",
  "empty spans",
  "a large resource on many records",
  "a large resource in each of many scopes",
  "a long name on many data points",
  "data that later data replace",
])("it is refused by a count, before any row is written: %s", (title) => {
  const { signal, bytes } = costlyBody(title, largestBody - 1024);
  const row = new RowWriter(bytes, new JsonBytes(16));
  const items = new itemRows[signal](row);
  expect(() => checkSize(row, items)).toThrow(OversizedRequest);
  expect(row.out.length).toBe(0);
});

test("rows that are dropped again count as work, so that they are not written without end", () => {
  const { signal, bytes } = costlyBody("data that later data replace", 60 * 1024);
  expect(() => rowsOf(signal, bytes, "protobuf", 5, { most: 1024 * 1024 })).toThrow(OversizedRequest);
});
