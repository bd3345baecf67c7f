import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../../../engine/core/sink.ts";
import type { EmbeddedServer } from "../../../engine/sinks/clickhouse/transport/connection.ts";
import { ClickHouseSink } from "../../../engine/sinks/clickhouse/sink.ts";
import { silent, type TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { selfSigned } from "./certificate.ts";
import { events, listen, ownHeaders, patient, sinkOn, write } from "./support.ts";
import type { Wish } from "./support.ts";
import { encoded } from "../../support/encoded.ts";

const secret = "s3cr3t-passw0rd";
const fields: Wish["fields"] = [["id", "int", "Int64"]];
const servers: Server[] = [];
const sinks: ClickHouseSink[] = [];

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => void server.close(resolve))));
});

function on(url: string, wish: Partial<Wish> = {}): ClickHouseSink {
  const sink = sinkOn({ url, username: "u", password: secret }, { fields, table: "t", ...wish });
  sinks.push(sink);
  return sink;
}

async function inserted(url: string, signal = patient, wish: Partial<Wish> = {}): Promise<Answer> {
  const sink = on(url, wish);
  const answer = await sink.insert(encoded(sink, events({ id: 1 })), "t", signal);
  expect(JSON.stringify(answer)).not.toContain(secret);
  return answer;
}

/** An HTTP server that answers as `respond` says once a request's body is complete. */
async function http(
  respond: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => respond(request, response, Buffer.concat(chunks).toString()));
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("an insert", () => {
  test("whose server hangs up within the answer is unknown", async () => {
    const url = await http((request, response) => {
      response.writeHead(200, { "Content-Length": "100" });
      response.write("half", () => request.socket.destroy());
    });
    expect(await inserted(url)).toMatchObject({ kind: "unknown", failure: { class: "transient", name: "network_io" } });
  });

  test.each([
    ["a proxy's 503", 503, "<html>busy</html>", "unknown", "transient"],
    ["a proxy's 413", 413, "too large", "unknown", "setup"],
    ["a page that is no ClickHouse", 200, "<html>welcome</html>", "unknown", "transient"],
    ["an error without its header", 500, "Code: 60. DB::Exception: No. (UNKNOWN_TABLE)", "refused", "setup"],
    [
      "an error behind a status of 200",
      200,
      "Code: 241. DB::Exception: Memory. (MEMORY_LIMIT_EXCEEDED)",
      "unknown",
      "transient",
    ],
  ])("answered by %s is that", async (_title, status, body, kind, failure) => {
    const url = await http((_request, response) => response.writeHead(status).end(body));
    expect(await inserted(url)).toMatchObject({ kind, failure: { class: failure } });
  });

  test("never shows the password, even if the server repeats it", async () => {
    const url = await http((request, response) => {
      const login = Buffer.from(request.headers.authorization?.slice(6) ?? "", "base64").toString();
      response
        .writeHead(500, { "X-ClickHouse-Exception-Code": "516" })
        .end(`Code: 516. DB::Exception: no: ${login} (AUTH)`);
    });
    expect(await inserted(url)).toMatchObject({
      kind: "refused",
      failure: { class: "setup", text: expect.stringContaining("u:***") },
    });
  });

  test("carries its length, its columns and its rows", async () => {
    const seen: string[] = [];
    const url = await http((request, response, body) => {
      const query = new URL(request.url ?? "", "http://x").searchParams.get("query");
      seen.push(`${request.headers["content-length"]} ${query} ${body}`);
      response.writeHead(200, ownHeaders(request.url)).end();
    });
    expect(await inserted(url)).toEqual({ kind: "ok" });
    expect(seen).toEqual(['9 INSERT INTO `d`.`t` (`id`) FORMAT JSONEachRow {"id":1}\n']);
  });
});

describe("a ClickHouse that is too old says which version is needed, and which one it is", () => {
  const headers: [string, (url: string | undefined) => Record<string, string>][] = [
    ["with its headers", ownHeaders],
    ["without them", () => ({})],
  ];

  test.each(
    ["18.16.1", "21.8.15.7", "22.1.4.30"].flatMap((version) =>
      headers.map(([title, of]) => [version, title, of] as const),
    ),
  )("%s, %s", async (version, _title, headersOf) => {
    const url = await http((request, response, body) => {
      const known = body.includes("version()");
      response.writeHead(known ? 200 : 500, headersOf(request.url));
      response.end(
        known ? `{"version":"${version}"}\n` : "Code: 47. DB::Exception: Missing columns: 'uuid' (UNKNOWN_IDENTIFIER)",
      );
    });
    const text = expect.stringContaining(
      `this is ClickHouse ${version}, which is too old: version 22.2 or later is needed`,
    );
    expect(await on(url).open(patient)).toMatchObject({ kind: "refused", failure: { class: "setup", text } });
  });

  test.each(["22.2.2.1", "22.10.1.1", "23.1.1.1", "26.7.2.1", "unheard of"])("but not %s", async (version) => {
    const url = await http((request, response, body) => {
      const known = body.includes("version()");
      response.writeHead(known ? 200 : 500, ownHeaders(request.url));
      response.end(known ? `{"version":"${version}"}\n` : "Code: 4711. DB::Exception: Next. (NEXT)");
    });
    const text = expect.stringContaining("4711");
    expect(await on(url).open(patient)).toMatchObject({ kind: "refused", failure: { class: "setup", text } });
  });
});

