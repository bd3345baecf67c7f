import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Listener, listenHttp } from "../../../reconciler/cli/daemon/listen.ts";
import { UnreadRequests } from "../../../reconciler/listeners/unread-requests.ts";
import { resolveSettings } from "../../../reconciler/cli/invocation/resolve-settings.ts";
import { TestEngine } from "../../support/engine.ts";
import { answerToLateReader } from "../../support/late-reader.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { otlpPipeline } from "../otlp/scene.ts";
import { logs, logsInJson } from "../otlp/senders.ts";

const megabyte = 1024 * 1024;
const page = "https://app.example.com";

let running: TestEngine;
let events: Listener;
let otlp: Listener;
let token: string;

beforeAll(async () => {
  running = await TestEngine.open();
  const { engine } = running;
  token = (await engine.create(webhookPipeline("web-hook"), createTable)).access_token!;
  await engine.create(otlpPipeline("app-logs"), createTable);
  await engine.stop("web-hook");
  await engine.stop("app-logs");
  const flags = {
    events: "127.0.0.1:0",
    otlp_http: "127.0.0.1:0",
    cors_origins: `${page}, https://other.example.com`,
    api_hosts: "sluice.example.com",
  };
  const settings = resolveSettings("run", { flags, env: {}, file: [] });
  events = await listenHttp("events", settings, engine.handleEvents, { unread: engine.unreadEvents });
  otlp = await listenHttp("otlp_http", settings, engine.handleOtlpHttp, { unread: engine.unreadOtlpHttp });
});

afterEach(() => void vi.useRealTimers());

afterAll(async () => {
  await Promise.all([events.close(), otlp.close()]);
  await running.close();
});

const path = "/v1/pipelines/web-hook/topics/input/events";
const event = '{"id": 1, "level": "info"}';
const stored = (pipeline_id: string): number => running.engine.health(pipeline_id).stream!.messages;

/** The whole of what a listener says to these bytes, until it closes the connection. */
async function say({ address }: Pick<Listener, "address">, ...requests: string[]): Promise<string> {
  const [host, port] = address.split(":") as [string, string];
  const socket = connect(Number(port), host);
  socket.write(requests.join(""));
  return text(socket);
}

function eventTo(target: string, headers: Record<string, string>): string {
  const all = { host: "a", "content-type": "application/json", "content-length": String(event.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${target} HTTP/1.1\r\n${lines.join("")}\r\n${event}`;
}

const good = (): Record<string, string> => ({ "x-pipeline-access-token": token });
const last = { connection: "close" };

test("what is pipelined behind a refusal that ends the connection is not stored, and what is behind an answer is", async () => {
  const before = stored("web-hook");
  const refused = await say(events, eventTo(path, { "x-pipeline-access-token": "wrong" }), eventTo(path, good()));
  expect(refused.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401"]);
  expect(stored("web-hook")).toBe(before);
  const taken = await say(events, eventTo(path, good()), eventTo(path, { ...good(), ...last }));
  expect(taken.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 202", "HTTP/1.1 202"]);
  expect(stored("web-hook") - before).toBe(2);
});

test("a target in absolute form, as it is sent to a proxy, is the same path", async () => {
  expect(await say(events, eventTo(`http://sluice.example.com${path}?a=b`, { ...good(), ...last }))).toMatch(
    /^HTTP\/1\.1 202 /,
  );
});

test.each(["identity", "Identity", " identity "])("an event with Content-Encoding %j is taken", async (encoding) => {
  const request = eventTo(path, { ...good(), "content-encoding": encoding, ...last });
  expect(await say(events, request)).toMatch(/^HTTP\/1\.1 202 /);
});

test.each([
  ["GET", "/healthz", 200],
  ["HEAD", "/healthz", 200],
  ["GET", "/readyz", 200],
  ["HEAD", "/readyz", 200],
  ["POST", "/readyz", 405],
])("%s %s is a probe on each port for events: %i", async (method, probe, status) => {
  for (const { address } of [events, otlp]) {
    const response = await fetch(`http://${address}${probe}`, { method });
    expect([response.status, (await response.text()) === ""]).toEqual([status, method === "HEAD"]);
  }
});

