import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Room } from "../../../engine/index.ts";
import { hookSecrets } from "../../../reconciler/cli/daemon/daemon-settings.ts";
import { listenHttp } from "../../../reconciler/cli/daemon/listen.ts";
import type { Listener } from "../../../reconciler/cli/daemon/listen.ts";
import { resolveSettings } from "../../../reconciler/cli/invocation/resolve-settings.ts";
import { Hook } from "../../../reconciler/hook/hook.ts";
import type { Reconciler } from "../../../reconciler/reconciler.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";
import { createHookTelemetry } from "../../../reconciler/status/hook-telemetry.ts";
import { Commits } from "../../support/commits.ts";
import { keptLog } from "../../support/engine.ts";
import { World, orders } from "../../unit/apply/world.ts";

const soon = { timeout: 60_000 };

const secret = "the secret of this month";
const next = "the secret of next month";
const most = 100_000;

let world: World;
let source: Commits;
let reconciler: Reconciler;
let folder: string;
let secretFile: string;
let log: ReturnType<typeof keptLog>;
let registry: Registry;
let hook: Hook;
let listener: Listener;
let agent: Agent;
let ending: AbortController;
let run: Promise<void>;

beforeEach(async () => {
  world = await World.make();
  source = new Commits();
  source.push("First", orders);
  log = keptLog();
  registry = new Registry();
  reconciler = world.reconciler({ source, log, registry, interval: 3_600_000 });
  folder = await mkdtemp(join(tmpdir(), "sluice-hook-"));
  secretFile = join(folder, "secret");
  await writeFile(secretFile, `${secret}\n`);
  const flags = { hook: "127.0.0.1:0", hook_secret: `\${file:${secretFile}}` };
  const settings = resolveSettings("run", { flags, env: {}, file: [] });
  hook = new Hook({
    secrets: await hookSecrets(settings, new FileAndEnvSecrets({})),
    branch: () => source.description.branch,
    followed: () => reconciler.tip,
    onPush: () => reconciler.trigger("webhook"),
    telemetry: createHookTelemetry(log, registry),
    limits: { most, arriving: new Room(10 * most), timeout: 3_000 },
  });
  listener = await listenHttp("hook", settings, hook.handle);
  agent = new Agent({ keepAlive: true, maxSockets: 100 });
  ending = new AbortController();
  run = reconciler.run(ending.signal);
  await expect.poll(() => reconciler.snapshot().lastTurn, soon).toBeDefined();
});

afterEach(async () => {
  agent.destroy();
  await listener.close();
  await hook.close();
  ending.abort();
  await run;
  await world.remove();
  await rm(folder, { recursive: true, force: true });
});

