/** @module-tag rest */
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { readRoutes } from "../../reconciler/api/routes.ts";
import { childrenOf, pipelineFile, sluice, Workplace } from "../support/daemon.ts";
import { echoingClickHouse, echoingGit, echoingKafka, encodings, type EchoingPeer } from "./echoing-peers.ts";

/** Secrets of every kind, in every place, which every peer repeats in its answers: none of them comes out (docs/security.md). */

vi.setConfig({ testTimeout: 180_000 });

const run = promisify(execFile);

/** With characters that each encoding spells in its own way. */
const canary = (name: string): string => `c4n/ry+"${name}"&=%ü`;
const byReference = {
  SLUICE_SECRET_CLICKHOUSE: canary("clickhouse"),
  SLUICE_SECRET_KAFKA: canary("kafka"),
  SLUICE_SECRET_TOKEN: canary("token"),
  GIT_PASSWORD: canary("git"),
  HOOK_SECRET: canary("hook"),
};
const inPlainText = {
  clickhouse: canary("plain-clickhouse"),
  kafka: canary("plain-kafka"),
  token: canary("plain-token"),
};
const canaries = [...Object.values(byReference), ...Object.values(inPlainText)];

let place: Workplace;
let peers: Record<"clickhouse" | "kafka" | "git", EchoingPeer>;
/** Everything that was seen, with where. */
let told: { where: string; text: string }[];

beforeEach(async () => {
  place = await Workplace.make();
  told = [];
  peers = { clickhouse: await echoingClickHouse(), kafka: await echoingKafka(), git: await echoingGit() };
});

afterEach(async () => {
  await place.clean();
  for (const peer of Object.values(peers)) peer.close();
});

function tell(where: string, text: string): void {
  told.push({ where, text });
}

/** A pipeline that writes to the ClickHouse that echoes. */
function toClickHouse(pipeline_id: string, password: string, token: string): string {
  const params = {
    host: "127.0.0.1",
    port: "9000",
    http_port: String(peers.clickhouse.port),
    database: "d",
    username: "sluice",
    password,
  };
  return pipelineFile(pipeline_id)
    .replace("{ host: embedded, database: default }", JSON.stringify(params))
    .replace("${env:SLUICE_SECRET_TOKEN}", JSON.stringify(token));
}

/** A pipeline that reads from the Kafka that echoes. */
function fromKafka(pipeline_id: string, password: string): string {
  return JSON.stringify({
    version: "v3",
    pipeline_id,
    sources: [
      {
        type: "kafka",
        source_id: "input",
        topic: "orders",
        connection_params: {
          brokers: [`127.0.0.1:${peers.kafka.port}`],
          protocol: "SASL_PLAINTEXT",
          mechanism: "PLAIN",
          username: "sluice",
          password,
        },
        schema_fields: [{ name: "id", type: "int" }],
      },
    ],
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "default" },
      table: "orders",
      mapping: [{ name: "id", column_name: "id", column_type: "Int64" }],
    },
    "x-sluice": { create_table: true },
  });
}

/** What a daemon says while its peers are met, on every way that leads out of it: commands about the first pipelines alone. */
async function listenTo(daemon: Daemon, ids: readonly string[]): Promise<void> {
  for (const { path } of readRoutes) {
    for (const id of path.includes("{id}") ? ids : [""]) {
      const url = path.replace("{id}", id);
      tell(`GET ${url}`, await (await fetch(`${daemon.api}${url}`)).text());
    }
  }
  for (const path of ["/metrics", "/", "/healthz", "/readyz"]) {
    tell(`GET ${path}`, await (await fetch(`${daemon.api}${path}`)).text());
  }
  const commands = [
    ["get"],
    ["history"],
    ...ids.slice(0, 2).flatMap((id) => [
      ["get", id],
      ["health", id],
    ]),
    ...ids.slice(0, 1).map((id) => ["dlq", "list", id]),
  ];
  for (const args of commands) {
    const { stdout, stderr } = await run(process.execPath, [sluice, ...args, "--data-dir", daemon.dataDir]).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    tell(`sluice ${args.join(" ")}`, stdout + stderr);
  }
}

/** The command lines of the process and of all that it started, again and again. */
async function watchProcesses(daemon: Daemon, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const list = await run("ps", ["-eo", "pid=,ppid=,args="]);
    const family = new Set([daemon.pid, ...childrenOf(daemon.pid, "")]);
    const lines = list.stdout.split("\n").filter((line) => {
      const [pid, parent] = line.trim().split(/\s+/, 2).map(Number);
      if (!family.has(pid!) && !family.has(parent!)) return false;
      family.add(pid!);
      return true;
    });
    tell("ps", lines.join("\n"));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function filesBelow(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) tell(entry.name, await readFile(join(entry.parentPath, entry.name), "latin1"));
  }
}

/** Where a canary was found, and in which encoding. */
function found(secrets: readonly string[]): string[] {
  return told.flatMap(({ where, text }) =>
    secrets.flatMap((secret) =>
      Object.entries(encodings).flatMap(([name, encode]) =>
        [encode(secret), latin1(encode(secret))].some((spelled) => text.includes(spelled))
          ? [`${secret} as ${name} in ${where}`]
          : [],
      ),
    ),
  );
}

