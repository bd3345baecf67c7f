/** @module-tag rest */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import { freeAddress } from "../../support/ports.ts";
import { freeListeners, Workplace } from "../../support/daemon.ts";
import { ExporterOf } from "./exporters.ts";
import { recordLogs } from "./recorded-logs.ts";
import { metricRows, recordMetrics } from "./recorded-metrics.ts";
import { recordSpans } from "./recorded-spans.ts";

let place: Workplace;
let daemon: Daemon;
let addresses: { grpc: string; http: string };

beforeEach(async () => {
  place = await Workplace.make();
  const [otlpGrpc, otlpHttp] = [await freeAddress(), await freeAddress()];
  const listeners = { ...(await freeListeners()), otlpGrpc, otlpHttp };
  daemon = await place.start({ args: ["--dir", "examples/otlp/pipelines"], listeners });
  addresses = { grpc: otlpGrpc, http: `http://${otlpHttp}` };
});

afterEach(() => place.clean());

/** Resolves when a pipeline has written so many rows. */
async function written(pipeline_id: string, rows: number): Promise<void> {
  await daemon.until(
    async () => (await daemon.health(pipeline_id)).counters.rows_written === rows || undefined,
    `to write ${rows} rows of ${pipeline_id}`,
  );
}

test("the whole program takes all signals for the pipelines of the examples", async () => {
  const isRunning = async (id: string) => (await daemon.health(id)).overall_status === "Running" || undefined;
  for (const id of ["app-logs", "app-traces", "app-metrics"]) await daemon.until(() => isRunning(id), `to run ${id}`);
  const to = (pipeline_id: string) => ({ listeners: addresses, gzip: true, pipeline_id });
  const [logs, traces, metrics] = [
    new ExporterOf("logs", "gRPC", to("app-logs")),
    new ExporterOf("traces", "HTTP/protobuf", to("app-traces")),
    new ExporterOf("metrics", "HTTP/JSON", to("app-metrics")),
  ];
  const [records, spans, points] = [recordLogs(), recordSpans(), await recordMetrics()];
  await Promise.all([logs.export(records), traces.export(spans), traces.export(spans), metrics.export(points)]);
  await written("app-logs", records.length);
  await written("app-traces", spans.length);
  await written("app-metrics", metricRows(points).length);
  await Promise.all([logs, traces, metrics].map((exporter) => exporter.close()));
  const services = await daemon.command("sql", "--format", "TSV", "SELECT DISTINCT service FROM app_logs");
  expect(services).toBe("shop");
  expect(await daemon.command("info")).toContain(addresses.grpc);
});
