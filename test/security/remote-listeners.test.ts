import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { connect, type PeerCertificate } from "node:tls";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Info } from "../../reconciler/api/info.ts";
import { main } from "../../reconciler/cli/main.ts";
import { ControlClient } from "../../reconciler/cli/control/client.ts";
import { selfSigned } from "../integration/sink/certificate.ts";
import { sluice } from "../support/daemon.ts";

/** Who is on the way to a listener, or reaches it without a token (docs/security.md). */

// Each test starts a process, which takes long where other tests run at the same time.
vi.setConfig({ testTimeout: 180_000 });

const soon = { timeout: 60_000, interval: 200 };
const [apiToken, otlpToken] = ["t0ken-of-the-readers", "t0ken-of-the-senders"];

type Line = Record<string, unknown> & { msg: string };

let folder: string;
const home = process.cwd();
let child: ChildProcess | undefined;
let said: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-remote-"));
  await mkdir(join(folder, "pipelines"));
  await writeFile(join(folder, "api-token"), apiToken);
  await writeFile(join(folder, "hook-secret"), "the-secret-of-the-hook");
  await writePair();
  said = [];
});

afterEach(async () => {
  process.chdir(home);
  child?.kill("SIGKILL");
  if (child?.exitCode === null && child.signalCode === null) await once(child, "exit");
  child = undefined;
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

async function writePair(): Promise<void> {
  const { cert, key } = selfSigned();
  await writeFile(join(folder, "cert.pem"), cert);
  await writeFile(join(folder, "key.pem"), key);
}

const names = ["api", "events", "otlp-grpc", "otlp-http", "hook"];
const at = (host: string): Record<string, string> => Object.fromEntries(names.map((name) => [name, `${host}:0`]));

const env = { ...process.env, OTLP_TOKEN: otlpToken, SHORT: "a-short-t0ken" };

/** The words of `sluice run` with listeners and further flags. */
function wordsOf(listeners: Record<string, string>, flags: string[]): string[] {
  const where = Object.entries(listeners).flatMap(([name, address]) => [`--${name}`, address]);
  const secret = ["--hook-secret", `\${file:${join(folder, "hook-secret")}}`];
  return ["run", "--dir", "pipelines", "--log-format", "json", ...secret, ...where, ...flags];
}

/** What it says of a start that is refused. It would end at once if it were not. */
async function refusal(listeners: Record<string, string>, ...flags: string[]): Promise<string> {
  process.chdir(folder);
  const printed: string[] = [];
  const print = (line: string): unknown => printed.push(line);
  const context = { terminal: { out: print, err: print }, env, untilStopped: () => AbortSignal.abort() };
  expect(await main(wordsOf(listeners, flags), context as never)).toBe(1);
  return printed.join("\n");
}

/** Starts it. */
function start(listeners: Record<string, string>, ...flags: string[]): void {
  child = spawn(process.execPath, [sluice, ...wordsOf(listeners, flags)], {
    cwd: folder,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  createInterface({ input: child.stderr! }).on("line", (line) => said.push(line));
}

function lines(sentence: string): Line[] {
  const found = said.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line);
  return found.filter(({ msg }) => msg.startsWith(sentence));
}

/** The addresses of the listeners, once they listen. */
async function listening(): Promise<Record<string, string>> {
  await expect.poll(() => lines("Sluice is running.").length, soon).toBe(1);
  return lines("Sluice is running.")[0] as Record<string, string>;
}

const tlsFlags = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

function tokenFlags(): string[] {
  return ["--api-token", `\${file:${join(folder, "api-token")}}`, "--otlp-token", "${env:OTLP_TOKEN}"];
}

interface Answer {
  status: number | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

async function ask(address: string, path: string, authorization?: string, method = "GET"): Promise<Answer> {
  const headers = authorization === undefined ? {} : { authorization };
  const asked = request(`https://${address}${path}`, { method, headers, rejectUnauthorized: false, agent: false });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const asItIs = (bytes: Buffer): Buffer => bytes;

/** The code of gRPC that an export gets. */
async function exportOverGrpc(address: string, authorization?: string): Promise<number> {
  const client = new Client(address, credentials.createSsl(null, null, null, { rejectUnauthorized: false }));
  const metadata = new Metadata();
  metadata.set("x-sluice-pipeline-id", "orders");
  if (authorization !== undefined) metadata.set("authorization", authorization);
  const path = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
  try {
    return await new Promise((resolve) => {
      client.makeUnaryRequest(path, asItIs, asItIs, Buffer.alloc(0), metadata, (error) => resolve(error?.code ?? 0));
    });
  } finally {
    client.close();
  }
}

async function certificateOf(address: string): Promise<string> {
  const [host, port] = address.split(":");
  const socket = connect({ host: host!, port: Number(port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { fingerprint256 }: PeerCertificate = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

/** What a listener answers to plain bytes, until it closes the connection. */
async function plainAnswer(address: string): Promise<string> {
  const [host, port] = address.split(":");
  const socket = connectPlain(Number(port), host);
  socket.end("GET /api/v1/pipeline HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return text(socket).catch(() => "");
}

test.each(names)("the listener %s without TLS and not on loopback is refused at the start", async (name) => {
  expect(await refusal({ ...at("127.0.0.1"), [name]: "0.0.0.0:0" })).toMatch(
    new RegExp(`--${name}: 0\\.0\\.0\\.0:0 is not on loopback.* or --insecure`),
  );
});

test("with --insecure it is there, and the log and the status say so", { tags: ["rest"] }, async () => {
  start({ ...at("127.0.0.1"), api: "0.0.0.0:0" }, "--insecure");
  const { api } = await listening();
  expect(lines("A listener is plain and not on loopback")).toEqual([
    expect.objectContaining({ level: "warn", listener: "api", address: api }),
  ]);
  expect(lines("A listener is not on loopback and asks for no token")).toHaveLength(1);
  const info = (await new ControlClient(join(folder, ".sluice")).get("/api/v1/info")) as Info;
  expect(info.insecure_listeners).toEqual(["api"]);
});

test("with TLS and tokens, none but those who have the token read or send, plain bytes are answered with none, and a new certificate is taken", async () => {
  start(at("0.0.0.0"), ...tlsFlags, ...tokenFlags());
  const found = Object.entries(await listening()).map(([name, address]) => [
    name,
    address.replace("0.0.0.0", "127.0.0.1"),
  ]);
  const { api, events, otlp_http, otlp_grpc, hook } = Object.fromEntries(found) as Record<string, string>;

  for (const address of [api!, events!, otlp_http!, otlp_grpc!, hook!]) {
    expect(await plainAnswer(address)).not.toContain("HTTP/1.1 200");
    expect(await plainAnswer(address)).not.toContain("pipeline");
  }
  const paths = ["/", "/metrics", "/api/v1/pipeline", "/api/v1/info", "/api/v1/reconcile", "/no-such-path"];
  for (const path of paths) {
    for (const authorization of [undefined, "Bearer", "Bearer another-token-1234", "Basic Og==", otlpToken]) {
      const answer = await ask(api!, path, authorization);
      expect([path, answer.status, answer.headers.connection]).toEqual([path, 401, "close"]);
    }
  }
  expect((await ask(api!, "/api/v1/filter/validate", undefined, "POST")).status).toBe(401);
  expect((await ask(api!, "/healthz")).status).toBe(200);
  expect((await ask(api!, "/metrics", `Bearer ${apiToken}`)).body).toContain(
    'sluice_listener_connections{listener="api"}',
  );
  const basic = `Basic ${Buffer.from(`any:${apiToken}`).toString("base64")}`;
  expect((await ask(api!, "/api/v1/pipeline", basic)).status).toBe(200);

  expect((await ask(events!, "/v1/pipelines/a/topics/input/events", undefined, "POST")).status).toBe(401);
  expect((await ask(hook!, "/hook", undefined, "POST")).status).toBe(401);
  expect((await ask(otlp_http!, "/v1/logs", `Bearer ${apiToken}`, "POST")).status).toBe(401);
  expect((await ask(otlp_http!, "/v1/logs", `Bearer ${otlpToken}`, "POST")).status).toBe(400);
  expect(await exportOverGrpc(otlp_grpc!)).toBe(16);
  expect(await exportOverGrpc(otlp_grpc!, `Bearer ${otlpToken}`)).toBe(5);

  await writeFile(join(folder, "api-token"), "another-t0ken-of-the-readers\n");
  const read = async (token: string) => (await ask(api!, "/api/v1/info", `Bearer ${token}`)).status;
  await expect.poll(() => read("another-t0ken-of-the-readers"), soon).toBe(200);
  expect(await read(apiToken)).toBe(401);
  await rm(join(folder, "api-token"));
  await expect.poll(() => read("another-t0ken-of-the-readers"), soon).toBe(503);

  await expectNewCertificate(api!, otlp_grpc!);
  expect(said.join("\n")).not.toMatch(/t0ken/);
});

/** A new certificate is taken while it runs, and one that does not fit is not. */
async function expectNewCertificate(api: string, otlp_grpc: string): Promise<void> {
  const before = await certificateOf(api);
  await writeFile(join(folder, "key.pem"), "no key");
  await expect.poll(() => lines("The TLS certificate cannot be read again").length, soon).toBe(1);
  expect(await certificateOf(api)).toBe(before);
  await writePair();
  await expect.poll(() => lines("The TLS certificate was read again").length, soon).toBe(1);
  expect(await certificateOf(api)).not.toBe(before);
  expect(await certificateOf(otlp_grpc)).toBe(await certificateOf(api));
}

test.each([
  ["a certificate without its key", ["--tls-cert", "cert.pem"], /--tls-cert: expected --tls-key too/],
  ["a key that is not there", ["--tls-cert", "cert.pem", "--tls-key", "no.pem"], /no\.pem: the TLS key cannot be read/],
  ["a key of another certificate", ["--tls-cert", "cert.pem", "--tls-key", "cert.pem"], /and its private key/],
  ["a token in plain text", ["--api-token", "plain-t0ken-of-mine"], /--api-token: expected \$\{env:NAME\}/],
  ["a token that can be guessed", ["--otlp-token", "${env:SHORT}"], /at least 16 characters/],
])("%s ends the start", async (_what, flags, expected) => {
  const told = await refusal(at("127.0.0.1"), ...flags);
  expect(told).toMatch(expected);
  expect(told).not.toMatch(/t0ken/);
});
