import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Signal } from "../../../engine/core/push.ts";
import type { Mapping } from "../../../schemas/pipeline.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { requestTypes } from "../../fuzz/otlp-reference.ts";
import { wireOf } from "../../unit/otlp/requests.ts";
import { OtlpScene, otlpPipeline } from "./scene.ts";
import { GrpcSender, jsonType, logs, post, protobufType } from "./senders.ts";

let scene: OtlpScene;
let sender: GrpcSender;

const column = (name: string, column_type: string): Mapping => ({ name, column_name: name, column_type });
const values = (double: string, int = double): Mapping[] => [
  column("metric_name", "String"),
  column("value_double", double),
  column("value_int", int),
];

const room = (max_msgs: number): { resources: object } => ({ resources: { nats: { stream: { max_msgs } } } });

beforeAll(async () => {
  scene = await OtlpScene.open();
  sender = new GrpcSender(scene.listeners.grpc);
  const { engine } = scene.running;
  await engine.create(otlpPipeline("app-logs"), createTable);
  await engine.create(webhookPipeline("web-hook"), createTable);
  await engine.create(otlpPipeline("some-spans", "traces", { mapping: [column("span_id", "String")] }), createTable);
  await engine.create(
    otlpPipeline("no-points", "metrics", { mapping: values("Float64", "Nullable(Int64)") }),
    createTable,
  );
  await engine.create(otlpPipeline("all-points", "metrics", { mapping: values("Nullable(Float64)") }), createTable);
  await engine.create(otlpPipeline("no-table"), { ...createTable, create_table: false });
  await engine.create(otlpPipeline("stopped"), createTable);
  await engine.create(otlpPipeline("full-one", "logs", room(3)), createTable);
  await engine.create(otlpPipeline("ended"), createTable);
  await engine.create(otlpPipeline("leaving"), createTable);
  await engine.create(otlpPipeline("deleted"), createTable);
  await engine.create(otlpPipeline("between"), createTable);
  await scene.running.until("no-table", ({ paused }) => paused !== undefined);
  await engine.stop("stopped");
  await engine.stop("full-one");
  await engine.terminate("ended");
  await engine.stop("leaving", { intake: "closed" });
  await engine.stop("deleted");
  await engine.delete("deleted");
  engine.recreating("between", true);
  await engine.stop("between", { intake: "closed" });
  await engine.delete("between");
  expect(await ask("full-one", "logs", logs(3))).toMatchObject({ http: 200, grpc: status.RESOURCE_EXHAUSTED });
});

afterAll(async () => {
  sender.close();
  await scene.close();
});

/** Sends a request over HTTP, and then the same over gRPC. */
async function ask(pipeline_id: string | undefined, signal: Signal, body: Buffer) {
  const headers: Record<string, string> = pipeline_id === undefined ? {} : { "x-sluice-pipeline-id": pipeline_id };
  const overHttp = await post(scene.listeners.http, signal, { ...protobufType, ...headers }, body);
  const overGrpc = await sender.send(signal, headers, body);
  return {
    http: overHttp.status,
    grpc: overGrpc.status,
    retryAfter: [overHttp.retryAfter, overGrpc.retryAfter],
    messages: [overHttp.message, overGrpc.message],
  };
}

const inBase64 = (hex: string): string => Buffer.from(hex, "hex").toString("base64");

const never = [undefined, undefined];

describe("what an exporter is answered over HTTP and over gRPC", () => {
  test.each<[number, number, (number | undefined)[], string, string | undefined, Signal, Buffer]>([
    [200, status.OK, never, "records for a running pipeline", "app-logs", "logs", logs(3)],
    [200, status.OK, never, "a request without records", "app-logs", "logs", logs(0)],
    [200, status.OK, never, "an empty body", "app-logs", "logs", Buffer.alloc(0)],
    [200, status.OK, never, "records for a stopped pipeline", "stopped", "logs", logs(2)],
    [200, status.OK, never, "records for a paused pipeline", "no-table", "logs", logs(2)],
    [400, status.INVALID_ARGUMENT, never, "no pipeline header", undefined, "logs", logs(1)],
    [400, status.INVALID_ARGUMENT, never, "an empty pipeline header", "", "logs", logs(1)],
    [400, status.INVALID_ARGUMENT, never, "a signal without a source", "app-logs", "traces", logs(1)],
    [400, status.INVALID_ARGUMENT, never, "bytes that are no request", "app-logs", "logs", Buffer.from("{}")],
    [404, status.NOT_FOUND, never, "an unknown pipeline", "no-such-one", "logs", logs(1)],
    [404, status.NOT_FOUND, never, "a name that is no pipeline's", "../../x", "logs", logs(1)],
    [404, status.NOT_FOUND, never, "a pipeline that takes no OTLP", "web-hook", "logs", logs(1)],
    [404, status.NOT_FOUND, never, "a deleted pipeline", "deleted", "logs", logs(1)],
    [503, status.UNAVAILABLE, [5, 5], "a pipeline that is being recreated", "between", "logs", logs(1)],
    [409, status.FAILED_PRECONDITION, never, "a terminated pipeline", "ended", "logs", logs(1)],
    [409, status.FAILED_PRECONDITION, never, "a pipeline that is to be deleted", "leaving", "logs", logs(1)],
    [413, status.INVALID_ARGUMENT, never, "more records than the stream can ever hold", "full-one", "logs", logs(4)],
    [429, status.RESOURCE_EXHAUSTED, [1, 1], "a full stream", "full-one", "logs", logs(1)],
  ])("%i and %i, to be sent again after %j: %s", async (http, grpc, retryAfter, _title, pipeline_id, signal, body) => {
    expect(await ask(pipeline_id, signal, body)).toMatchObject({ http, grpc, retryAfter });
  });
});

