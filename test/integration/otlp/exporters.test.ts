import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Signal } from "../../../engine/core/push.ts";
import { createTable } from "../../support/pipelines.ts";
import { ExporterOf, type Recorded, type Way } from "./exporters.ts";
import { logMapping, logRow, recordLogs } from "./recorded-logs.ts";
import { metricMapping, metricRows, recordMetrics } from "./recorded-metrics.ts";
import { recordSpans, spanMapping, spanRow } from "./recorded-spans.ts";
import { OtlpScene, otlpPipeline, tableOf } from "./scene.ts";
import type { Row } from "./values.ts";

let scene: OtlpScene;
let metrics: Recorded["metrics"];

const pipelines = { logs: "sdk-logs", traces: "sdk-traces", metrics: "sdk-metrics" };
const [logs, traces] = [recordLogs(), recordSpans()];

beforeAll(async () => {
  metrics = await recordMetrics();
  scene = await OtlpScene.open();
  for (const [signal, mapping] of [
    ["logs", logMapping],
    ["traces", spanMapping],
    ["metrics", metricMapping],
  ] as const) {
    await scene.running.engine.create(otlpPipeline(pipelines[signal], signal, { mapping }), createTable);
  }
});

afterAll(() => scene.close());

/** Exports once, and returns the rows that came of it, which are taken out of the table. */
async function exported<S extends Signal>(signal: S, way: Way, gzip: boolean, items: Recorded[S]): Promise<Row[]> {
  const pipeline_id = pipelines[signal];
  const exporter = new ExporterOf(signal, way, { listeners: scene.listeners, gzip, pipeline_id });
  try {
    await exporter.export(items);
  } finally {
    await exporter.close();
  }
  await scene.settled(pipeline_id);
  expect(scene.running.engine.deadLetters(pipeline_id).list(10).messages).toEqual([]);
  const rows = await scene.running.rows(`SELECT * FROM ${tableOf(pipeline_id)}`);
  await scene.running.engine.sql(`TRUNCATE TABLE ${tableOf(pipeline_id)}`);
  return rows;
}

/** In an order that does not depend on that of their columns. */
function sorted(rows: Row[], ...by: string[]): Row[] {
  const key = (row: Row): string => JSON.stringify(by.map((name) => row[name]));
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

const title = "what the SDK exports over %s %s becomes rows, field by field:";
const ways: readonly Way[] = ["gRPC", "HTTP/protobuf", "HTTP/JSON"];

describe.each(ways.map((way) => [way, "in gzip", true] as const))(title, becomesRows);
describe.each(ways.map((way) => [way, "as it is", false] as const))(title, { tags: ["rest"] }, becomesRows);

function becomesRows(way: Way, _how: string, gzip: boolean): void {
  test("logs", async () => {
    const rows = await exported("logs", way, gzip, logs);
    expect(sorted(rows, "timestamp")).toEqual(sorted(logs.map(logRow), "timestamp"));
  });

  test("traces", async () => {
    const rows = await exported("traces", way, gzip, traces);
    const read = rows.map((row) => ({ ...row, events: parsed(row["events"]), links: parsed(row["links"]) }));
    expect(sorted(read, "span_id")).toEqual(sorted(traces.map(spanRow), "span_id"));
  });

  test("metrics", async () => {
    const rows = await exported("metrics", way, gzip, metrics);
    expect(sorted(rows, "metric_name", "attributes")).toEqual(sorted(metricRows(metrics), "metric_name", "attributes"));
  });
}

test("every kind of record was among what was compared", () => {
  expect(logs).toHaveLength(11);
  expect(new Set(traces.map(({ kind }) => kind))).toEqual(new Set([0, 1, 2, 3, 4]));
  expect(new Set(metricRows(metrics).map((row) => row["metric_type"]))).toEqual(
    new Set(["gauge", "sum", "histogram", "exp_histogram"]),
  );
});

function parsed(json: unknown): unknown {
  return JSON.parse(String(json));
}
