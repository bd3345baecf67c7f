import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { Client, credentials, status } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import { TurnMissed } from "../../../engine/flow/waiting-line.ts";
import { Probes } from "../../../engine/http/probes.ts";
import { OtlpGrpc } from "../../../engine/sources/otlp/receiver/grpc.ts";
import { OtlpHttp } from "../../../engine/sources/otlp/receiver/http.ts";
import { Receiver, type OtlpPort } from "../../../engine/sources/otlp/receiver/receiver.ts";
import { HeldDoor, RefusingDoor } from "./held-door.ts";
import { Listeners } from "./listeners.ts";
import {
  decodeStatus,
  GrpcSender,
  jsonType,
  logs,
  logsInJson,
  post,
  protobufType,
  sendPacked,
  sendRaw,
} from "./senders.ts";

const to = { "x-sluice-pipeline-id": "app-logs" };

let door: HeldDoor;
let probes: Probes;
let grpc: OtlpGrpc;
let listeners: Listeners;
let sender: GrpcSender;

/** Opens both transports in front of a door. */
async function open(behind: OtlpPort): Promise<void> {
  probes = new Probes();
  const receiver = new Receiver(behind, { maxWait: 2_000 });
  const http = new OtlpHttp(receiver, probes);
  grpc = new OtlpGrpc(receiver);
  listeners = await Listeners.open({
    http: (request, response) => void http.handle(request, response),
    grpc: (connection) => grpc.accept(connection),
  });
  sender = new GrpcSender(listeners.grpc);
}

/** Why requests were refused. */
function reasons(): string[] {
  return door.answers.map(({ outcome }) => outcome.kind).filter((kind) => kind !== "stored");
}

async function close(): Promise<void> {
  sender.close();
  await listeners.close();
  grpc.close();
}

beforeEach(async () => {
  door = new HeldDoor();
  await open(door);
});

afterEach(async () => {
  door.letAllThrough();
  await close();
});

describe("an HTTP answer has the encoding of its request", () => {
  test.each([
    ["protobuf", { ...protobufType }, logs(1), "application/x-protobuf", ""],
    ["JSON", { ...jsonType }, logsInJson(1), "application/json", "{}"],
    ["JSON in gzip", { ...jsonType, "content-encoding": "gzip" }, gzipSync(logsInJson(1)), "application/json", "{}"],
    [
      "protobuf in gzip",
      { ...protobufType, "content-encoding": "GZIP" },
      gzipSync(logs(1)),
      "application/x-protobuf",
      "",
    ],
  ])("%s", async (_title, headers, body, type, text) => {
    const answer = post(listeners.http, "logs", { ...headers, ...to }, body);
    await door.holds(1);
    door.letAllThrough();
    expect(await answer).toMatchObject({ status: 200, type, message: text });
  });

  test("a refusal of protobuf is a google.rpc.Status", async () => {
    const { status: http, type, body } = await post(listeners.http, "logs", protobufType, logs(1));
    expect([http, type]).toEqual([400, "application/x-protobuf"]);
    expect(decodeStatus(body)).toMatchObject({ code: 3, message: expect.stringContaining("x-sluice-pipeline-id") });
  });

  test("a refusal of JSON is a google.rpc.Status in JSON", async () => {
    const { status: http, body } = await post(listeners.http, "logs", { ...jsonType, ...to }, Buffer.from("{"));
    expect(http).toBe(400);
    expect(JSON.parse(body.toString())).toEqual({ code: 3, message: expect.stringContaining("JSON") });
  });
});

describe("what is no export over HTTP", () => {
  test.each([
    [200, "GET", "/healthz", '{"status":"ok"}'],
    [200, "GET", "/readyz", '{"status":"ready"}'],
    [405, "POST", "/healthz", '{"code":12,"message":"expected GET"}'],
    [405, "GET", "/v1/logs", '{"code":12,"message":"expected POST"}'],
    [405, "PUT", "/v1/traces", '{"code":12,"message":"expected POST"}'],
    [404, "POST", "/v1/profiles", '{"code":5,"message":"expected one of /v1/logs, /v1/traces, /v1/metrics"}'],
    [404, "GET", "/", '{"code":5,"message":"expected one of /v1/logs, /v1/traces, /v1/metrics"}'],
  ])("%i for %s %s", async (expected, method, path, text) => {
    const response = await fetch(`${listeners.http}${path}`, { method });
    expect([response.status, await response.text()]).toEqual([expected, text]);
  });
});