test("413 is read by a sender that goes on sending more than is read before the answer", async () => {
  // The second for which a listener reads on: on a busy machine it would be over before the last byte has gone.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const headers = { "X-Pipeline-Access-Token": token, "Content-Type": "application/json" };
  expect(await answerToLateReader(`http://${events.address}${path}`, headers, 4 * megabyte)).toMatch(
    /^HTTP\/1\.1 413 /,
  );
  const toLogs = { "x-sluice-pipeline-id": "app-logs", "content-type": "application/x-protobuf" };
  expect(await answerToLateReader(`http://${otlp.address}/v1/logs`, toLogs, 64 * megabyte)).toMatch(/^HTTP\/1\.1 413 /);
});

test.each(["application/protobuf", "application/vnd.google.protobuf", "application/octet-stream", "application/grpc"])(
  "protobuf as %s is 415, and the answer names the types",
  async (type) => {
    const headers = { "x-sluice-pipeline-id": "app-logs", "content-type": type };
    const response = await fetch(`http://${otlp.address}/v1/logs`, {
      method: "POST",
      headers,
      body: new Uint8Array(logs(1)),
    });
    expect(response.status).toBe(415);
    expect(((await response.json()) as { message: string }).message).toBe(
      `expected Content-Type application/x-protobuf or application/json, found "${type}"`,
    );
  },
);

test("JSON needs no type of its own", async () => {
  const headers = { "x-sluice-pipeline-id": "app-logs", "content-type": "text/plain" };
  const body = new Uint8Array(logsInJson(1));
  expect((await fetch(`http://${otlp.address}/v1/logs`, { method: "POST", headers, body })).status).toBe(200);
});

/** How many requests were refused that name no pipeline, by reason. */
async function unknownRefusals(): Promise<Record<string, number>> {
  const series = /^sluice_push_refusals_total\{pipeline_id="unknown",reason="(\w+)"\} (\d+)$/gm;
  const metrics = await running.registry.metrics();
  return Object.fromEntries([...metrics.matchAll(series)].map(([, reason, count]) => [reason, Number(count)]));
}

/** The reasons of what is refused meanwhile, each as often as it is counted. */
async function reasonsOf(work: () => Promise<void>): Promise<string[]> {
  const before = await unknownRefusals();
  await work();
  const after = Object.entries(await unknownRefusals());
  return after.flatMap(([reason, count]) => Array.from({ length: count - (before[reason] ?? 0) }, () => reason));
}