const latin1 = (text: string): string => Buffer.from(text).toString("latin1");

function hasHeard(secret: string): boolean {
  return peers.clickhouse.heard.has(secret) || peers.kafka.heard.has(secret);
}

/** A program that, asked by a signal, throws an exception that nothing catches, and that repeats every secret of the process. */
async function throwing(): Promise<string> {
  const known = canaries.filter((secret) => secret !== byReference.GIT_PASSWORD);
  const spelled = known.flatMap((secret) => Object.values(encodings).map((encode) => encode(secret)));
  const program = join(place.path, "crash.mjs");
  await writeFile(
    program,
    `import { isMainThread } from "node:worker_threads";
    const text = ${JSON.stringify(spelled.join("\n"))};
    if (isMainThread) process.on("SIGUSR2", () => setImmediate(() => { throw new Error("planted: " + text); }));`,
  );
  return program;
}

test("pipelines whose peers repeat their passwords in five encodings, and an exception that ends the process and repeats every secret", async () => {
  const reference = (name: keyof typeof byReference): string => `\${env:${name}}`;
  const files = {
    "ch-by-reference": toClickHouse(
      "ch-by-reference",
      reference("SLUICE_SECRET_CLICKHOUSE"),
      reference("SLUICE_SECRET_TOKEN"),
    ),
    "kafka-in-plain-text": fromKafka("kafka-in-plain-text", inPlainText.kafka),
    "kafka-by-reference": fromKafka("kafka-by-reference", reference("SLUICE_SECRET_KAFKA")),
    "ch-in-plain-text": toClickHouse("ch-in-plain-text", inPlainText.clickhouse, inPlainText.token),
  };
  for (const [id, text] of Object.entries(files)) await place.write(`${id}.yaml`, text);
  const daemon = await place.start({
    args: [
      "--dir",
      place.pipelines,
      "--log-level",
      "debug",
      "--hook",
      "127.0.0.1:0",
      "--hook-secret",
      reference("HOOK_SECRET"),
    ],
    env: { ...byReference, NODE_OPTIONS: `--import ${await throwing()}` },
    onLine: (line) => tell("the log", line),
  });
  const end = new AbortController();
  const watching = watchProcesses(daemon, end.signal);
  const ids = Object.keys(files);
  await daemon.until(
    async () =>
      [
        byReference.SLUICE_SECRET_CLICKHOUSE,
        byReference.SLUICE_SECRET_KAFKA,
        inPlainText.clickhouse,
        inPlainText.kafka,
      ].every((secret) => hasHeard(secret))
        ? true
        : undefined,
    "to log in everywhere",
  );
  const url = `${daemon.events}/v1/pipelines/ch-by-reference/topics/input/events`;
  for (const token of [...canaries, "wrong"]) {
    await fetch(url, {
      method: "POST",
      headers: { "x-pipeline-access-token": encodeURIComponent(token) },
      body: `{"id":${JSON.stringify("x")}}`,
    });
  }
  await daemon.until(async () => {
    const texts = JSON.stringify(await daemon.get("/api/v1/reconcile"));
    return texts.includes("uthentication") ? true : undefined;
  }, "to say that a login failed");
  await listenTo(daemon, ids);
  end.abort();
  await watching;
  process.kill(daemon.pid, "SIGUSR2");
  await daemon.ended();
  const log = told.filter(({ where }) => where === "the log").map(({ text }) => text);
  expect(log.join("\n")).toContain("uthentication");
  expect(log.join("\n")).toMatch(/Sluice ends because of a defect.*\n.*Error: planted: /);
  expect(log.join("\n")).toMatch(/at .*crash\.mjs/);
  expect(found(canaries)).toEqual([]);
  told = [];
  await filesBelow(place.dataDir);
  expect(told.length).toBeGreaterThan(5);
  expect(found(Object.values(byReference))).toEqual([]);
});

test("a Git server that repeats its password", async () => {
  await writeFile(join(place.path, "unrelated"), "");
  const repo = `http://127.0.0.1:${peers.git.port}/repository.git`;
  const daemon = await place.start({
    args: ["--repo", repo, "--git-username", "sluice", "--git-password", "${env:GIT_PASSWORD}", "--log-level", "debug"],
    env: byReference,
    onLine: (line) => tell("the log", line),
  });
  const end = new AbortController();
  const watching = watchProcesses(daemon, end.signal);
  await daemon.until(async () => {
    const texts = JSON.stringify(await daemon.get("/api/v1/reconcile"));
    return peers.git.heard.size > 0 && /403|refused|failed/i.test(texts) ? true : undefined;
  }, "to be refused");
  await listenTo(daemon, []);
  end.abort();
  await watching;
  await daemon.stop();
  await filesBelow(place.dataDir);
  expect([...peers.git.heard]).toEqual([byReference.GIT_PASSWORD]);
  expect(found(canaries)).toEqual([]);
});
