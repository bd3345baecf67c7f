import { once } from "node:events";
import { createServer, request } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { PurePath } from "../../../reconciler/api/pure/pure-call.ts";
import { PureCalls } from "../../../reconciler/api/pure/pure-calls.ts";
import type { PureLimits } from "../../../reconciler/api/pure/pure-calls.ts";
import { statusApi } from "../../../reconciler/api/status-api.ts";
import { keptLog } from "../../support/engine.ts";
import { answerToLateReader } from "../../support/late-reader.ts";
import { actual, info, restingEngine, snapshot, view } from "./sample.ts";

const filter = "/api/v1/filter/validate";
const evaluation = "/api/v1/transform/expression/evaluate";
const migration = "/api/v1/pipeline/migrate-preview";
const good = JSON.stringify({ expression: "true", fields: [] });

/** An API that listens. */
interface Listening {
  pure: PureCalls;
  server: Server;
}

/** With the usual limits. */
let usual: Listening;
/** The one that is asked. */
let pure: PureCalls;
let server: Server;

async function listen(limits: Partial<PureLimits> = {}): Promise<Listening> {
  const calls = new PureCalls(limits);
  const sources = {
    log: keptLog(),
    engine: restingEngine([view()]),
    reconciler: { snapshot: () => snapshot("ended"), history: () => ({ records: [] }), actual },
    registry: new Registry(),
    info: () => info,
    pure: calls,
  };
  const listener = createServer(statusApi(sources)).listen(0, "127.0.0.1");
  await once(listener, "listening");
  return { pure: calls, server: listener };
}

async function close(listening: Listening): Promise<void> {
  listening.server.closeAllConnections();
  await new Promise((resolve) => listening.server.close(resolve));
  await listening.pure.close();
}

beforeAll(async () => {
  // What no test waits for: on a busy machine a call may take long.
  usual = await listen({ time: 3_600_000 });
  ({ pure, server } = usual);
});

afterEach(async () => {
  vi.useRealTimers();
  if (pure === usual.pure) return;
  await close({ pure, server });
  ({ pure, server } = usual);
});

afterAll(() => close(usual));

/** Has one asked that no other test asks, until the end of this one. Its time goes by only where that is said. */
async function relisten(limits: Partial<PureLimits> = {}): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  ({ pure, server } = await listen(limits));
}

/** Lets time go by until a call has ended. */
async function ended<Answer>(call: Promise<Answer>): Promise<Answer> {
  const state = { isOver: false };
  const over = call.finally(() => (state.isOver = true));
  while (!state.isOver) {
    vi.advanceTimersByTime(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return over;
}

const url = (path: string): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

interface Told {
  status: number;
  code?: string;
  headers: Headers;
  text: string;
}

async function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Told> {
  const response = await fetch(url(path), {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  const text = await response.text();
  const code = (JSON.parse(text) as { code?: string }).code;
  return { status: response.status, headers: response.headers, text, ...(code === undefined ? {} : { code }) };
}

/** Asks without HTTP between: a call has its place in the queue as soon as this returns. */
function ask(path: PurePath, body: string, signal = new AbortController().signal): ReturnType<PureCalls["ask"]> {
  return pure.ask(path, Buffer.from(body), signal);
}

/** A body of the evaluate call that runs for seconds: many outputs that each use up most of a budget. */
function heavy(count: number): string {
  const transform = Array.from({ length: count }, (_, index) => ({
    expression: "len(filter(1..90000, # % 7 == 3))",
    output_name: `o${index}`,
    output_type: "int",
  }));
  return JSON.stringify({ type: "expr_lang_transform", config: { transform }, sample: {} });
}

test.each([
  [filter, good, "{}"],
  [
    evaluation,
    '{"type":"expr_lang_transform","config":{"transform":[{"expression":"n + 1","output_name":"m","output_type":"int"}]},"sample":{"n":9007199254740993}}',
    '{"m":9007199254740994}',
  ],
])("%s answers", async (path, body, expected) => {
  const { status, text, headers } = await post(path, body);
  expect([status, text]).toEqual([200, expected]);
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(headers.get("cache-control")).toBe("no-store");
});

test("migrate-preview answers with a document, and warnings in headers", async () => {
  const { status, text, headers } = await post(migration, '{"pipeline_id":"old-one"}');
  expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ version: "v3", pipeline_id: "old-one" })]);
  expect(Number(headers.get("x-sluice-warning-count"))).toBeGreaterThan(0);
});