describe("what is answered before its request is read is counted: on each port for events", () => {
  test.each([
    ["a head that is too long", 431, `GET / HTTP/1.1\r\nhost: a\r\nx-long: ${"x".repeat(20_000)}\r\n\r\n`, "too_large"],
    ["what is not HTTP", 400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS\r\n\r\n", "malformed"],
    ["HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformed"],
    ["no host", 400, "GET /healthz HTTP/1.1\r\n\r\n", "malformed"],
    ["an expectation", 417, "GET /healthz HTTP/1.1\r\nhost: a\r\nexpect: x\r\n\r\n", "malformed"],
    ["a tunnel", 405, "CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n", "no_route"],
  ])("%s: %i", async (_what, status, bytes, reason) => {
    for (const listener of [events, otlp]) {
      const reasons = await reasonsOf(async () => {
        expect(await say(listener, bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      });
      expect(reasons).toEqual([reason]);
    }
  });

  test("a head that does not arrive in time: 408", async () => {
    const server = createServer({ headersTimeout: 1, requestTimeout: 2, connectionsCheckingInterval: 1 });
    new UnreadRequests(running.engine.unreadEvents).answer(server, () => undefined);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const reasons = await reasonsOf(async () => {
      expect(await say({ address }, "GET / HTTP/1.1\r\nhost:")).toMatch(/^HTTP\/1\.1 408 /);
    });
    expect(reasons).toEqual(["slow"]);
    server.close();
  });

  test("a connection that ends within a head", async () => {
    const reasons = await reasonsOf(async () => {
      const [host, port] = events.address.split(":") as [string, string];
      const socket = connect(Number(port), host).resume();
      socket.end("GET / HTTP/1.1\r\nhost:");
      await once(socket, "close");
    });
    expect(reasons).toEqual(["broken_off"]);
  });
});

test("what is no request behind an event is answered after it, as the answer to the event says whether it is stored", async () => {
  const before = stored("web-hook");
  const reasons = await reasonsOf(async () => {
    const said = await say(events, eventTo(path, good()), "no request\r\n\r\n");
    expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 202", "HTTP/1.1 400"]);
  });
  expect([reasons, stored("web-hook") - before]).toEqual([["malformed"], 1]);
});

test.each([
  ["POST", "/v1/profiles", 404],
  ["GET", "/v1/logs", 405],
  ["POST", "/readyz", 405],
])("%s %s to the port of OTLP is counted: %i", async (method, route, status) => {
  const reasons = await reasonsOf(async () => {
    expect((await fetch(`http://${otlp.address}${route}`, { method })).status).toBe(status);
  });
  expect(reasons).toEqual(["no_route"]);
});

test("a probe of another method to the port of events is counted: 405", async () => {
  const reasons = await reasonsOf(async () => {
    expect((await fetch(`http://${events.address}/readyz`, { method: "POST" })).status).toBe(405);
  });
  expect(reasons).toEqual(["no_route"]);
});

describe("OTLP over HTTP without a token, to a host", () => {
  const body = logsInJson(1).toString();
  const send = (listener: Listener, host: string, more: Record<string, string> = {}): Promise<string> => {
    const headers = { host, "content-type": "application/json", "x-sluice-pipeline-id": "app-logs", ...more, ...last };
    const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) });
    return say(
      listener,
      `POST /v1/logs HTTP/1.1\r\n${lines.map((line) => `${line.join(": ")}\r\n`).join("")}\r\n${body}`,
    );
  };

  test.each([
    ["127.0.0.1:4318", {}],
    ["LocalHost:4318", {}],
    ["[::1]:4318", {}],
    ["sluice.example.com:4318", {}],
    ["rebound.example", { origin: page }],
  ])("%s of ours stores it", async (host, more) => {
    const before = stored("app-logs");
    expect(await send(otlp, host, more)).toMatch(/^HTTP\/1\.1 200 /);
    expect(stored("app-logs")).toBe(before + 1);
  });

  test.each([
    ["rebound.example:4318", {}],
    ["rebound.example", { origin: "http://rebound.example" }],
    ["127.0.0.1.rebound.example", {}],
  ])("%s of others stores nothing, and says the way out", async (host, more) => {
    const before = stored("app-logs");
    const answer = await send(otlp, host, more);
    expect(answer).toMatch(/^HTTP\/1\.1 421 /);
    expect(answer).toContain("--api-hosts");
    expect(stored("app-logs")).toBe(before);
  });

  test("any is answered where a token is asked for, which no page has", async () => {
    const flags = { otlp_http: "127.0.0.1:0", otlp_token: "${env:TOKEN}" };
    const settings = resolveSettings("run", { flags, env: {}, file: [] });
    const withToken = await listenHttp("otlp_http", settings, running.engine.handleOtlpHttp);
    expect(await send(withToken, "rebound.example")).toMatch(/^HTTP\/1\.1 200 /);
    await withToken.close();
  });
});

describe("CORS: a page of an origin that the setting names", () => {
  const preflight = {
    origin: page,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,x-sluice-pipeline-id",
  };

  test("may ask first, and then read the answer", async () => {
    const url = `http://${otlp.address}/v1/logs`;
    const asked = await fetch(url, { method: "OPTIONS", headers: preflight });
    expect([asked.status, Object.fromEntries(asked.headers)]).toMatchObject([
      204,
      {
        "access-control-allow-origin": page,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "content-type,x-sluice-pipeline-id",
        vary: "Origin",
      },
    ]);
    const headers = { origin: page, "content-type": "application/json", "x-sluice-pipeline-id": "app-logs" };
    const sent = await fetch(url, { method: "POST", headers, body: new Uint8Array(logsInJson(1)) });
    expect([sent.status, sent.headers.get("access-control-allow-origin")]).toEqual([200, page]);
    const refused = await fetch(`http://${events.address}${path}`, { method: "POST", headers: { origin: page } });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, page]);
    expect(refused.headers.get("access-control-expose-headers")).toBe("Retry-After");
  });

  test("another one may not", async () => {
    for (const { address } of [events, otlp]) {
      const asked = await fetch(`http://${address}/v1/logs`, {
        method: "OPTIONS",
        headers: { ...preflight, origin: "https://evil.example.com" },
      });
      expect(asked.status).toBeGreaterThanOrEqual(400);
      expect(asked.headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  test.each(["app.example.com", "https://app.example.com/", "*, https://a.example.com", "ftp://a.example.com"])(
    "%j is refused at the start",
    (cors_origins) => {
      expect(() => resolveSettings("run", { flags: { cors_origins }, env: {}, file: [] })).toThrow("--cors-origins: ");
    },
  );
});
