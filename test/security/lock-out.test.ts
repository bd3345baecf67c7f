import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { GrpcSender } from "../integration/otlp/senders.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { freeAddresses } from "../support/ports.ts";
import { isFull } from "./attacks.ts";
import {
  type ConnectionFlood,
  halfPreface,
  HeldConnections,
  idleRequest,
  idleSession,
  slowBody,
} from "./connection-flood.ts";
import { Neighbour } from "./neighbour.ts";

/** Who opens connections, without a token, does not lock out those who have one (docs/security.md). */

/** In its full size against the defaults, otherwise against a fortieth of them. */
const limits = isFull ? [] : ["--max-connections", "100", "--max-connections-per-address", "25"];
const count = isFull ? 4_300 : 105;

const healthy = JSON.stringify({ status: "ok" });

const patience = { timeout: 180_000 };

let place: Workplace;
let daemon: Daemon;
let neighbour: Neighbour;
let held: HeldConnections;

beforeAll(async () => {
  place = await Workplace.make();
  await place.write("orders.yaml", pipelineFile("orders"));
  await Neighbour.write(place);
  const [api = "", events = "", otlpGrpc = "", otlpHttp = ""] = await freeAddresses(4);
  const args = ["--dir", place.pipelines, ...limits];
  daemon = await place.start({ args, env: tokenEnv, listeners: { api, events, otlpGrpc, otlpHttp } });
  await daemon.until(async () => ((await post()) === 202 ? true : undefined), "to take events");
  neighbour = await Neighbour.of(daemon);
});

afterAll(() => place.clean());

beforeEach(() => {
  held = new HeldConnections();
});

afterEach(() => held.close());

/** Opens connections; notes what they cost a pipeline beside them. */
async function opened(what: string, flood: Omit<ConnectionFlood, "count">): Promise<void> {
  const { delays } = await neighbour.during(() => held.open({ count, ...flood }));
  neighbour.noted(`${count} connections from ${flood.from} ${what}`, delays);
}

/** The status that an honest sender gets on a connection of its own. */
async function post(): Promise<number> {
  const headers = { "content-type": "application/json", "x-pipeline-access-token": token, connection: "close" };
  const url = `${daemon.events}/v1/pipelines/orders/topics/input/events`;
  const signal = AbortSignal.timeout(60_000);
  return (await fetch(url, { method: "POST", headers, body: '{"id":"a","n":1}', signal })).status;
}

/** What the status API answers an honest reader on a connection of its own: an idle one may be closed just when it is used again. */
async function read(path: string): Promise<string> {
  const response = await fetch(`${daemon.api}${path}`, { headers: { connection: "close" } });
  expect(response.status).toBe(200);
  return response.text();
}

/** The code of gRPC that an honest exporter gets on a connection of its own: 5 as no pipeline here takes OTLP. */
async function exportOverGrpc(): Promise<number> {
  const sender = new GrpcSender(daemon.listeners.otlpGrpc!);
  try {
    return (await sender.send("logs", { "x-sluice-pipeline-id": "orders" }, Buffer.alloc(0))).status;
  } finally {
    sender.close();
  }
}

test("who sends what is no request is counted, and logged", patience, async () => {
  const { listeners } = daemon;
  const headers = { "x-long": "x".repeat(20_000), connection: "close" };
  for (const address of [listeners.events, listeners.otlpHttp]) {
    expect((await fetch(`http://${address}/healthz`, { headers })).status).toBe(431);
  }
  await expect(fetch(`http://${listeners.otlpGrpc}/v1/logs`, { method: "POST" })).rejects.toThrow("fetch failed");
  const metrics = await read("/metrics");
  expect(metrics).toContain('sluice_push_refusals_total{pipeline_id="unknown",reason="too_large"} 2\n');
  expect(metrics).toContain('sluice_push_refusals_total{pipeline_id="unknown",reason="malformed"} 1\n');
  const isTold = (): boolean => /Requests of senders are refused.*unknown/s.test(daemon.log.join("\n"));
  await daemon.until(async () => isTold() || undefined, "to say that requests are refused");
});

async function expectGrpcOpen(from: string, what: string, opening: string | Buffer): Promise<void> {
  await opened(`to OTLP over gRPC ${what}`, { target: daemon.listeners.otlpGrpc!, from, opening });
  expect(await exportOverGrpc()).toBe(5);
  expect(await post()).toBe(202);
  expect(await read("/healthz")).toBe(healthy);
  // One line gathers the refusals of a second.
  const isTold = (): boolean => /A listener refuses connections.*otlp_grpc/s.test(daemon.log.join("\n"));
  await daemon.until(async () => isTold() || undefined, "to say that it refuses connections");
}

test.each([
  ["127.0.0.1", "with half a preface", halfPreface],
  ["127.0.0.2", "with a session and no call", idleSession],
])("many connections from %s to OTLP over gRPC, each %s, lock out nobody", patience, expectGrpcOpen);

test.each([
  ["127.0.0.2", "without a byte", ""],
  ["127.0.0.1", "with a session and no call", idleSession],
])(
  "many connections from %s to OTLP over gRPC, each %s, lock out nobody",
  { tags: ["rest"], ...patience },
  expectGrpcOpen,
);

test(
  "many idle keep-alive connections to the status API, from the address of others, lock out nobody",
  patience,
  async () => {
    const from = "127.0.0.1";
    await opened("that idle, to the status API", { target: daemon.listeners.api, from, opening: idleRequest });
    // One that waits for its answer is never closed, and with so few allowed all of them may for a moment.
    await expect.poll(() => held.isIdle, { timeout: 60_000, interval: 20 }).toBe(true);
    expect(await read("/healthz")).toBe(healthy);
    expect(await read("/metrics")).toMatch(
      /sluice_listener_connections_refused_total\{listener="api",reason="\w+"\} [1-9]/,
    );
    expect(await post()).toBe(202);
  },
);

test(
  "many connections from another address without a request to the events listener lock out nobody",
  patience,
  async () => {
    await opened("without a byte, to webhooks", { target: daemon.listeners.events, from: "127.0.0.2", opening: "" });
    expect(await post()).toBe(202);
    expect(await read("/healthz")).toBe(healthy);
  },
);

async function expectHttpOpen(from: string): Promise<void> {
  await opened("with slow bodies, to OTLP over HTTP", { target: daemon.listeners.otlpHttp!, from, opening: slowBody });
  const url = `http://${daemon.listeners.otlpHttp!}/healthz`;
  expect((await fetch(url, { headers: { connection: "close" } })).status).toBe(200);
}

const slowBodies = "many bodies from %s that never end, to OTLP over HTTP, lock out nobody";

test.each(["127.0.0.1"])(slowBodies, patience, expectHttpOpen);

test.each(["127.0.0.2"])(slowBodies, { tags: ["rest"], ...patience }, expectHttpOpen);
