/** @module-tag rest */
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { request, type RequestListener, type ServerResponse } from "node:http";
import {
  connect as connectHttp2,
  constants,
  createServer as createHttp2,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestEngine } from "../../support/engine.ts";
import { HeldDisk } from "../../support/held-disk.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { freeAddresses } from "../../support/ports.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { obstacleOf, proxyNames, startProxy } from "../../support/reverse-proxy.ts";
import { Listeners } from "../otlp/listeners.ts";
import { otlpPipeline } from "../otlp/scene.ts";
import { GrpcSender, logs, post, protobufType } from "../otlp/senders.ts";

const disk = new HeldDisk();
const to = { "x-sluice-pipeline-id": "app-logs" };

let running: TestEngine;
let listeners: Listeners;
let token: string;
let folder: string;
/** The answers to requests over HTTP that have arrived to their end. */
const arrived: ServerResponse[] = [];
/** Resolves when so many requests have arrived to their end in all, or so many calls. */
const arrivals = new EventEmitter();
let calls = 0;

function called(): void {
  calls += 1;
  arrivals.emit("arrived");
}

async function arrival(count: () => number, wished: number): Promise<void> {
  while (count() < wished) await once(arrivals, "arrived");
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-proxy-"));
  running = await TestEngine.open({ machine: { disk } });
  const { engine } = running;
  token = (await engine.create(webhookPipeline("web-hook"), createTable)).access_token!;
  await engine.create(otlpPipeline("app-logs"), createTable);
  await engine.stop("web-hook");
  await engine.stop("app-logs");
  const http: RequestListener = (req, res) => {
    req.once("end", () => {
      arrived.push(res);
      arrivals.emit("arrived");
    });
    if (req.url?.startsWith("/v1/pipelines/") === true) engine.handleEvents(req, res);
    else engine.handleOtlpHttp(req, res);
  };
  listeners = await Listeners.open({
    http,
    grpc: (connection) => engine.handleOtlpGrpc(connection, () => ({ received: called, ended: () => undefined })),
  });
});

afterAll(async () => {
  await listeners.close();
  await running.close();
  await rm(folder, { recursive: true, force: true });
});

const asItIs = (bytes: Buffer): Buffer => bytes;
const stored = (pipeline_id: string): number => running.engine.health(pipeline_id).stream!.messages;