describe("a request that is not a pure call", () => {
  test.each([
    ["a content type that is not JSON", { "content-type": "text/plain" }, good, 415, "unsupported_media_type"],
    ["a compressed body", { "content-encoding": "gzip" }, good, 415, "unsupported_media_type"],
    ["a body over 1 MiB", {}, " ".repeat(1024 * 1024 + 1), 413, "payload_too_large"],
    ["no body", {}, "", 400, "bad_request"],
    ["a body that is no JSON", {}, "{", 400, "bad_request"],
    ["another shape", {}, '{"expression":1}', 422, ""],
    ["a filter that is none", {}, '{"expression":"1","fields":[]}', 400, "validation_error"],
  ])("%s is refused", async (_title, headers, body, status, code) => {
    const told = await post(filter, body, headers);
    expect([told.status, told.code]).toEqual([status, code]);
  });

  test.each([
    [413, "application/json"],
    [415, "text/plain"],
  ])("%i also where a caller reads no answer before it has sent all: %s", async (status, type) => {
    const answer = await answerToLateReader(url(filter), { "Content-Type": type }, 2 * 1024 * 1024);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test("a body of 1 MiB that never says how long it is, is refused while it comes", async () => {
    const asked = request(url(filter), { method: "POST", headers: { "content-type": "application/json" } });
    asked.on("error", () => undefined);
    for (let piece = 0; piece < 33; piece += 1) asked.write(" ".repeat(32 * 1024));
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([413, "close"]);
    asked.destroy();
  });

  test.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s is not allowed", async (method) => {
    const response = await fetch(url(filter), { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("a pipeline may have the name of one", async () => {
    const response = await fetch(url(migration));
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { message: "there is no pipeline migrate-preview" },
    ]);
  });

  test.each(["/api/v1/pipeline", "/api/v1/pipeline/orders", "/api/v1/filter", "/"])(
    "POST %s changes nothing",
    async (path) => {
      expect(await post(path, "{}")).toMatchObject({ status: 405, code: "method_not_allowed" });
    },
  );
});

/** A body of the evaluate call with one output. */
function outputs(expression: string, output_type: string, sample: unknown = {}): string {
  return JSON.stringify({
    type: "expr_lang_transform",
    config: { transform: [{ expression, output_name: "o", output_type }] },
    sample,
  });
}

async function answered(_title: string, path: string, body: string, status: number): Promise<void> {
  expect(await post(path, body)).toMatchObject({ status });
}

describe("a hostile body", () => {
  const all = "a".repeat(900_000);

  const bodies: [title: string, path: string, body: string, status: number][] = [
    ["that loops to the budget", evaluation, outputs("sum(map(1..900000, sum(1..100)))", "int"), 400],
    ["that allocates to the budget", evaluation, outputs('map(1..900000, repeat("x", 99))', "array"), 400],
    ["that is nested deep", filter, `{"expression":${"[".repeat(500_000)}`, 400],
    [
      "whose sample is nested deep",
      evaluation,
      outputs("a", "array", "S").replace('"S"', `{"a":${"[".repeat(300_000)}${"]".repeat(300_000)}}`),
      400,
    ],
    ["with a huge array", evaluation, outputs("len(a)", "int", { a: Array.from({ length: 400_000 }, () => 1) }), 200],
    [
      "with many fields",
      filter,
      JSON.stringify({
        expression: "true",
        fields: Array.from({ length: 18_000 }, (_, index) => ({ field_name: `f.${index}`, field_type: "int" })),
      }),
      200,
    ],
    [
      "with a regular expression that others cannot end",
      evaluation,
      outputs('a matches "(a|a)*(a|aa)*$b"', "bool", { a: all }),
      200,
    ],
    [
      "with an expression that is nested deep",
      filter,
      JSON.stringify({ expression: "(".repeat(200_000), fields: [] }),
      400,
    ],
    [
      "with names that objects inherit",
      evaluation,
      outputs('$env["__proto__"]', "map", "S").replace('"S"', '{"__proto__":{"x":1}}'),
      200,
    ],
    ["that is a v2 document of lists", migration, `{"source":{"topics":[${"{},".repeat(200_000)}{}]}}`, 422],
  ];
  const [loops, ...otherBodies] = bodies;

  test.each([loops!])("%s is answered", answered);
  test.each(otherBodies)("%s is answered", { tags: ["rest"] }, answered);

  test("that runs too long is ended, and the next one finds a new thread", async () => {
    await relisten({ time: 1000 });
    expect(await ended(post(evaluation, heavy(2000)))).toMatchObject({ status: 400, code: "transformation_error" });
    expect(await post(filter, good)).toMatchObject({ status: 200, text: "{}" });
  });

  test("that needs too much memory is ended, and the next one finds a new thread", { tags: ["rest"] }, async () => {
    await relisten({ memory: 16, time: 60_000 });
    const body = outputs("map(1..900000, [#, #, #, #])", "array");
    expect(await post(evaluation, body)).toMatchObject({ status: 400, code: "transformation_error" });
    expect(await post(filter, good)).toMatchObject({ status: 200, text: "{}" });
  });

  test("delays neither what is read nor more calls than may wait", async () => {
    await relisten({ time: 1000, waiting: 2 });
    const settled: string[] = [];
    const note = async (name: string, answer: Promise<{ status: number } | "exhausted">): Promise<void> => {
      const told = await answer;
      settled.push(`${name} ${typeof told === "string" ? told : told.status}`);
    };
    const hostile = note("hostile", ask(evaluation, heavy(2000)));
    const others = [note("one", ask(filter, good)), note("two", ask(filter, good))];
    for (const path of ["/healthz", "/metrics", "/api/v1/pipeline"]) await note("read", fetch(url(path)));
    await note("three", post(filter, good));
    expect(settled).toEqual(["read 200", "read 200", "read 200", "three 503"]);
    await ended(hostile);
    await Promise.all(others);
    expect(settled.slice(4)).toEqual(["hostile exhausted", "one 200", "two 200"]);
  });
});

test("a burst of two hundred calls waits its turn", { tags: ["rest"] }, async () => {
  await relisten();
  const answers = await Promise.all(Array.from({ length: 200 }, () => post(filter, good)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

test("the bodies of calls that wait are bounded together", { tags: ["rest"] }, async () => {
  await relisten({ time: 1000, waitingBytes: 2 * good.length });
  const hostile = ask(evaluation, heavy(2000));
  const waits = [ask(filter, good), ask(filter, good)];
  await expect(ask(filter, good)).rejects.toMatchObject({ body: { status: 503 } });
  expect(await ended(hostile)).toBe("exhausted");
  expect(await Promise.all(waits)).toMatchObject([{ status: 200 }, { status: 200 }]);
});

test("a caller that leaves gives its place in the queue away", { tags: ["rest"] }, async () => {
  await relisten({ time: 1000, waiting: 1 });
  const hostile = ask(evaluation, heavy(2000));
  const left = new AbortController();
  const waits = ask(filter, good, left.signal);
  await expect(ask(filter, good)).rejects.toMatchObject({ body: { status: 503 } });
  left.abort();
  await expect(waits).rejects.toMatchObject({ body: { status: 503 } });
  const next = ask(filter, good);
  expect(await ended(hostile)).toBe("exhausted");
  expect(await next).toMatchObject({ status: 200 });
});

test("calls under way are refused where the process stops", async () => {
  await relisten();
  const refused = expect(ask(evaluation, heavy(2000))).rejects.toMatchObject({ body: { status: 503 } });
  await pure.close();
  await refused;
  await expect(ask(filter, good)).rejects.toMatchObject({ body: { status: 503 } });
});

test(
  "bodies that arrive at once have a common bound, and the calls after them are answered",
  { tags: ["rest"], timeout: 180_000 },
  async () => {
    const { port } = server.address() as AddressInfo;
    const most = 1024 * 1024;
    const codes: number[] = [];
    const senders = Array.from({ length: 24 }, () => {
      const headers = { "content-type": "application/json", "content-length": String(most) };
      const sender = request({ port, path: filter, method: "POST", headers }, (answer) => {
        codes.push(answer.statusCode ?? 0);
        answer.resume();
      });
      sender.on("error", () => undefined);
      sender.write(" ".repeat(most - 1));
      return sender;
    });
    await expect.poll(() => codes.filter((code) => code === 503).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(8);
    for (const sender of senders) sender.destroy();
    await expect.poll(async () => (await post(filter, good)).status, { timeout: 60_000 }).toBe(200);
  },
);
