import { once } from "node:events";
import { createServer, request } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Log } from "../../../engine/index.ts";
import type { PipelineConfig } from "../../../schemas/index.ts";
import { PureCalls } from "../../../reconciler/api/pure/pure-calls.ts";
import { statusApi } from "../../../reconciler/api/status-api.ts";
import type { StatusSources } from "../../../reconciler/api/routes.ts";
import { keptLog } from "../../support/engine.ts";
import { actual, config, healthOf, history, info, letters, restingEngine, snapshot, view } from "./sample.ts";

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  json: unknown;
}

const log = keptLog();

const older = view({ pipeline_id: "older", config: { ...config, pipeline_id: "older", name: "Older" } });
let sources: StatusSources & { log: Log; pure: PureCalls; hosts: string[]; stopping?: AbortSignal };
let port: number;
let close: () => Promise<unknown>;

beforeEach(async () => {
  log.lines.length = 0;
  sources = {
    log,
    engine: restingEngine([view(), older]),
    reconciler: { snapshot: () => snapshot("ended"), history, actual },
    registry: new Registry(),
    info: () => info,
    pure: new PureCalls(),
    hosts: ["sluice.example.com"],
  };
  const server = createServer(statusApi(sources)).listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  close = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
    await sources.pure.close();
  };
});

afterEach(() => close());

describe("the host of a request", () => {
  test.each([
    ["127.0.0.1", 200],
    ["10.0.0.7:8081", 200],
    ["[::1]:8081", 200],
    ["LocalHost:8081", 200],
    ["sluice.example.com", 200],
    ["sluice.example.com.:443", 200],
    ["attacker.example", 421],
    ["attacker.example:8081", 421],
    ["127.0.0.1.attacker.example", 421],
    ["localhost.attacker.example", 421],
    ["sluice.example.com.attacker.example", 421],
  ])('"%s" is answered %d', async (host, status) => {
    for (const path of ["/", "/metrics", "/api/v1/pipeline", "/nothing"]) {
      const answer = await ask("GET", path, undefined, { host });
      const expected = status === 200 && path === "/nothing" ? 404 : status;
      expect([path, answer.status]).toEqual([path, expected]);
      if (status === 421) expect(answer.json).toMatchObject({ code: "unknown_host", details: { host } });
    }
  });
});