describe.each(proxyNames)("behind %s", (name) => {
  const obstacle = obstacleOf(name);
  let proxy: Awaited<ReturnType<typeof startProxy>>;

  beforeAll(async () => {
    if (obstacle === undefined) {
      const { http: events, http: otlp, grpc } = listeners;
      proxy = await startProxy(name, { events, otlp, grpc }, folder);
    }
  });
  afterAll(() => (obstacle === undefined ? proxy.end() : undefined));

  const path = "/v1/pipelines/web-hook/topics/input/events";
  const sendEvent = (given: string): Promise<Response> =>
    fetch(`http://${proxy.events}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": given },
      body: '{"id": 1, "level": "info"}',
    });

  /** An export that is being stored, so that others wait for their turn; `end` resolves with what it is answered. */
  async function beingStored(): Promise<{ end: () => Promise<number> }> {
    const count = arrived.length;
    disk.hold();
    const first = post(`http://${proxy.otlp}`, "logs", { ...protobufType, ...to }, logs(1));
    await arrival(() => arrived.length, count + 1);
    await disk.isReached();
    const end = async (): Promise<number> => {
      disk.letGo();
      return (await first).status;
    };
    return { end };
  }

  /** What a call is told through a proxy in front of `grpc`: its answer, or how its stream or its connection ends. */
  async function toldOf(grpc: string, act: () => Promise<void> = async () => undefined): Promise<unknown> {
    const own = await mkdtemp(join(folder, "alone-"));
    const [events = "", otlp = ""] = await freeAddresses(2);
    const alone = await startProxy(name, { events, otlp, grpc }, own);
    const session = connectHttp2(`http://${alone.grpc}`);
    session.on("error", () => undefined);
    try {
      const call = session.request({ ":method": "POST", ":path": "/x", "content-type": "application/grpc" });
      call.on("error", () => undefined);
      const ended = once(call, "close").then(() => ({ rst: call.rstCode }));
      const answered = once(call, "response").then(([headers]) => headers as IncomingHttpHeaders);
      answered.catch(() => undefined);
      await act();
      return await Promise.race([answered, ended]);
    } finally {
      session.destroy();
      await alone.end();
    }
  }

  test("a call while Sluice is away is not answered, or in the words of gRPC, so that each SDK tries again", async ({
    skip,
  }) => {
    requireOrSkip(obstacle, skip);
    const [grpc = ""] = await freeAddresses(1);
    const refusal = { ":status": 200, "content-type": "application/grpc", "grpc-status": String(status.UNAVAILABLE) };
    const told = await toldOf(grpc);
    // haproxy passes on that nothing listens, as a sender sees it without a proxy.
    if (name === "haproxy") expect(told).not.toHaveProperty(":status");
    else expect(told).toMatchObject(refusal);
  });

  test("a call whose receiver dies is not said to be unprocessed: libraries of gRPC would send it again", async ({
    skip,
  }) => {
    requireOrSkip(obstacle, skip);
    const dies = createHttp2();
    const reached = once(dies, "stream");
    const sockets = new Set<Socket>();
    dies.on("connection", (socket: Socket) => sockets.add(socket));
    await once(dies.listen(0, "127.0.0.1"), "listening");
    const told = await toldOf(`127.0.0.1:${(dies.address() as AddressInfo).port}`, async () => {
      const [stream] = (await reached) as [ServerHttp2Stream];
      stream.on("error", () => undefined);
      for (const socket of sockets) socket.destroy();
    });
    dies.close();
    expect(told).not.toEqual({ rst: constants.NGHTTP2_REFUSED_STREAM });
  });

  test("events and exports are taken, large ones too, and refusals come as they are", async ({ skip }) => {
    requireOrSkip(obstacle, skip);
    expect((await sendEvent(token)).status).toBe(202);
    expect((await sendEvent("wrong")).status).toBe(401);
    const large = Buffer.concat([logs(1), Buffer.from([0x7a, 0x80, 0x80, 0xc0, 0x01]), Buffer.alloc(3 * 1024 * 1024)]);
    expect((await post(`http://${proxy.otlp}`, "logs", { ...protobufType, ...to }, large)).status).toBe(200);
    const sender = new GrpcSender(proxy.grpc);
    expect((await sender.send("logs", to, large)).status).toBe(status.OK);
    expect((await sender.send("logs", {}, logs(1))).status).toBe(status.INVALID_ARGUMENT);
    disk.free = 0;
    // The room is looked at once a second.
    const exported = () => post(`http://${proxy.otlp}`, "logs", { ...protobufType, ...to }, logs(1));
    let refused = await exported();
    while (refused.status === 200) refused = await exported();
    expect(refused).toMatchObject({ status: 503, retryAfter: 5 });
    expect(await sender.send("logs", to, logs(1))).toMatchObject({ status: status.UNAVAILABLE, retryAfter: 5 });
    disk.free = undefined;
    while ((await exported()).status !== 200);
    sender.close();
  });

  test("an export whose sender goes away before its turn is not stored", async ({ skip }) => {
    requireOrSkip(obstacle, skip);
    const [before, count] = [stored("app-logs"), arrived.length];
    const first = await beingStored();
    const leaving = request(`http://${proxy.otlp}/v1/logs`, {
      method: "POST",
      headers: { ...protobufType, ...to },
      agent: false,
    });
    leaving.on("error", () => undefined).end(logs(1));
    await arrival(() => arrived.length, count + 2);
    const closed = once(arrived.at(-1)!, "close");
    leaving.destroy();
    await closed;
    expect(await first.end()).toBe(200);
    expect(stored("app-logs") - before).toBe(1);
  });

  test("a call whose sender cancels it before its turn is not stored", async ({ skip }) => {
    requireOrSkip(obstacle, skip);
    const before = stored("app-logs");
    const first = await beingStored();
    const client = new Client(proxy.grpc, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("x-sluice-pipeline-id", "app-logs");
    const service = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
    const send = (deadline: number): Promise<number> =>
      new Promise((resolve) =>
        client.makeUnaryRequest(
          service,
          asItIs,
          asItIs,
          logs(1),
          metadata,
          { deadline: Date.now() + deadline },
          (error) => resolve(error?.code ?? status.OK),
        ),
      );
    const earlier = calls;
    const leaving = send(300);
    await arrival(() => calls, earlier + 1);
    expect(await leaving).toBe(status.DEADLINE_EXCEEDED);
    // The deadline counts from the arrival too, where the end of the call takes its time through the proxy.
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await first.end()).toBe(200);
    expect(await send(60_000)).toBe(status.OK);
    client.close();
    expect(stored("app-logs") - before).toBe(2);
  });
});
