import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createTable } from "../../support/pipelines.ts";
import { ExporterOf } from "./exporters.ts";
import { recordLogs } from "./recorded-logs.ts";
import { OtlpScene, otlpPipeline, tableOf } from "./scene.ts";
import { GrpcSender, logs, post, protobufType } from "./senders.ts";

let scene: OtlpScene;
let sender: GrpcSender;
let made = 0;
/** The pipeline of a test. */
let id: string;
let to: { "x-sluice-pipeline-id": string };

beforeAll(async () => {
  scene = await OtlpScene.open();
  sender = new GrpcSender(scene.listeners.grpc);
});

beforeEach(() => {
  id = `app-logs-${++made}`;
  to = { "x-sluice-pipeline-id": id };
});

afterAll(async () => {
  sender.close();
  await scene.close();
});

/** What a request is answered over HTTP, and over gRPC. */
async function answers(): Promise<[number, number]> {
  const overHttp = await post(scene.listeners.http, "logs", { ...protobufType, ...to }, logs(1));
  return [overHttp.status, (await sender.send("logs", to, logs(1))).status];
}

/** A filter, dedup and a stateless transform that read what the SDK recorded. */
const transforms = [
  {
    type: "filter",
    source_id: "input",
    config: { expression: 'attributes["http.route"] == "/cart" and severity_number < 17' },
  },
  { type: "dedup", source_id: "input", config: { key: "attributes.http.route", time_window: "1h" } },
  {
    type: "stateless",
    source_id: "input",
    config: {
      transforms: [
        { expression: "upper(scope_name)", output_name: "scope", output_type: "string" },
        { expression: 'resource_attributes["service.name"]', output_name: "service", output_type: "string" },
      ],
    },
  },
];

test("a stopped pipeline stores what comes, over a restart too, and writes it when it is resumed", async () => {
  await scene.running.engine.create(otlpPipeline(id), createTable);
  await scene.running.engine.stop(id);
  expect(await answers()).toEqual([200, status.OK]);
  const { dataDir } = scene.running;
  await scene.close({ keep: true });
  scene = await OtlpScene.open({ dataDir });
  sender.close();
  sender = new GrpcSender(scene.listeners.grpc);
  expect(await answers()).toEqual([200, status.OK]);
  expect(scene.running.engine.health(id).stream!.messages).toBe(4);
  await scene.running.engine.resume(id);
  await scene.settled(id);
  expect(await scene.count(id)).toBe(4);
});

test("a terminated pipeline refuses at once, and takes events again at once when it is resumed", async () => {
  await scene.running.engine.create(otlpPipeline(id), createTable);
  expect(await answers()).toEqual([200, status.OK]);
  await scene.settled(id);
  await scene.running.engine.terminate(id);
  expect(await answers()).toEqual([409, status.FAILED_PRECONDITION]);
  await scene.running.engine.resume(id);
  expect(await answers()).toEqual([200, status.OK]);
  await scene.settled(id);
  expect(await scene.count(id)).toBe(4);
});

test(
  "a pipeline that is deleted is unknown at once, and another one with its name begins empty",
  { tags: ["rest"] },
  async () => {
    const { engine } = scene.running;
    await engine.create(otlpPipeline(id), createTable);
    await engine.stop(id, { intake: "closed" });
    expect(await answers()).toEqual([409, status.FAILED_PRECONDITION]);
    await engine.delete(id);
    expect(await answers()).toEqual([404, status.NOT_FOUND]);
    const mapping = [{ name: "name", column_name: "name", column_type: "String" }];
    await engine.create(otlpPipeline(id, "traces", { mapping }), createTable);
    expect(await answers()).toEqual([400, status.INVALID_ARGUMENT]);
    expect(engine.health(id).stream!.messages).toBe(0);
  },
);

test(
  "an exporter that met a full stream comes again by itself, and nothing is lost or doubled",
  { tags: ["rest"] },
  async () => {
    const { engine } = scene.running;
    await engine.create(otlpPipeline(id, "logs", { resources: { nats: { stream: { max_msgs: 20 } } } }), createTable);
    await engine.stop(id);
    const exporter = new ExporterOf("logs", "HTTP/protobuf", {
      listeners: scene.listeners,
      gzip: true,
      pipeline_id: id,
    });
    const records = recordLogs();
    await exporter.export(records);
    const again = exporter.export(records);
    const refusals = (): Promise<number> =>
      scene.metric(
        "sluice_otlp_refusals_total",
        `pipeline_id="${id}",component="otlp.logs",transport="http",reason="stream_full"`,
      );
    while ((await refusals()) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await engine.resume(id);
    await again;
    await scene.settled(id);
    expect(await scene.count(id)).toBe(2 * records.length);
    await exporter.close();
  },
);

test("filter, dedup and stateless read the fields and the attributes of records", async () => {
  const { engine } = scene.running;
  const mapping = ["scope", "service"].map((name) => ({ name, column_name: name, column_type: "String" }));
  await engine.create(otlpPipeline(id, "logs", { transforms, mapping }), createTable);
  const exporter = new ExporterOf("logs", "HTTP/JSON", { listeners: scene.listeners, gzip: false, pipeline_id: id });
  const records = recordLogs();
  await exporter.export(records);
  await exporter.close();
  await post(scene.listeners.http, "logs", { ...protobufType, ...to }, logs(1));
  const { counters } = await scene.settled(id);
  const errors = records.filter(({ severityNumber = 0 }) => severityNumber >= 17).length;
  expect(counters).toMatchObject({
    events_read: records.length + 1,
    events_filtered: errors + 1,
    duplicates_dropped: records.length - errors - 1,
    rows_written: 1,
  });
  // The exporter sends the records of one scope together, those of the first one first.
  expect(await scene.running.rows(`SELECT * FROM ${tableOf(id)}`)).toEqual([{ scope: "CHECKOUT", service: "shop" }]);
});

test(
  "a record without the dedup key is a dead letter, and the others of its request are written",
  { tags: ["rest"] },
  async () => {
    const { engine } = scene.running;
    const dedup = { type: "dedup", source_id: "input", config: { key: "attributes.n", time_window: "1h" } };
    await engine.create(otlpPipeline(id, "logs", { transforms: [dedup] }), createTable);
    const logRecords = [1, 2, undefined, 1].map((n) =>
      n === undefined ? {} : { attributes: [{ key: "n", value: { intValue: n } }] },
    );
    const body = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    expect((await post(scene.listeners.http, "logs", to, body)).status).toBe(200);
    expect((await scene.settled(id)).counters).toMatchObject({ rows_written: 2, duplicates_dropped: 1 });
    expect(engine.deadLetters(id).list(10).messages).toMatchObject([
      { reason: "parse_error", error: expect.stringContaining("dedup key attributes.n is missing") },
    ]);
  },
);