test("a guessed port is said once, however often open is called", async () => {
  const lines: NonNullable<Wish["lines"]> = [];
  const sink = on("http://127.0.0.1:1", { lines, connection: { port: "9000", http_port: "" } });
  const gone = AbortSignal.abort();
  await sink.open(gone);
  await sink.open(gone);
  expect(lines.map(({ sentence }) => sentence)).toEqual(["Guessed the HTTP port of ClickHouse."]);
});

describe("a port that is not HTTP yields an error that names http_port", () => {
  const hint = expect.stringContaining("set connection_params.http_port");

  test.each([
    [
      "the native port's own words",
      "HTTP/1.0 400 Bad Request\r\n\r\nPort 9000 is for clickhouse-client program\r\nYou must use port 8123 for HTTP.\r\n",
      "refused",
    ],
    ["the native protocol", Buffer.from([2, 0x66, 0, 0, 0, 0x0d, 0x44, 0x42, 0x3a, 0x3a]), "unknown"],
  ])("%s", async (_title, bytes, kind) => {
    const { url, server } = await listen((socket) => void socket.once("data", () => socket.end(bytes)));
    servers.push(server);
    expect(await inserted(url)).toMatchObject({ kind, failure: { text: hint } });
    expect(await on(url).open(patient)).toMatchObject({ kind: "refused", failure: { class: "setup", text: hint } });
  });

  test("TLS spoken to a port without it says TLS", async () => {
    const url = await http((_request, response) => response.end());
    expect(await inserted(url, patient, { connection: { secure: true } })).toMatchObject({
      kind: "refused",
      failure: { class: "setup", text: expect.stringContaining("TLS failed") },
    });
  });
});

async function tls(): Promise<string> {
  const server = createTlsServer(selfSigned(), (request, response) => {
    request.resume().on("end", () => response.writeHead(200, ownHeaders(request.url)).end());
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("over TLS with a certificate that nobody vouches for", () => {
  test("an insert is refused and says why", async () => {
    expect(await inserted(await tls(), patient, { connection: { secure: true } })).toMatchObject({
      kind: "refused",
      failure: { class: "setup", text: expect.stringContaining("TLS failed: self-signed certificate") },
    });
  });

  test("an insert goes on where skip_certificate_verification says so", async () => {
    const connection = { secure: true, skip_certificate_verification: true };
    expect(await inserted(await tls(), patient, { connection })).toEqual({ kind: "ok" });
  });
});

/** A sink with `host: embedded`, which asks `reach` where that is. */
function embedded(reach: () => EmbeddedServer): ClickHouseSink {
  const sink = new ClickHouseSink({
    pipeline_id: "p",
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "e", secure: false, skip_certificate_verification: false },
      table: "t",
      max_batch_size: 10,
      max_delay_time: "1s",
      mapping: [{ name: "id", column_name: "id", column_type: "Int64" }],
    },
    schemas: new Map([[undefined, [{ name: "id", type: "int" }]]]),
    options: { create_table: true },
    embedded: reach,
    log: silent,
  });
  sinks.push(sink);
  return sink;
}

describe("on the embedded server", () => {
  let server: TestClickHouse;
  beforeAll(async () => {
    server = await useClickHouse();
  });

  afterAll(() => server.stop());

  test("a reading says what it remembers of inserts", async () => {
    const { embedded: own } = server;
    const { url, username, password, memory } = own;
    const [sink, later] = [memory, "another one"].map((of) =>
      embedded(() => ({ url, username, password, memory: of })),
    );
    for (const each of [sink!, later!]) expect(await each.open(patient)).toEqual({ kind: "ok" });
    expect(memory).toMatch(/^[0-9a-f-]{36}$/);
    expect(await sink!.read(true, patient)).toMatchObject({ kind: "read", reading: { server: memory } });
    expect(await later!.read(true, patient)).toMatchObject({ kind: "read", reading: { server: "another one" } });
  });

  test("its address may change", async () => {
    let at = { url: "http://127.0.0.1:1", username: "default", password: "none" };
    const sink = embedded(() => at);
    expect(await sink.open(patient)).toMatchObject({ kind: "refused", failure: { class: "transient" } });
    at = server;
    expect(await write(sink, [{ id: 1 }])).toEqual({ kind: "ok" });
    expect(await server.query("SELECT count() AS n FROM e.t")).toEqual([{ n: 1 }]);
  });

  test("an address that is not known yet is tried again", async () => {
    const sink = embedded(() => {
      throw new Error("it is being started");
    });
    expect(await sink.open(patient)).toMatchObject({
      kind: "refused",
      failure: { class: "transient", text: "the embedded ClickHouse: no answer: it is being started" },
    });
  });
});