const push = (ref = "refs/heads/main") => Buffer.from(JSON.stringify({ ref }));
const pushOf = (commit: string) => Buffer.from(JSON.stringify({ ref: "refs/heads/main", after: commit }));
const signed = (body: Buffer, key = secret) => ({
  "content-type": "application/json",
  "x-github-event": "push",
  "x-hub-signature-256": `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
});

async function send(
  body: Buffer,
  headers: OutgoingHttpHeaders,
  { path = "/hook", method = "POST" } = {},
): Promise<IncomingMessage> {
  const [host, port] = listener.address.split(":");
  const length = headers["transfer-encoding"] === undefined ? { "content-length": body.length } : {};
  const asked = request({ host, port, path, method, agent, headers: { ...length, ...headers } });
  // Where the answer comes before the body has gone, the connection may break while it goes.
  asked.on("error", () => undefined);
  const answered = once(asked, "response") as Promise<[IncomingMessage]>;
  asked.end(body);
  const [response] = await answered;
  response.resume();
  return response;
}

const statusOf = async (...given: Parameters<typeof send>) => (await send(...given)).statusCode;

/** The results that were counted; each begins at 0. */
async function counted(): Promise<Record<string, number>> {
  const { values = [] } = (await registry.getSingleMetric("sluice_gitops_webhook_requests_total")?.get()) ?? {};
  const met = values.filter(({ value }) => value > 0);
  return Object.fromEntries(met.map(({ labels, value }) => [String(labels["result"]), value]));
}

describe("a push", () => {
  test("is carried out soon, and is told of as its trigger", async () => {
    const sha = source.push("Second", orders, { id: "sales-eu" });
    expect(await statusOf(push(), signed(push()))).toBe(202);
    await expect.poll(() => world.engine.pipelines.has("sales-eu"), soon).toBe(true);
    await expect.poll(() => reconciler.snapshot().history[0]?.revision, soon).toBe(`main@sha1:${sha}`);
    expect(reconciler.snapshot().history[0]?.trigger).toBe("webhook");
  });

  test.each([
    ["GitLab", { "x-gitlab-event": "Push Hook", "x-gitlab-token": secret }],
    [
      "Gitea",
      { "x-gitea-event": "push", "x-gitea-signature": createHmac("sha256", secret).update(push()).digest("hex") },
    ],
    ["Bitbucket", { "x-event-key": "repo:push", "x-hub-signature": signed(push())["x-hub-signature-256"] }],
    ["Azure DevOps, by Basic", { authorization: `Basic ${Buffer.from(`sluice:${secret}`).toString("base64")}` }],
    ["Azure DevOps, by a header", { "x-hook-secret": secret }],
    ["any host", { "x-signature": signed(push())["x-hub-signature-256"] }],
  ])("of %s asks for a fetch", async (_, headers) => {
    const before = source.fetched;
    expect(await statusOf(push(), headers)).toBe(202);
    await expect.poll(() => source.fetched, soon).toBe(before + 1);
  });

  test("of another branch, a ping and another event ask for none", async () => {
    const before = source.fetched;
    const other = push("refs/heads/next");
    expect(await statusOf(other, signed(other))).toBe(200);
    expect(await statusOf(push(), { ...signed(push()), "x-github-event": "ping" })).toBe(200);
    expect(await statusOf(push(), { ...signed(push()), "x-github-event": "issues" })).toBe(200);
    expect(await counted()).toEqual({ ignored: 3 });
    expect(source.fetched).toBe(before);
  });

  test("that comes before its commit shows is asked for again", async () => {
    const body = pushOf(Commits.shaOf(1, "Second"));
    const before = source.fetched;
    expect(await statusOf(body, signed(body))).toBe(202);
    await expect.poll(() => source.fetched, soon).toBe(before + 1);
    const sha = source.push("Second", orders, { id: "sales-eu" });
    await expect.poll(() => reconciler.snapshot().lastAppliedRevision, soon).toBe(`main@sha1:${sha}`);
    expect(reconciler.snapshot().history[0]?.trigger).toBe("webhook");
  });

  test("200 at once, and each sent again, are answered and cause one or two turns", async () => {
    const release = source.hold();
    const before = source.fetched;
    const bodies = Array.from({ length: 200 }, (_, index) => Buffer.concat([push(), Buffer.from(" ".repeat(index))]));
    const statuses = await Promise.all([...bodies, ...bodies].map((body) => statusOf(body, signed(body))));
    expect(new Set(statuses)).toEqual(new Set([202]));
    const last = source.push("The last of them", orders, { id: "sales-eu" });
    // What a push would still have asked for when its second is over.
    await hook.close();
    release();
    await expect.poll(() => reconciler.snapshot().lastAppliedRevision, soon).toBe(`main@sha1:${last}`);
    const turns = source.fetched - before;
    expect(turns).toBeGreaterThanOrEqual(1);
    expect(turns).toBeLessThanOrEqual(2);
    expect(await counted()).toEqual({ accepted: 400 });
  });
});

describe("a secret", () => {
  test("is changed without a restart, and both are valid meanwhile", async () => {
    const both = async () => [await statusOf(push(), signed(push())), await statusOf(push(), signed(push(), next))];
    expect(await both()).toEqual([202, 401]);
    await writeFile(secretFile, `${secret}\n${next}\n`);
    expect(await both()).toEqual([202, 202]);
    await writeFile(secretFile, `${next}\n`);
    expect(await both()).toEqual([401, 202]);
  });

  test("that is gone is told once, and no push is believed", async () => {
    await rm(secretFile);
    expect([await statusOf(push(), signed(push())), await statusOf(push(), signed(push()))]).toEqual([503, 503]);
    await writeFile(secretFile, "");
    expect(await statusOf(push(), signed(push(), ""))).toBe(503);
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(2);
    expect(await counted()).toEqual({ failed: 3 });
  });

  test("never shows, nor does a body", async () => {
    const body = Buffer.from('{"ref": "refs/heads/main", "canary": "a word that is not to be seen"}');
    await send(body, signed(body));
    await send(body, { "x-gitlab-token": "a wrong token of somebody" });
    await send(Buffer.from("{"), signed(Buffer.from("{")));
    const said = JSON.stringify(log.lines) + (await registry.metrics()) + JSON.stringify(reconciler.snapshot());
    for (const word of [secret, "canary", "a wrong token of somebody", "sha256="]) expect(said).not.toContain(word);
    expect(await counted()).toEqual({ accepted: 1, bad_signature: 1, malformed: 1 });
  });
});

describe("what is refused", () => {
  test.each([
    ["another path", 404, { path: "/" }],
    ["a path behind it", 404, { path: "/hook/x" }],
    ["another method", 405, { method: "GET" }],
  ])("%s", async (_, status, where) => {
    expect(await statusOf(Buffer.alloc(0), signed(Buffer.alloc(0)), where)).toBe(status);
  });

  test.each([
    ["no signature", {}],
    ["a wrong signature", signed(push(), next)],
    ["the signature of another body", signed(Buffer.from("{}"))],
    ["the old signature of GitHub", { "x-hub-signature": `sha1=${"0".repeat(40)}` }],
  ])("%s", async (_, headers) => {
    const before = source.fetched;
    expect(await statusOf(push(), headers)).toBe(401);
    expect([await counted(), source.fetched]).toEqual([{ bad_signature: 1 }, before]);
  });

  test("a body that is too large, before it is read, and where it does not say how large it is", async () => {
    const large = randomBytes(most + 1);
    const told = await raw(
      `POST /hook HTTP/1.1\r\nhost: x\r\nx-gitlab-token: ${secret}\r\ncontent-length: 99999999999\r\n\r\n`,
    );
    expect(told).toMatch(/^HTTP\/1\.1 413 /);
    expect(await statusOf(large, { ...signed(large), "transfer-encoding": "chunked" })).toBe(413);
    expect(await statusOf(large.subarray(1), signed(large.subarray(1)))).toBe(400);
    expect(await counted()).toEqual({ too_large: 2, malformed: 1 });
  });

  test("an unsigned body is not waited for", async () => {
    expect(await raw("POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{")).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("a sender that is slow, without a delay for others", async () => {
    const slow = raw(`POST /hook HTTP/1.1\r\nhost: x\r\nx-gitlab-token: ${secret}\r\ncontent-length: 1000\r\n\r\n{`);
    expect(await statusOf(push(), signed(push()))).toBe(202);
    expect(await slow).toMatch(/^HTTP\/1\.1 408 /);
    expect(await counted()).toEqual({ accepted: 1, malformed: 1 });
  });

  test("a sender that goes away, and one that is no HTTP", async () => {
    const socket = await connected();
    socket.end(`POST /hook HTTP/1.1\r\nhost: x\r\nx-gitlab-token: ${secret}\r\ncontent-length: 1000\r\n\r\n{`);
    expect(await raw("\u0016\u0003\u0001")).toMatch(/^HTTP\/1\.1 400 /);
    await expect.poll(counted, soon).toEqual({ malformed: 1 });
    socket.destroy();
    expect(await statusOf(push(), signed(push()))).toBe(202);
  });

  test("who is refused often: with the time to wait, and no push of the same address", async () => {
    for (let count = 0; count < 20; count += 1) expect(await statusOf(push(), {})).toBe(401);
    for (const headers of [{}, signed(push(), next), { "x-gitlab-token": next }]) {
      const refused = await send(push(), headers);
      expect(refused.statusCode).toBe(429);
      expect(refused.headers["retry-after"]).toMatch(/^[123]$/);
    }
    expect(await statusOf(push(), signed(push()))).toBe(202);
    expect(await counted()).toEqual({ bad_signature: 20, rate_limited: 3, accepted: 1 });
    await hook.close();
    const warned = log.lines.filter(({ level }) => level === "warn");
    expect(warned).toMatchObject([{ fields: { bad_signature: 20, rate_limited: 3, last_from: "127.0.0.1" } }]);
  });
});

test("bodies of others that take all the room keep no push out", async () => {
  const head = `POST /hook HTTP/1.1\r\nhost: x\r\nx-signature: ${signed(push(), next)["x-hub-signature-256"]}`;
  const others = await Promise.all(Array.from({ length: 40 }, connected));
  for (const socket of others) socket.write(`${head}\r\ncontent-length: ${most}\r\n\r\n${" ".repeat(most - 1)}`);
  const large = Buffer.concat([push(), Buffer.alloc(most - 1000, " ")]);
  const before = source.fetched;
  expect(await statusOf(large, signed(large))).toBe(202);
  await expect.poll(() => source.fetched, soon).toBeGreaterThan(before);
  for (const socket of others) socket.destroy();
});

test("500 connections that say nothing keep nobody out", async () => {
  const silent = await Promise.all(Array.from({ length: 500 }, connected));
  for (const socket of silent) socket.write(`POST /hook HTTP/1.1\r\nhost: x\r\nx-gitlab-token: ${secret}\r\n`);
  expect(await statusOf(push(), signed(push()))).toBe(202);
  for (const socket of silent) socket.destroy();
});

async function connected(): Promise<Socket> {
  const [host = "", port] = listener.address.split(":");
  const socket = connect(Number(port), host).on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** What is answered to this text, up to the end of the connection. */
async function raw(text: string): Promise<string> {
  const socket = await connected();
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => void chunks.push(chunk));
  socket.write(text);
  await once(socket, "close");
  return Buffer.concat(chunks).toString();
}
