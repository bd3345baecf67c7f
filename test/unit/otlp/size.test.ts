import { expect, test } from "vitest";
import type { Signal } from "../../../engine/core/push.ts";
import { JsonBytes } from "../../../engine/sources/otlp/rows/json-bytes.ts";
import { LogRows } from "../../../engine/sources/otlp/rows/log-rows.ts";
import { MetricRows } from "../../../engine/sources/otlp/rows/metric-rows.ts";
import { leastSize } from "../../../engine/sources/otlp/rows/request.ts";
import { RowWriter } from "../../../engine/sources/otlp/rows/row-writer.ts";
import { SpanRows } from "../../../engine/sources/otlp/rows/span-rows.ts";
import { OversizedRequest } from "../../../engine/sources/otlp/protobuf/wire.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { randomMessage, wireOfMessage } from "../../fuzz/otlp-json.ts";
import { Random } from "../../support/random.ts";
import { costlyBody, largestBody } from "../../security/otlp-amplification.ts";
import { type Part, requestOf, spanIds, wireOf } from "./requests.ts";

/** So many requests of one signal, one after the other, which is one request. Each of its items is a row. */
function manyOf(signal: Signal, random: Random, count: number): Buffer {
  const requests = Array.from({ length: count }, () => wireOfMessage(signal, rowsOnly(randomMessage(signal, random))));
  return Buffer.concat(requests);
}

const ids: Readonly<Record<string, Buffer>> = { traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, 1) };

/** The message with ids that are valid, and without flags. */
function rowsOnly<Inner>(message: Inner): Inner {
  if (Array.isArray(message)) return message.map(rowsOnly) as Inner;
  if (typeof message !== "object" || message === null || Buffer.isBuffer(message)) return message;
  const members = Object.entries(message).filter(([name]) => name !== "flags" && name !== "parentSpanId");
  return Object.fromEntries(members.map(([name, inner]) => [name, ids[name] ?? rowsOnly(inner)])) as Inner;
}

test.each<Signal>(["logs", "traces", "metrics"])(
  "rows of %s that just fit are never refused by their count",
  (signal) => {
    for (let seed = 1; seed <= 2; seed += 1) {
      const body = manyOf(signal, new Random(seed), 300);
      const { bytes } = rowsOf(signal, body, "protobuf", 5);
      expect(rowsOf(signal, body, "protobuf", 5, { most: bytes.length }).bytes.equals(bytes), `seed ${seed}`).toBe(
        true,
      );
    }
  },
);

const empty: [title: string, signal: Signal, count: number, item: Part][] = [
  ["log records", "logs", 34_000, {}],
  ["spans", "traces", 9_000, { ...spanIds, kind: "SPAN_KIND_SERVER", status: { code: 1 } }],
  ["gauges", "metrics", 330, { gauge: { dataPoints: Array.from({ length: 100 }, () => ({})) } }],
  ["sums", "metrics", 5_500, { sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: [{}, {}] } }],
];

function justFits(signal: Signal, count: number, item: Part): void {
  const items = Array.from({ length: count }, () => item);
  const body = wireOf(signal, requestOf(signal, items));
  const { bytes, ends } = rowsOf(signal, body, "protobuf", 5);
  expect(body.length).toBeGreaterThan(64 * 1024);
  expect(rowsOf(signal, body, "protobuf", 5, { most: bytes.length }).ends.length).toBe(ends.length);
}

const neverRefused = "empty %s that just fit are never refused by their count";

test.each(empty.slice(1, 2))(neverRefused, (_title, ...of) => justFits(...of));

test.each([...empty.slice(0, 1), ...empty.slice(2)])(neverRefused, { tags: ["rest"] }, (_title, ...of) =>
  justFits(...of),
);

const itemRows = { logs: LogRows, traces: SpanRows, metrics: MetricRows };

function isRefusedByCount(title: string): void {
  const { signal, bytes } = costlyBody(title, largestBody - 1024);
  const row = new RowWriter(bytes, new JsonBytes(16), 0);
  const items = new itemRows[signal](row);
  expect(() => leastSize(row, items)).toThrow(OversizedRequest);
  expect(row.out.length).toBe(0);
}

test.each(["empty spans", "a long name on many data points", "data that later data replace"])(
  "it is refused by a count, before any row is written: %s",
  isRefusedByCount,
);

test.each(["empty records", "a large resource on many records", "a large resource in each of many scopes"])(
  "it is refused by a count, before any row is written: %s",
  { tags: ["rest"] },
  isRefusedByCount,
);

test("rows that are dropped again count as work, so that they are not written without end", () => {
  const { signal, bytes } = costlyBody("data that later data replace", 60 * 1024);
  expect(() => rowsOf(signal, bytes, "protobuf", 5, { most: 1024 * 1024 })).toThrow(OversizedRequest);
});
