/** @module-tag rest */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request, type RequestListener, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestEngine } from "../../support/engine.ts";
import { HeldDisk } from "../../support/held-disk.ts";
import { createTable, webhookPipeline } from "../../support/pipelines.ts";
import { freePorts } from "../../support/ports.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
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

/** The proxies, with the command that runs one in the foreground. */
const proxies = {
  nginx: {
    file: "examples/proxies/nginx.conf",
    args: (path: string) => ["-p", folder, "-c", path, "-g", "daemon off; user root; pid nginx.pid; error_log stderr;"],
  },
  haproxy: { file: "examples/proxies/haproxy.cfg", args: (path: string) => ["-db", "-f", path] },
} as const;

function obstacleOf(name: string): string | undefined {
  try {
    execFileSync(name, ["-v"], { stdio: "ignore" });
    return undefined;
  } catch {
    return `needs ${name}`;
  }
}

interface Proxy {
  events: string;
  otlp: string;
  grpc: string;
  end: () => Promise<void>;
}

/** Runs the configuration of the examples, with ports of this test in the place of its own. */
async function start(name: keyof typeof proxies): Promise<Proxy> {
  const { file, args } = proxies[name];
  const [events, otlp, grpc] = (await freePorts(3)) as [number, number, number];
  const ports: Record<string, string> = {
    9080: String(events),
    9318: String(otlp),
    9317: String(grpc),
    8080: portOf(listeners.http),
    4318: portOf(listeners.http),
    4317: portOf(listeners.grpc),
  };
  const given = await readFile(file, "utf8");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  const text = given
    .replaceAll(/\b(?:9080|9318|9317|8080|4318|4317)\b/g, (port) => ports[port]!)
    .replace("http {", `http {\n${temporary.join("\n")}`);
  const path = join(folder, name);
  await writeFile(path, text);
  const said: string[] = [];
  const child: ChildProcess = spawn(name, args(path), { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  while (!(await isOpen(grpc))) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${said.join("")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const end = async (): Promise<void> => {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  return {
    events: `http://127.0.0.1:${events}`,
    otlp: `http://127.0.0.1:${otlp}`,
    grpc: `127.0.0.1:${grpc}`,
    end,
  };
}

function portOf(address: string): string {
  return address.split(":").at(-1)!;
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

const asItIs = (bytes: Buffer): Buffer => bytes;
const stored = (pipeline_id: string): number => running.engine.health(pipeline_id).stream!.messages;

describe.each(Object.keys(proxies) as (keyof typeof proxies)[])("behind %s", (name) => {
  const obstacle = obstacleOf(name);
  let proxy: Proxy;

  beforeAll(async () => {
    if (obstacle === undefined) proxy = await start(name);
  });
  afterAll(() => (obstacle === undefined ? proxy.end() : undefined));

  const path = "/v1/pipelines/web-hook/topics/input/events";
  const sendEvent = (given: string): Promise<Response> =>
    fetch(`${proxy.events}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": given },
      body: '{"id": 1, "level": "info"}',
    });

  /** An export that is being stored, so that others wait for their turn; `end` resolves with what it is answered. */
  async function beingStored(): Promise<{ end: () => Promise<number> }> {
    const count = arrived.length;
    disk.hold();
    const first = post(proxy.otlp, "logs", { ...protobufType, ...to }, logs(1));
    await arrival(() => arrived.length, count + 1);
    await disk.isReached();
    const end = async (): Promise<number> => {
      disk.letGo();
      return (await first).status;
    };
    return { end };
  }

  test("events and exports are taken, large ones too, and refusals come as they are", async ({ skip }) => {
    requireOrSkip(obstacle, skip);
    expect((await sendEvent(token)).status).toBe(202);
    expect((await sendEvent("wrong")).status).toBe(401);
    const large = Buffer.concat([logs(1), Buffer.from([0x7a, 0x80, 0x80, 0xc0, 0x01]), Buffer.alloc(3 * 1024 * 1024)]);
    expect((await post(proxy.otlp, "logs", { ...protobufType, ...to }, large)).status).toBe(200);
    const sender = new GrpcSender(proxy.grpc);
    expect((await sender.send("logs", to, large)).status).toBe(status.OK);
    expect((await sender.send("logs", {}, logs(1))).status).toBe(status.INVALID_ARGUMENT);
    disk.free = 0;
    // The room is looked at once a second.
    const exported = () => post(proxy.otlp, "logs", { ...protobufType, ...to }, logs(1));
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
    const leaving = request(`${proxy.otlp}/v1/logs`, {
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