test("nothing of what was refused is stored, and all of what was taken is", async () => {
  const { engine } = scene.running;
  await scene.settled("app-logs");
  expect(await scene.count("app-logs")).toBe(6);
  expect(engine.health("stopped").stream!.messages).toBe(4);
  expect(engine.health("full-one").stream!.messages).toBe(3);
  expect(engine.health("no-table").stream!.messages).toBe(4);
  expect(engine.health("ended").stream!.messages).toBe(0);
});

test("spans without valid ids are refused alone: a partial success over each transport, and counted", async () => {
  const valid = { traceId: "5b".repeat(16), spanId: "01".repeat(8) };
  const spans = [valid, { ...valid, traceId: "5b5b" }, { ...valid, spanId: "" }];
  const json = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  const wire = wireOf("traces", {
    resourceSpans: [
      {
        scopeSpans: [
          { spans: spans.map(({ traceId, spanId }) => ({ traceId: inBase64(traceId), spanId: inBase64(spanId) })) },
        ],
      },
    ],
  });
  const headers = { "x-sluice-pipeline-id": "some-spans" };
  const errorMessage = expect.stringContaining("a trace_id of 16 bytes and a span_id of 8 bytes") as string;
  const inJson = await post(scene.listeners.http, "traces", { ...jsonType, ...headers }, Buffer.from(json));
  expect(inJson.status).toBe(200);
  expect(JSON.parse(inJson.message)).toEqual({ partialSuccess: { rejectedSpans: "2", errorMessage } });
  const response = requestTypes.traces.root.lookupType(
    "opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse",
  );
  const answered = (bytes: Buffer) => response.toObject(response.decode(bytes), { longs: Number });
  const inProtobuf = await post(scene.listeners.http, "traces", { ...protobufType, ...headers }, wire);
  expect(inProtobuf.status).toBe(200);
  expect(answered(inProtobuf.body)).toEqual({ partialSuccess: { rejectedSpans: 2, errorMessage } });
  const overGrpc = await sender.send("traces", headers, wire);
  expect(overGrpc.status).toBe(status.OK);
  expect(answered(Buffer.from(overGrpc.message, "hex"))).toEqual({
    partialSuccess: { rejectedSpans: 2, errorMessage },
  });
  await scene.settled("some-spans");
  expect(await scene.running.rows("SELECT span_id, count() AS n FROM some_spans GROUP BY span_id")).toEqual([
    { span_id: "01".repeat(8), n: 3 },
  ]);
  expect(await scene.metric("sluice_otlp_spans_refused_total", 'pipeline_id="some-spans"')).toBe(6);
});

test("a point without a recorded value is left out and counted, or has NULL where its columns are Nullable", async () => {
  const dataPoints = [{ asDouble: 1.5 }, { flags: 1 }, { flags: 1, asDouble: "NaN" }];
  const metrics = [{ name: "up", gauge: { dataPoints } }];
  const body = Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }));
  for (const pipeline_id of ["no-points", "all-points"]) {
    const headers = { ...jsonType, "x-sluice-pipeline-id": pipeline_id };
    expect(await post(scene.listeners.http, "metrics", headers, body)).toMatchObject({ status: 200, message: "{}" });
    await scene.settled(pipeline_id);
  }
  const read = (table: string) => scene.running.rows(`SELECT value_double FROM ${table} ORDER BY value_double`);
  expect(await read("no_points")).toEqual([{ value_double: 1.5 }]);
  expect(await read("all_points")).toEqual([{ value_double: 1.5 }, { value_double: null }, { value_double: null }]);
  expect(await scene.metric("sluice_otlp_points_left_out_total", 'pipeline_id="no-points"')).toBe(2);
  expect(await scene.metric("sluice_otlp_points_left_out_total", 'pipeline_id="all-points"')).toBe(0);
});

test("requests, records and refusals are counted, under the names of real pipelines alone", async () => {
  const labels = 'pipeline_id="app-logs",component="otlp.logs",transport="http"';
  expect(await scene.metric("gfm_receiver_request_count_total", `${labels},status="ok"`)).toBe(3);
  expect(await scene.metric("gfm_receiver_request_count", `${labels},status="ok"`)).toBe(3);
  expect(await scene.metric("sluice_otlp_refusals_total", `${labels},reason="malformed"`)).toBe(1);
  const records = 'pipeline_id="app-logs",component="otlp.logs",status="out"';
  expect(await scene.metric("gfm_processor_messages_total", records)).toBe(6);
  const unknown = 'pipeline_id="unknown",component="otlp.logs",transport="grpc",reason="unknown_pipeline"';
  expect(await scene.metric("sluice_otlp_refusals_total", unknown)).toBe(4);
  const names = await scene.running.registry.getSingleMetricAsString("gfm_receiver_request_count_total");
  expect(names).not.toMatch(/no-such-one|web-hook|deleted/);
});

test("an episode of back-pressure is told once, and ends when room comes although nobody sends", async () => {
  const sentences = (): string[] =>
    scene.running.log.lines
      .filter(({ fields, sentence }) => fields["pipeline_id"] === "full-one" && sentence.startsWith("Back-pressure"))
      .map(({ sentence }) => sentence);
  const labels = 'pipeline_id="full-one",component="otlp-receiver"';
  expect(await scene.metric("gfm_component_backpressure_active", labels)).toBe(1);
  expect(sentences()).toHaveLength(1);
  await scene.running.engine.resume("full-one");
  await scene.settled("full-one");
  while ((await scene.metric("gfm_component_backpressure_active", labels)) !== 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(await scene.metric("gfm_component_backpressure_events_total", labels)).toBe(1);
  expect(sentences()).toHaveLength(2);
});
