import { afterAll, beforeAll, expect, test } from "vitest";
import { TestEngine } from "../../support/engine.ts";
import { HeldDisk } from "../../support/held-disk.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { Listeners } from "../otlp/listeners.ts";
import { otlpPipeline } from "../otlp/scene.ts";
import { GrpcSender, logs, post, protobufType } from "../otlp/senders.ts";

const disk = new HeldDisk();
const megabyte = 1024 * 1024;
let running: TestEngine;
let listeners: Listeners;
let token: string;

beforeAll(async () => {
  running = await TestEngine.open({ machine: { disk } });
  const { engine } = running;
  token = (await engine.create(webhookPipeline("web-hook"), createTable)).access_token!;
  await engine.create(otlpPipeline("app-logs"), createTable);
  listeners = await Listeners.open({ http: engine.handleOtlpHttp, grpc: engine.handleOtlpGrpc });
});

afterAll(async () => {
  await listeners.close();
  await running.close();
});

test("below 48 MB of free disk health, metrics and log say that senders are refused, and why", async () => {
  const { engine, registry, log } = running;
  expect(engine.health("web-hook").refused_senders).toBeUndefined();
  disk.free = 47 * megabyte;
  const to = { "x-sluice-pipeline-id": "app-logs" };
  const sender = new GrpcSender(listeners.grpc);
  expect((await running.post("web-hook", token, { id: 1, level: "info" })).status).toBe(503);
  expect((await post(listeners.http, "logs", { ...protobufType, ...to }, logs(1))).status).toBe(503);
  expect(await sender.send("logs", to, logs(1))).toMatchObject({ status: 14, retryAfter: 5 });
  sender.close();
  const text = "the disk of the data dir has less than 48 MB free: make room, then events are accepted again";
  expect(engine.health("web-hook").refused_senders).toMatchObject({ reason: "disk_full", count: 1, text });
  expect(engine.health("app-logs").refused_senders).toMatchObject({ reason: "disk_full", count: 2, text });
  const metrics = await registry.metrics();
  expect(metrics).toContain(`sluice_data_dir_free_bytes ${47 * megabyte}`);
  expect(metrics).toContain(`sluice_data_dir_reserve_bytes ${48 * megabyte}`);
  expect(metrics).toContain('sluice_push_refusals_total{pipeline_id="web-hook",reason="disk_full"} 1');
  expect(metrics).toContain('sluice_push_refusals_total{pipeline_id="app-logs",reason="disk_full"} 2');
  expect(metrics).toContain(
    'sluice_otlp_refusals_total{pipeline_id="app-logs",component="otlp.logs",transport="grpc",reason="disk_full"} 1',
  );
  const warned = (pipeline_id: string): boolean =>
    log.lines.some(
      ({ level, fields, sentence }) =>
        level === "warn" &&
        sentence === "Requests of senders are refused." &&
        fields["pipeline_id"] === pipeline_id &&
        fields["last"] === text,
    );
  while (!warned("web-hook") || !warned("app-logs")) await new Promise((resolve) => setTimeout(resolve, 20));
  disk.free = undefined;
  expect((await running.post("web-hook", token, { id: 1, level: "info" })).status).toBe(202);
});

test("a sender that names no pipeline, or has no token, is counted under unknown", async () => {
  expect((await running.post("no-such-one", token, {})).status).toBe(401);
  expect((await running.post("web-hook", "another token", {})).status).toBe(401);
  expect((await post(listeners.http, "logs", protobufType, logs(1))).status).toBe(400);
  const metrics = await running.registry.metrics();
  expect(metrics).toContain('sluice_push_refusals_total{pipeline_id="unknown",reason="no_token"} 1');
  expect(metrics).toContain('sluice_push_refusals_total{pipeline_id="web-hook",reason="no_token"} 1');
  expect(metrics).toContain('sluice_push_refusals_total{pipeline_id="unknown",reason="no_header"} 1');
  expect(running.engine.health("web-hook").refused_senders).toMatchObject({ reason: "disk_full" });
});

test("what was refused since the last line is logged at the end", async () => {
  const own = await TestEngine.open();
  try {
    await own.engine.create(webhookPipeline("web-hook"), createTable);
    expect((await own.post("no-such-one", token, {})).status).toBe(401);
    expect((await own.post("web-hook", "another token", {})).status).toBe(401);
  } finally {
    await own.close();
  }
  const told = own.log.lines.filter(({ sentence }) => sentence === "Requests of senders are refused.");
  // On a slow machine one of them is logged before the end, when its second is over.
  expect(told).toHaveLength(2);
  expect(new Map(told.map(({ fields }) => [fields["pipeline_id"], fields]))).toEqual(
    new Map([
      ["web-hook", { pipeline_id: "web-hook", no_token: 1 }],
      ["unknown", { pipeline_id: "unknown", no_token: 1 }],
    ]),
  );
});