async function ask(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
  const asked = request({ host: "127.0.0.1", port, method, path, headers, agent: false });
  asked.end(body);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const isJson = response.headers["content-type"]?.startsWith("application/json") === true && text !== "";
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

const get = (path: string): Promise<Answer> => ask("GET", path);

const kafka = (connection_params: Record<string, unknown>, rest = {}): Partial<PipelineConfig> => ({
  sources: [
    {
      type: "kafka",
      source_id: "orders",
      topic: "orders",
      consumer_group_initial_offset: "earliest",
      schema_fields: [{ name: "id", type: "string" }],
      schema_version: "1",
      format: "json",
      connection_params: {
        brokers: ["b:9092"],
        protocol: "SASL_SSL",
        mechanism: "NO_AUTH",
        skip_tls_verification: false,
        ...connection_params,
      },
      ...rest,
    },
  ],
});
const registry = (values: object): Partial<PipelineConfig> =>
  kafka({}, { schema_registry: { url: "https://r.example", ...values } });
const sink = (password: string): Partial<PipelineConfig> => ({
  sink: { ...config.sink, connection_params: { ...config.sink.connection_params, password } },
});
const served = async (changes: Partial<PipelineConfig>): Promise<string> => {
  sources.engine = restingEngine([view({ config: { ...config, ...changes } })]);
  return (await get("/api/v1/pipeline/orders")).text;
};

const counted = async (): Promise<string[]> => {
  const metric = await sources.registry.getSingleMetric("gfm_http_server_request_count_total")?.get();
  return (metric?.values ?? []).map(
    ({ labels, value }) => `${labels["method"]} ${labels["path"]} ${labels["status"]} ${value}`,
  );
};

describe("what is there is told", () => {
  test("the list has one record a pipeline, in the engine's order", async () => {
    const record = {
      pipeline_id: "orders",
      name: "Orders",
      transformation_type: "Ingest Only",
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-02T00:00:00.000Z",
      status: "Running",
      metadata: { tags: ["shop"] },
    };
    expect((await get("/api/v1/pipeline")).json).toEqual([record, { ...record, pipeline_id: "older", name: "Older" }]);
  });

  test.each([
    ["the file of a pipeline", "/api/v1/pipeline/orders", () => config],
    ["the health of a pipeline", "/api/v1/pipeline/orders/health", () => healthOf(view())],
    ["the state of its dead letters", "/api/v1/pipeline/orders/dlq/state", () => letters.state()],
    ["what the reconciler did", "/api/v1/reconcile", () => snapshot("ended")],
    ["what a plan depends on", "/api/v1/actual", () => actual()],
    ["what the process is", "/api/v1/info", () => info],
    ["that the process lives", "/healthz", () => ({ status: "ok" })],
    ["that the process is ready", "/readyz", () => ({ status: "ok" })],
  ])("%s: %s", async (_, path, expected) => {
    const answer = await get(path);
    expect([answer.status, answer.json]).toEqual([200, expected()]);
  });

  test("the file of a pipeline whose user has no password has the empty one that its format asks for", async () => {
    const { password: _none, ...connection_params } = { ...config.sink.connection_params, host: "clickhouse" };
    const said = await served({ sink: { ...config.sink, connection_params } });
    expect(JSON.parse(said)).toMatchObject({ sink: { connection_params: { host: "clickhouse", password: "" } } });
  });

  test("how far a pipeline is behind its topic, and who else reads for it", async () => {
    sources.engine = restingEngine([view({ pipeline_id: "kafka" })]);
    expect((await get("/api/v1/pipeline/kafka/health")).json).toMatchObject({
      source: { partitions: 30, lag: 42, lag_seconds: 11.2, uncommitted: 5 },
      foreign_members: ["app\u001b[2J", "app-2"],
    });
  });

  test("the history is told page by page, also that of a pipeline that is gone", async () => {
    expect((await get("/api/v1/history?limit=1")).json).toMatchObject({ records: [{ id: 7 }], next_cursor: "7" });
    expect((await get("/api/v1/history?limit=1&cursor=7")).json).toMatchObject({ records: [{ id: 3 }] });
    expect((await get("/api/v1/pipeline/gone/history")).json).toMatchObject({
      records: [{ id: 3, plan: { kind: "delete" } }],
    });
    expect((await get("/api/v1/pipeline/older/history")).json).toEqual({ records: [] });
    expect((await get("/api/v1/pipeline/unknown/history")).status).toBe(404);
    for (const bad of ["limit=0", "limit=1001", "limit=x", "cursor=-1", "cursor=a"])
      expect((await get(`/api/v1/history?${bad}`)).status).toBe(422);
  });

  test("the root lists every URL", async () => {
    const { urls } = (await get("/")).json as { urls: string[] };
    for (const url of urls) expect((await get(url.replace("{id}", "orders"))).status).toBe(200);
    expect(urls).toHaveLength(12);
  });

  test("HEAD is answered like GET, without a body", async () => {
    const answer = await ask("HEAD", "/api/v1/pipeline/orders");
    expect([answer.status, answer.text]).toEqual([200, ""]);
  });

  test.each([
    [
      "dedup",
      { transforms: [{ type: "dedup", source_id: "orders", config: { key: "id", time_window: "1h0m0s" } }] },
      "Deduplication",
    ],
    [
      "a filter",
      { transforms: [{ type: "filter", source_id: "orders", config: { expression: "true" } }] },
      "Ingest Only",
    ],
    ["a join", { join: {} }, "Join"],
    ["both", { join: {}, transforms: [{ type: "dedup", source_id: "orders", config: {} }] }, "Join & Deduplication"],
  ])("the type of a pipeline with %s", async (_, changes, expected) => {
    sources.engine = restingEngine([view({ config: { ...config, ...changes } as PipelineConfig })]);
    const record = ((await get("/api/v1/pipeline")).json as { transformation_type: string }[])[0];
    expect(record?.transformation_type).toBe(expected);
  });
});

describe("nothing can be changed, and the answer says how to", () => {
  const urls = [
    "/api/v1/pipeline",
    "/api/v1/pipeline/orders",
    "/api/v1/pipeline/none",
    "/api/v1/reconcile",
    "/metrics",
    "/",
    "/healthz",
  ];
  const changing = [
    "/api/v1/pipeline/orders/stop",
    "/api/v1/pipeline/orders/terminate",
    "/api/v1/pipeline/orders/edit",
    "/api/v1/pipeline/orders/dlq/purge",
    "/elsewhere",
  ];
  const methods = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  test.each(methods)("%s", async (method) => {
    for (const url of [...urls, ...changing]) {
      const answer = await ask(method, url, method === "OPTIONS" ? undefined : "{}", {
        "content-type": "application/json",
      });
      expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD"]);
      expect(answer.json).toEqual({
        status: 405,
        code: "method_not_allowed",
        message: expect.stringContaining(
          `${method} is not allowed: this API only reads. To change a pipeline, change its file`,
        ),
        details: { method, allowed: ["GET", "HEAD"] },
      });
    }
  });

  test("a body without an end is not waited for", async () => {
    const asked = request({
      host: "127.0.0.1",
      port,
      method: "POST",
      path: "/api/v1/pipeline",
      headers: { "transfer-encoding": "chunked" },
    });
    asked.on("error", () => undefined);
    asked.write("{");
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([405, "close"]);
    asked.destroy();
  });
});

describe("what is not there is told in the shape of an error", () => {
  const nothing = "nothing is at this URL: / lists all URLs";
  test.each([
    ["an unknown URL", "/api/v2/pipeline", 404, "not_found", nothing],
    ["a URL below a document", "/api/v1/info/more", 404, "not_found", nothing],
    ["an unknown pipeline", "/api/v1/pipeline/none", 404, "not_found", "there is no pipeline none"],
    [
      "the health of an unknown pipeline",
      "/api/v1/pipeline/none/health",
      404,
      "not_found",
      "there is no pipeline none",
    ],
    [
      "the dead letters of an unknown pipeline",
      "/api/v1/pipeline/none/dlq/state",
      404,
      "not_found",
      "there is no pipeline none",
    ],
    ["a name of JavaScript", "/api/v1/pipeline/__proto__", 404, "not_found", "there is no pipeline __proto__"],
    ["a path in disguise", "/api/v1/pipeline/..%2F..%2Fetc", 404, "not_found", "there is no pipeline ../../etc"],
    [
      "an escape that is none",
      "/api/v1/pipeline/%zz",
      400,
      "bad_request",
      "the path of the URL is not valid percent-encoding",
    ],
  ])("%s: %s", async (_, path, status, code, message) => {
    const answer = await get(path);
    expect([answer.status, answer.json]).toEqual([status, { status, code, message }]);
  });

  test("what went wrong inside is logged and not told", async () => {
    sources.engine.health = () => {
      throw new Error("the store is closed");
    };
    const answer = await get("/api/v1/pipeline/orders/health");
    expect([answer.status, answer.json]).toEqual([
      500,
      { status: 500, code: "internal_error", message: "Internal server error" },
    ]);
    expect(log.lines).toEqual([
      {
        level: "error",
        fields: { method: "GET", route: "/api/v1/pipeline/{id}/health", error: "the store is closed" },
        sentence: "API request failed.",
      },
    ]);
  });

  test("a process whose first turn has not ended is not ready", async () => {
    sources.reconciler.snapshot = () => snapshot("under way");
    const answer = await get("/readyz");
    const reason = "the source was not fetched yet";
    expect([answer.status, answer.json]).toEqual([
      503,
      { status: 503, code: "not_ready", message: reason, details: { reasons: [reason] } },
    ]);
    expect((await get("/healthz")).status).toBe(200);
  });
});

test("a process that is about to stop is not ready", async () => {
  sources.stopping = AbortSignal.abort();
  const { status, json } = await get("/readyz");
  expect([status, json]).toMatchObject([503, { details: { reasons: ["the process is about to stop"] } }]);
  expect((await get("/healthz")).status).toBe(200);
});

describe("secrets never leave", () => {
  test.each([
    ["the sink's password", sink("hunter2")],
    ["a password that only begins as a reference", sink("${env:A}hunter2")],
    ["a password that only ends as a reference", sink("hunter2${env:A}")],
    ["a Kafka password", kafka({ brokers: ["k:9092"], password: "hunter2" })],
    ["a Kafka client key", kafka({ client_key: "hunter2" })],
    ["a keytab", kafka({ kerberos_keytab: "hunter2" })],
    ["a registry's key", registry({ api_key: "hunter2" })],
    ["a registry's secret", registry({ api_secret: "hunter2" })],
    ["the user of a registry's URL", registry({ url: "https://me:hunter2@r.example/x" })],
  ])("%s that was written as plain text", async (_, changes) => {
    const text = await served(changes);
    expect(text).not.toContain("hunter2");
    expect(text).toContain("<redacted>");
  });

  test.each([
    ["a reference to the environment", sink("${env:CLICKHOUSE_PASSWORD}"), '"password":"${env:CLICKHOUSE_PASSWORD}"'],
    ["a reference to a file", sink("${file:/run/secrets/password}"), '"password":"${file:/run/secrets/password}"'],
    [
      "a field to deduplicate by",
      { transforms: [{ type: "dedup" as const, source_id: "orders", config: { key: "id", time_window: "1h0m0s" } }] },
      '"key":"id"',
    ],
    ["a certificate", kafka({ root_ca: "-----BEGIN" }), '"root_ca":"-----BEGIN"'],
  ])("%s stays as it is", async (_, changes, expected) => {
    expect(await served(changes)).toContain(expected);
  });

  test("the token of a webhook is nowhere, reference or not", async () => {
    for (const path of ["", "/orders", "/orders/health"]) {
      expect((await get(`/api/v1/pipeline${path}`)).text).not.toContain("TOKEN");
    }
  });
});

describe("requests are counted by the template of their URL", () => {
  test("and not by what strangers ask for", async () => {
    await get("/api/v1/pipeline/orders");
    await get("/api/v1/pipeline/older");
    await get("/api/v1/pipeline/none");
    await get("/wp-login.php");
    await ask("POST", "/api/v1/pipeline", "{}");
    await ask("POST", "/api/v1/pipeline/orders/stop", "{}");
    await ask("PROPFIND", "/");
    expect(await counted()).toEqual([
      "GET /api/v1/pipeline/{id} 200 2",
      "GET /api/v1/pipeline/{id} 404 1",
      "GET unknown 404 1",
      "POST /api/v1/pipeline 405 1",
      "POST unknown 405 1",
      "OTHER / 405 1",
    ]);
  });

  test("and /metrics shows them as Prometheus reads them", async () => {
    await get("/healthz");
    const answer = await get("/metrics");
    expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(answer.text).toContain('gfm_http_server_request_count_total{method="GET",path="/healthz",status="200"} 1');
    expect(answer.text).toContain(
      'gfm_http_server_request_duration_seconds_bucket{le="120",method="GET",path="/healthz",status="200"} 1',
    );
  });
});

test.each(["/", "/metrics", "/api/v1/pipeline/none", "/nothing"])("a browser may do nothing with %s", async (path) => {
  const { headers } = await get(path);
  expect(headers).toMatchObject({
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
  });
  expect(headers["x-powered-by"] ?? headers["access-control-allow-origin"]).toBeUndefined();
});