test("a process that is about to stop is healthy and not ready, and takes what comes", async () => {
  probes.leaving();
  const asked = await Promise.all(["/healthz", "/readyz"].map((path) => fetch(`${listeners.http}${path}`)));
  expect(asked.map(({ status: http }) => http)).toEqual([200, 503]);
  expect(await asked[1]!.json()).toEqual({ status: "not ready" });
  expect((await post(listeners.http, "logs", { ...jsonType, ...to }, logsInJson(0))).status).toBe(200);
});

describe("a pipeline is named by", () => {
  test.each([
    ["x-sluice-pipeline-id", { "x-sluice-pipeline-id": "a" }, "a"],
    ["x-service-pipeline-id", { "x-service-pipeline-id": "b" }, "b"],
    ["x-glassflow-pipeline-id", { "X-GlassFlow-Pipeline-Id": "c" }, "c"],
    ["our own name before its aliases", { "x-glassflow-pipeline-id": "c", "x-sluice-pipeline-id": "a" }, "a"],
    ["an alias where our own is empty", { "x-service-pipeline-id": "b", "x-sluice-pipeline-id": "" }, "b"],
    ["the first value of several", { "x-sluice-pipeline-id": "a, b" }, "a"],
  ])("%s, over both transports", async (_title, headers, expected) => {
    expect((await post(listeners.http, "logs", { ...jsonType, ...headers }, logsInJson(0))).status).toBe(200);
    expect((await sender.send("logs", headers as Record<string, string>, logs(0))).status).toBe(status.OK);
    expect(door.answers.map(({ pipeline_id }) => pipeline_id)).toEqual([expected, expected]);
  });
});

describe("what cannot be stored is answered over HTTP and over gRPC", () => {
  test.each([
    [429, status.RESOURCE_EXHAUSTED, 1, new EngineError("STREAM_FULL", "the stream is full")],
    [429, status.RESOURCE_EXHAUSTED, 1, new EngineError("RATE_LIMITED", "more was sent than a second allows")],
    [413, status.INVALID_ARGUMENT, undefined, new EngineError("PUSH_TOO_LARGE", "the push never fits")],
    [409, status.FAILED_PRECONDITION, undefined, new EngineError("STREAM_CLOSED", "the pipeline has ended")],
    [503, status.UNAVAILABLE, 5, new EngineError("DISK_FULL", "the disk is full")],
    [503, status.UNAVAILABLE, 5, new EngineError("STORAGE_FAILED", "the disk does not answer")],
    [429, status.RESOURCE_EXHAUSTED, 1, new TurnMissed("late")],
    [500, status.INTERNAL, undefined, new Error("a secret")],
  ])("%i and %i, to be sent again after %j: %s", async (http, code, retryAfter, error) => {
    await close();
    await open(new RefusingDoor(error));
    const answers = [
      await post(listeners.http, "logs", { ...protobufType, ...to }, logs(1)),
      await sender.send("logs", to, logs(1)),
    ];
    expect(answers).toMatchObject([
      { status: http, retryAfter },
      { status: code, retryAfter },
    ]);
    for (const { message } of answers) {
      expect(message).toContain(
        error instanceof EngineError || error instanceof TurnMissed ? error.message : "Internal server error",
      );
      expect(message).not.toContain("secret");
    }
  });
});

describe("a body of more than 4 MiB is refused", () => {
  const large = Buffer.alloc(4 * 1024 * 1024 + 1);
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));

  test.each([
    [413, "as it is", protobufType, large],
    [413, "after decompression", { ...protobufType, "content-encoding": "gzip" }, bomb],
    [400, "not in gzip, as it says", { ...protobufType, "content-encoding": "gzip" }, logs(1)],
    [400, "cut off within its gzip", { ...protobufType, "content-encoding": "gzip" }, bomb.subarray(0, 1000)],
    [415, "in another encoding", { ...protobufType, "content-encoding": "zstd" }, logs(1)],
  ])("%i over HTTP: %s", async (expected, _title, headers, body) => {
    expect((await post(listeners.http, "logs", { ...headers, ...to }, body)).status).toBe(expected);
  });

  test("over gRPC as it is: never to be repeated", async () => {
    expect(await sender.send("logs", to, large)).toMatchObject({
      status: status.RESOURCE_EXHAUSTED,
      retryAfter: undefined,
    });
    await expect.poll(reasons, { timeout: 60_000 }).toEqual(["malformed"]);
    expect((await sender.send("logs", to, logs(0))).status).toBe(status.OK);
  });
});

