import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { request } from "node:http";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RequestProgress } from "../../../engine/index.ts";
import { TestEngine } from "../../support/engine.ts";
import { HeldDisk } from "../../support/held-disk.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { Listeners } from "./listeners.ts";
import { otlpPipeline } from "./scene.ts";
import { GrpcSender, logs, protobufType, sendRaw } from "./senders.ts";

const disk = new HeldDisk();
let running: TestEngine;
let listeners: Listeners;
let grpc: Client;
let token: string;

/** The requests that have arrived to their end, in their order, and the answers to them. */
const arrived: ServerResponse[] = [];
let onArrival: (() => void) | undefined;
/** Called when a call of gRPC has arrived to its end. */
let onCall: (() => void) | undefined;

/** Answers as `handle` does, and notes each request that has arrived. */
const noting =
  (handle: RequestListener): RequestListener =>
  (req, res) => {
    req.once("end", () => {
      arrived.push(res);
      onArrival?.();
    });
    handle(req, res);
  };

const noticing = (): RequestProgress => ({ received: () => onCall?.(), ended: () => undefined });

beforeAll(async () => {
  running = await TestEngine.open({ machine: { disk } });
  const { engine } = running;
  await engine.create(otlpPipeline("app-logs"), createTable);
  await engine.stop("app-logs");
  token = (await engine.create(webhookPipeline("web-hook"), createTable)).access_token!;
  await engine.stop("web-hook");
  const http: RequestListener = (req, res) =>
    req.url === "/v1/logs" ? engine.handleOtlpHttp(req, res) : engine.handleEvents(req, res);
  listeners = await Listeners.open({
    http: noting(http),
    grpc: (connection) => engine.handleOtlpGrpc(connection, noticing),
  });
  grpc = new Client(listeners.grpc, credentials.createInsecure());
});

beforeEach(() => disk.hold());
afterEach(() => disk.letGo());

afterAll(async () => {
  grpc.close();
  await listeners.close();
  await running.close();
});

/** What has arrived goes as far as it can while the disk is held. */
const steps = async (): Promise<void> => {
  for (let step = 0; step < 20; step += 1) await new Promise((resolve) => setImmediate(resolve));
};

interface Sent {
  /** The status of its answer; undefined where it broke off. */
  answer: Promise<number | undefined>;
  /** Goes away, and resolves when that is seen at the other side. */
  leave: () => Promise<void>;
}

/** Posts a request; resolves when it has arrived, and waits for its turn. */
async function post(path: string, headers: Record<string, string>, body: Buffer): Promise<Sent> {
  const before = arrived.length;
  const sent = request(`${listeners.http}${path}`, { method: "POST", headers, agent: false });
  const answer = new Promise<number | undefined>((resolve) => {
    sent.on("response", (response: IncomingMessage) => resolve(response.resume().statusCode));
    sent.on("error", () => resolve(undefined));
  });
  sent.end(body);
  while (arrived.length === before) await new Promise<void>((resolve) => (onArrival = resolve));
  await steps();
  const response = arrived.at(-1)!;
  const leave = async (): Promise<void> => {
    const closed = once(response, "close");
    sent.destroy();
    await closed;
  };
  return { answer, leave };
}

const overHttp = (): Promise<Sent> =>
  post("/v1/logs", { ...protobufType, "x-sluice-pipeline-id": "app-logs" }, logs(1));

const toWebhook = (): Promise<Sent> =>
  post(
    "/v1/pipelines/web-hook/topics/input/events",
    { "content-type": "application/json", "x-pipeline-access-token": token },
    Buffer.from('{"id": 1, "level": "info"}'),
  );

const asItIs = (bytes: Buffer): Buffer => bytes;
const exportLogs = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
const toLogs = { "x-sluice-pipeline-id": "app-logs" };

/** Sends a request over gRPC; resolves when it has arrived, and waits for its turn. */
async function overGrpc(): Promise<Sent> {
  const metadata = new Metadata();
  metadata.set("x-sluice-pipeline-id", toLogs["x-sluice-pipeline-id"]);
  const arrival = new Promise<void>((resolve) => (onCall = resolve));
  let cancel!: () => void;
  const answer = new Promise<number>((resolve) => {
    const call = grpc.makeUnaryRequest(exportLogs, asItIs, asItIs, logs(1), metadata, (error) =>
      resolve(error?.code ?? status.OK),
    );
    cancel = () => call.cancel();
  });
  await arrival;
  await steps();
  // What is sent next on this connection arrives after the end of the call.
  return { answer, leave: async () => void [cancel(), await answer] };
}

const stored = (pipeline_id: string): number => running.engine.health(pipeline_id).stream!.messages;

describe.each<[string, string, () => Promise<Sent>, number, number | undefined, number]>([
  ["OTLP over HTTP", "app-logs", overHttp, 200, undefined, 429],
  ["OTLP over gRPC", "app-logs", overGrpc, status.OK, status.CANCELLED, status.RESOURCE_EXHAUSTED],
  ["a webhook", "web-hook", toWebhook, 202, undefined, 429],
])("%s: while another push is written", (_title, pipeline_id, send, ok, left, busy) => {
  test("one whose sender goes away before its turn is not stored, and one whose sender stays is", async () => {
    const before = stored(pipeline_id);
    const first = await send();
    await disk.isReached();
    const leaving = await send();
    await leaving.leave();
    const staying = await send();
    disk.letGo();
    expect([await first.answer, await leaving.answer, await staying.answer]).toEqual([ok, left, ok]);
    expect(stored(pipeline_id) - before).toBe(2);
  });

  test("one that has no turn in time is refused, and not stored", async () => {
    const before = stored(pipeline_id);
    const first = await send();
    await disk.isReached();
    const late = await send();
    expect(await late.answer).toBe(busy);
    disk.letGo();
    expect(await first.answer).toBe(ok);
    expect(stored(pipeline_id) - before).toBe(1);
  });
});

test("calls of which only the head comes keep none of other senders out", { timeout: 30_000 }, async () => {
  disk.letGo();
  const stranger = connectHttp2(`http://${listeners.grpc}`);
  const head = {
    ":method": "POST",
    ":path": exportLogs,
    "content-type": "application/grpc",
    te: "trailers",
    ...toLogs,
  };
  const begun = Array.from({ length: 100 }, () => stranger.request(head));
  for (const call of begun) call.on("error", () => undefined).write(Buffer.from([0, 0, 0x3d, 9, 0]));
  const told = Promise.race(begun.map((call) => once(call, "response")));
  await new Promise<void>((resolve) => stranger.ping(() => resolve()));
  const sender = new GrpcSender(listeners.grpc);
  expect(await sender.send("logs", toLogs, logs(1))).toMatchObject({ status: status.OK });
  sender.close();
  const [answer] = (await told) as [IncomingHttpHeaders];
  expect(answer["grpc-status"]).toBe(String(status.DEADLINE_EXCEEDED));
  stranger.destroy();
});

test("a call whose grpc-timeout has passed is not stored, although its sender never cancels it", async () => {
  const before = stored("app-logs");
  const first = await overGrpc();
  await disk.isReached();
  expect(await sendRaw(listeners.grpc, { ...toLogs, "grpc-timeout": "50m" }, logs(1))).toBe(status.DEADLINE_EXCEEDED);
  disk.letGo();
  expect(await first.answer).toBe(status.OK);
  const [next] = [await overGrpc()];
  expect(await next.answer).toBe(status.OK);
  expect(stored("app-logs") - before).toBe(2);
});
