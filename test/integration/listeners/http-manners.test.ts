import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Listener, listenHttp } from "../../../reconciler/cli/daemon/listen.ts";
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
  const flags = { events: "127.0.0.1:0", otlp_http: "127.0.0.1:0", cors_origins: `${page}, https://other.example.com` };
  const settings = resolveSettings("run", { flags, env: {}, file: [] });
  events = await listenHttp("events", settings, engine.handleEvents);
  otlp = await listenHttp("otlp_http", settings, engine.handleOtlpHttp);
});

afterAll(async () => {
  await Promise.all([events.close(), otlp.close()]);
  await running.close();
});

const path = "/v1/pipelines/web-hook/topics/input/events";
const event = '{"id": 1, "level": "info"}';
const stored = (pipeline_id: string): number => running.engine.health(pipeline_id).stream!.messages;

/** The whole of what a listener says to these bytes, until it closes the connection. */
async function say({ address }: Listener, ...requests: string[]): Promise<string> {
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
  const headers = { "X-Pipeline-Access-Token": token, "Content-Type": "application/json" };
  expect(await answerToLateReader(`http://${events.address}${path}`, headers, 4 * megabyte)).toMatch(
    /^HTTP\/1\.1 413 /,
  );
  const toLogs = { "x-sluice-pipeline-id": "app-logs", "content-type": "application/x-protobuf" };
  expect(await answerToLateReader(`http://${otlp.address}/v1/logs`, toLogs, 12 * megabyte)).toMatch(/^HTTP\/1\.1 413 /);
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