describe("a message over gRPC that cannot be decompressed is refused for good", () => {
  test("a bomb", { tags: ["rest"] }, async () => {
    const packing = new GrpcSender(listeners.grpc, { gzip: true });
    const bomb = Buffer.alloc(64 * 1024 * 1024);
    expect(await packing.send("logs", to, bomb)).toMatchObject({
      status: status.RESOURCE_EXHAUSTED,
      retryAfter: undefined,
    });
    await expect.poll(reasons, { timeout: 60_000 }).toEqual(["malformed"]);
    expect((await packing.send("logs", to, logs(0))).status).toBe(status.OK);
    packing.close();
  });

  test.each([
    ["gzip that is cut off", "gzip", gzipSync(Buffer.alloc(1000)).subarray(0, 20), status.INTERNAL],
    ["no gzip at all", "gzip", Buffer.from("no gzip"), status.INTERNAL],
    ["another encoding", "zstd", Buffer.from("zstd"), status.UNIMPLEMENTED],
  ])("%s", async (_title, encoding, bytes, expected) => {
    expect(await sendPacked(listeners.grpc, { ...to, "grpc-encoding": encoding }, bytes)).toBe(expected);
    await expect.poll(reasons, { timeout: 60_000 }).toEqual(["malformed"]);
  });
});

describe("a call over gRPC that its sender leaves while its message arrives is no fault of the message", () => {
  let session: ClientHttp2Session;
  let stream: ClientHttp2Stream;

  beforeEach(async () => {
    session = connectHttp2(`http://${listeners.grpc}`);
    session.on("error", () => undefined);
    const path = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
    const about = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    stream = session.request({ ...about, ...to });
    stream.on("error", () => undefined);
    stream.write(Buffer.from([0, 0, 0, 0, 9, 1]));
    await expect.poll(() => door.asked, { timeout: 60_000 }).toBe(1);
  });

  afterEach(() => session.destroy());

  test.each([
    ["resets it", () => stream.destroy(new Error("gone"))],
    ["closes its connection", () => session.destroy()],
  ])("as it %s", async (_title, leave) => {
    leave();
    await expect.poll(reasons, { timeout: 60_000 }).toEqual(["broken_off"]);
  });
});

test("a call whose message does not arrive before its deadline is no fault of the message", async () => {
  const headers = { ...to, "grpc-timeout": "50m" };
  expect(await sendRaw(listeners.grpc, headers, Buffer.alloc(0), { isCut: true })).toBe(status.DEADLINE_EXCEEDED);
  await expect.poll(reasons, { timeout: 60_000 }).toEqual(["broken_off"]);
});

describe("what is not HTTP/2 is counted on the port for gRPC:", () => {
  test.each([
    ["HTTP/1.1", "POST /v1/logs HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on, in more than a preface has"],
  ])("%s", async (_title, bytes) => {
    const connection: Socket = connect(Number(listeners.grpc.split(":")[1]), "127.0.0.1").resume();
    connection.write(bytes, "latin1");
    await once(connection, "close");
    await expect.poll(() => door.refusals, { timeout: 60_000 }).toEqual(["malformed"]);
  });

  test("and a connection that ends without a call is not", async () => {
    const session = connectHttp2(`http://${listeners.grpc}`);
    await once(session, "remoteSettings");
    session.close();
    await once(session, "close");
    expect((await sender.send("logs", to, logs(0))).status).toBe(status.OK);
    expect(door.refusals).toEqual([]);
  });
});

test("grpc.health.v1 says that it serves, until the process is about to stop", async () => {
  const client = new Client(listeners.grpc, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = healthService["Check"]!;
  const check = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: "" }, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      );
    });
  expect(await check()).toEqual({ status: "SERVING" });
  grpc.leaving();
  expect(await check()).toEqual({ status: "NOT_SERVING" });
  expect((await sender.send("logs", to, logs(0))).status).toBe(status.OK);
  client.close();
});

test("a connection that says nothing ends when the listener drains", async () => {
  const silent: Socket = connect(Number(listeners.grpc.split(":")[1]), "127.0.0.1");
  await once(silent, "connect");
  silent.resume();
  const ended = once(silent, "close");
  expect((await sender.send("logs", to, logs(0))).status).toBe(status.OK);
  grpc.drain(0);
  await ended;
});
