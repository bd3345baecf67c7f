import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, readlink, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { childrenOf, pipelineFile, tokenEnv, Workplace } from "../support/daemon.ts";
import { echoed, partsOf } from "./echoes.ts";
import { type HostileClickHouse, hostileClickHouse } from "./hostile-clickhouse.ts";

/** Who writes a pipeline file names the server that Sluice connects to: the operator says which may be named. */

vi.setConfig({ testTimeout: 90_000 });

let place: Workplace;
let daemon: Daemon;
/** A server of the operator that is none of the author's business. */
let internal: HostileClickHouse;

const page = "internal-page-of-the-operator";

beforeEach(async () => {
  place = await Workplace.make();
  internal = await hostileClickHouse(() => ({ body: page, headers: { "Content-Type": "text/html" } }), {
    isForeign: true,
  });
});

afterEach(async () => {
  internal.close();
  await place.clean();
});

async function started(args: string[] = [], env: Record<string, string> = {}): Promise<void> {
  daemon = await place.start({ args: ["--dir", place.pipelines, ...args], env: { ...tokenEnv, ...env } });
}

function writingTo(
  host: string,
  { port = internal.port, pipeline_id = "attack", database = "d", login = ", username: u, password: x" } = {},
): string {
  const params = `{ host: "${host}", port: "9000", http_port: "${port}", database: ${database}${login} }`;
  return pipelineFile(pipeline_id).replace("{ host: embedded, database: default }", params);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** What the API says of the file and its pipeline. */
async function said(pipeline_id = "attack"): Promise<string[]> {
  const reconcile = await daemon.get<Reconcile>("/api/v1/reconcile");
  const health: unknown = await daemon.health(pipeline_id).catch(() => undefined);
  return [...textsIn(reconcile), ...textsIn(health)];
}

function until(pattern: RegExp, pipeline_id?: string): Promise<string> {
  return daemon.until(
    async () => (await said(pipeline_id)).find((text) => pattern.test(text)),
    `to say ${pattern.source}`,
  );
}

/** A pipeline for each host, and what is said of each; none of them gets a connection. */
async function refusedHosts(hosts: string[], port: number, reason: RegExp): Promise<void> {
  for (const [index, host] of hosts.entries()) {
    await place.write(`attack-${index}.yaml`, writingTo(host, { port, pipeline_id: `attack-${index}` }));
  }
  const ofHost = (index: number): RegExp => new RegExp(`attack-${index}: .*${reason.source}`);
  for (const index of hosts.keys()) expect(await until(ofHost(index), `attack-${index}`)).toContain("targets:");
  expect(internal.asked).toEqual([]);
}

/** Starts a pipeline on it; resolves with the pid of its process. */
async function running(): Promise<number> {
  await place.write("orders.yaml", pipelineFile("orders"));
  await started();
  const send = (): Promise<Response> =>
    fetch(`${daemon.events}/v1/pipelines/orders/topics/input/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": tokenEnv.SLUICE_SECRET_TOKEN },
      body: JSON.stringify({ id: "a", n: 1 }),
    });
  await daemon.until(async () => ((await send()).status === 202 ? true : undefined), "to take events");
  await daemon.settled("orders");
  return childrenOf(daemon.pid, "clickhouse.js")[0]!;
}

describe("an author connects to no server that the operator does not allow", () => {
  test("by default to none of this link, nor to that which gives credentials, nor to a database of ClickHouse itself", async () => {
    await started();
    const hosts = ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "fe80::1"];
    await refusedHosts(hosts, 80, /is link-local/);

    const system = pipelineFile("system-0").replace("database: default", "database: System");
    await place.write("system-0.yaml", system);
    for (const [index, database] of ["system", "information_schema", "INFORMATION_SCHEMA"].entries()) {
      const pipeline_id = `system-${index + 1}`;
      await place.write(`${pipeline_id}.yaml`, writingTo("127.0.0.1", { database, pipeline_id }));
    }
    for (const index of [0, 1, 2, 3]) {
      const isRefusal = (line: string): boolean =>
        line.includes(`system-${index}.yaml`) && line.includes("SYSTEM_DATABASE");
      await daemon.until(() => Promise.resolve(daemon.log.find(isRefusal)), `to refuse file ${index}`);
    }
    expect(internal.asked).toEqual([]);
  });

  test("without private targets to none of this machine, however its address is spelled", async () => {
    await started(["--private-targets", "deny"]);
    const literal = ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "0.0.0.0", "[::ffff:7f00:1]"];
    await refusedHosts(literal, internal.port, /private_targets denies/);
    await place.write("attack.yaml", writingTo("localhost"));
    expect(await until(/host localhost has the address .* private_targets denies/)).toContain("TARGET_NOT_ALLOWED");
    expect(internal.asked).toEqual([]);
  });

  test("a running pipeline goes on as it is where its file names another target", async () => {
    await place.write("attack.yaml", pipelineFile("attack"));
    await started(["--targets", "*.example.com"]);
    await daemon.until(async () => ((await said()).includes("Running") ? true : undefined), "to run");
    await place.write("attack.yaml", writingTo("127.0.0.1"));
    expect(await until(/is not in targets/)).toContain(`adding 127.0.0.1:${internal.port} to targets in sluice.yaml`);
    expect((await said()).includes("Running")).toBe(true);
    expect(internal.asked).toEqual([]);
  });
});

test("a page of a server that is no ClickHouse is shown nowhere", async () => {
  await started();
  await place.write("attack.yaml", writingTo("127.0.0.1"));
  expect(await until(/a body of \d+ characters/)).toContain("(text/html)");
  const metrics = await (await fetch(`${daemon.api}/metrics`)).text();
  expect([...(await said()), ...daemon.log, metrics].join("\n")).not.toContain(page);
});

test("a password that a server sends back is shown nowhere, whatever spells it", async () => {
  const password = "kX/9+qz staple-Horse77";
  const error = `Code: 516. DB::Exception: ${echoed("ada", password, 6)} (AUTHENTICATION_FAILED)`;
  const headers = { "X-ClickHouse-Exception-Code": "516" };
  const server = await hostileClickHouse(() => ({ status: 403, headers, body: error }));
  await started(["--log-level", "debug"], { SLUICE_SECRET_CH: password });
  const login = ', username: ada, password: "${env:SLUICE_SECRET_CH}"';
  await place.write("attack.yaml", writingTo("127.0.0.1", { port: server.port, login }));
  await until(/AUTHENTICATION_FAILED/);
  const metrics = await (await fetch(`${daemon.api}/metrics`)).text();
  const shown = [...(await said()), ...daemon.log, metrics].join("\n");
  server.close();
  for (const part of partsOf("ada", password)) expect(shown).not.toContain(part);
});

describe("the embedded ClickHouse", () => {
  test.skipIf(process.platform !== "linux")("listens on no port, only on a socket of its owner", async () => {
    const pid = await running();
    const sockets = await Promise.all(
      (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")),
    );
    const tcp = [await readFile(`/proc/${pid}/net/tcp`, "utf8"), await readFile(`/proc/${pid}/net/tcp6`, "utf8")];
    const listening = tcp.flatMap((table) => table.split("\n")).filter((line) => / 0A /.test(line));
    const inodes = sockets.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
    expect(listening.filter((line) => inodes.some((inode) => line.includes(` ${inode} `)))).toEqual([]);
    const folder = join(place.dataDir, "clickhouse");
    expect((await stat(join(folder, "http.sock"))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test.skipIf(process.getuid?.() !== 0)("is not reached by another user of the machine", async () => {
    await running();
    await chmod(place.path, 0o755);
    const socket = join(place.dataDir, "clickhouse", "http.sock");
    const program = `require("net").connect(${JSON.stringify(socket)}).on("error", (e) => console.log(e.code)).on("connect", () => { console.log("in"); process.exit() })`;
    const nobody = spawnSync(process.execPath, ["-e", program], { uid: 65534, gid: 65534, cwd: "/", encoding: "utf8" });
    expect(`${nobody.stdout}${nobody.error?.message ?? ""}`).toMatch(/EACCES/);
  });

  test("is there again after kill -9 of both processes, whose socket is left", async () => {
    const pid = await running();
    await daemon.stop("SIGKILL");
    expect((await stat(join(place.dataDir, "clickhouse", "http.sock"))).isSocket()).toBe(true);
    expect(await running()).not.toBe(pid);
    expect((await daemon.health("orders")).counters.rows_written).toBeGreaterThan(0);
  });
});

test("a data dir whose path is too long for a socket is used all the same", async () => {
  const deep = join(place.path, "x".repeat(60), "y".repeat(60));
  await mkdir(deep, { recursive: true });
  await writeFile(join(place.pipelines, "orders.yaml"), pipelineFile("orders"));
  daemon = await place.start({ dataDir: join(deep, "data"), env: tokenEnv });
  await daemon.until(
    async () =>
      (await daemon.health("orders").catch(() => undefined))?.overall_status === "Running" ? true : undefined,
    "to run",
  );
  const link = join(deep, "data", "clickhouse", "http.sock");
  const path = await daemon.until(() => readlink(link).catch(() => undefined), "to link the socket");
  expect((await stat(path)).isSocket()).toBe(true);
  expect((await stat(join(path, ".."))).mode & 0o777).toBe(0o700);
  await daemon.stop("SIGTERM");
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
});
