import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Daemon, DaemonOptions, Reconcile } from "../../examples/quickstart/daemon.ts";
import { childrenOf, pipelineFile, tokenEnv, Workplace } from "../support/daemon.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { echoed, partsOf } from "./echoes.ts";
import { type HostileClickHouse, hostileClickHouse } from "./hostile-clickhouse.ts";

/** Who writes a pipeline file names the server that Sluice connects to: the operator says which may be named. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let place: Workplace;
let daemon: Daemon;
let logged: string[];
/** A server of the operator that is none of the author's business. */
let internal: HostileClickHouse;

const page = "internal-page-of-the-operator";

/** A server that is no ClickHouse. */
const foreign = (): Promise<HostileClickHouse> =>
  hostileClickHouse(() => ({ body: page, headers: { "Content-Type": "text/html" } }), { isForeign: true });

async function openPlace(): Promise<void> {
  place = await Workplace.make();
  logged = [];
  internal = await foreign();
}

async function closePlace(): Promise<void> {
  internal.close();
  await place.clean();
}

async function start({ args = [], dataDir = place.dataDir, env = {} }: Partial<DaemonOptions>): Promise<void> {
  await place.write("orders.yaml", pipelineFile("orders"));
  daemon = await place.start({
    args: ["--dir", place.pipelines, ...args],
    dataDir,
    env: { ...tokenEnv, ...env },
    onLine: (line) => logged.push(line),
  });
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
async function said(pipeline_id: string): Promise<string[]> {
  const reconcile = await daemon.get<Reconcile>("/api/v1/reconcile");
  const health: unknown = await daemon.health(pipeline_id).catch(() => undefined);
  return [...textsIn(reconcile), ...textsIn(health)];
}

function until(pattern: RegExp, pipeline_id: string): Promise<string> {
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
  for (const index of hosts.keys()) expect(await until(ofHost(index), `attack-${index}`)).toContain("targets");
  expect(internal.asked).toEqual([]);
}

/** Files whose host is one for some parsers alone are refused as they are read. */
async function unreadableHosts(hosts: string[]): Promise<void> {
  for (const [index, host] of hosts.entries()) {
    const pipeline_id = `unreadable-${index}`;
    await place.write(`${pipeline_id}.yaml`, writingTo(host, { pipeline_id }));
    const isRefusal = (line: string): boolean => line.includes(`${pipeline_id}.yaml`) && line.includes("HOST");
    await daemon.until(() => Promise.resolve(logged.find(isRefusal)), `to refuse ${pipeline_id}.yaml`);
  }
  expect(internal.asked).toEqual([]);
}

/** Writes an event by the embedded ClickHouse; resolves with the pid of its process. */
async function running(): Promise<number> {
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

/** All that can be seen of a pipeline. */
async function shown(pipeline_id: string): Promise<string> {
  const metrics = await (await fetch(`${daemon.api}/metrics`)).text();
  return [...(await said(pipeline_id)), ...logged, metrics].join("\n");
}

describe("by default", () => {
  const password = "kX/9+qz staple-Horse77";

  beforeAll(async () => {
    await openPlace();
    await start({ args: ["--log-level", "debug"], env: { SLUICE_SECRET_CH: password } });
  });

  afterAll(closePlace);

  test("an author connects to none of this link, nor to that which gives credentials, nor to a database of ClickHouse itself", async () => {
    await refusedHosts(["169.254.169.254", "[::ffff:169.254.169.254]", "fe80::1"], 80, /is link-local/);
    await unreadableHosts(["2852039166", "0xa9fe.0xa9fe"]);

    const system = pipelineFile("system-0").replace("database: default", "database: System");
    await place.write("system-0.yaml", system);
    for (const [index, database] of ["system", "information_schema", "INFORMATION_SCHEMA"].entries()) {
      const pipeline_id = `system-${index + 1}`;
      await place.write(`${pipeline_id}.yaml`, writingTo("127.0.0.1", { database, pipeline_id }));
    }
    for (const index of [0, 1, 2, 3]) {
      const isRefusal = (line: string): boolean =>
        line.includes(`system-${index}.yaml`) && line.includes("SYSTEM_DATABASE");
      await daemon.until(() => Promise.resolve(logged.find(isRefusal)), `to refuse file ${index}`);
    }
    expect(internal.asked).toEqual([]);
  });

  test("a page of a server that is no ClickHouse is shown nowhere", async () => {
    const server = await foreign();
    await place.write("shows-a-page.yaml", writingTo("127.0.0.1", { port: server.port, pipeline_id: "shows-a-page" }));
    expect(await until(/a body of \d+ characters/, "shows-a-page")).toContain("(text/html)");
    expect(await shown("shows-a-page")).not.toContain(page);
    server.close();
  });

  test("a password that a server sends back is shown nowhere, whatever spells it", async () => {
    const error = `Code: 516. DB::Exception: ${echoed("ada", password, 6)} (AUTHENTICATION_FAILED)`;
    const headers = { "X-ClickHouse-Exception-Code": "516" };
    const server = await hostileClickHouse(() => ({ status: 403, headers, body: error }));
    const login = ', username: ada, password: "${env:SLUICE_SECRET_CH}"';
    await place.write(
      "says-it-again.yaml",
      writingTo("127.0.0.1", { port: server.port, pipeline_id: "says-it-again", login }),
    );
    await until(/AUTHENTICATION_FAILED/, "says-it-again");
    const all = await shown("says-it-again");
    server.close();
    for (const part of partsOf("ada", password)) expect(all).not.toContain(part);
  });

  test("the embedded ClickHouse listens on no port, only on a socket of its owner", async ({ skip }) => {
    const isLinux = process.platform === "linux";
    requireOrSkip(isLinux ? undefined : "reads the sockets of a process in /proc, which only Linux has", skip);
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

  test("the embedded ClickHouse is not reached by another user of the machine", async ({ skip }) => {
    requireOrSkip(process.getuid?.() === 0 ? undefined : "becomes another user, which only root may", skip);
    await running();
    await chmod(place.path, 0o755);
    const socket = join(place.dataDir, "clickhouse", "http.sock");
    const program = `require("net").connect(${JSON.stringify(socket)}).on("error", (e) => console.log(e.code)).on("connect", () => { console.log("in"); process.exit() })`;
    const nobody = spawnSync(process.execPath, ["-e", program], { uid: 65534, gid: 65534, cwd: "/", encoding: "utf8" });
    expect(`${nobody.stdout}${nobody.error?.message ?? ""}`).toMatch(/EACCES/);
  });
});

describe("where the operator allows few targets, in a data dir whose path is too long for a socket", () => {
  let dataDir: string;
  const link = (): string => join(dataDir, "clickhouse", "http.sock");
  // Names with a 1 are allowed, so that those which spell an address of this machine are looked at.
  const args = ["--private-targets", "deny", "--targets", "*1*,localhost"];

  beforeAll(async () => {
    await openPlace();
    const deep = join(place.path, "x".repeat(60), "y".repeat(60));
    await mkdir(deep, { recursive: true });
    dataDir = join(deep, "data");
    await start({ args, dataDir });
  });

  afterAll(closePlace);

  test("an author connects to none of this machine, however its address is spelled", { tags: ["rest"] }, async () => {
    const literal = ["127.0.0.1", "0.0.0.0", "[::ffff:7f00:1]"];
    await refusedHosts(literal, internal.port, /private_targets denies/);
    await unreadableHosts([
      "2130706433",
      "0x7f.1",
      "0177.0.0.1",
      "127.0.0.1:8123:.example.com",
      "127.0.0.1:$${.example.com",
    ]);
    await place.write("local.yaml", writingTo("localhost", { pipeline_id: "local" }));
    expect(await until(/host localhost has the address .* private_targets denies/, "local")).toContain(
      "TARGET_NOT_ALLOWED",
    );
    await place.write("other.yaml", writingTo("db.example.org", { pipeline_id: "other" }));
    await until(/host db\.example\.org is not in targets/, "other");
    expect(internal.asked).toEqual([]);
  });

  test("a running pipeline goes on as it is where its file names another target", { tags: ["rest"] }, async () => {
    const pid = await running();
    await place.write("orders.yaml", writingTo("127.0.0.1", { pipeline_id: "orders" }));
    expect(await until(/orders.*private_targets denies/, "orders")).toContain(
      "adding 127.0.0.1 to targets in sluice.yaml",
    );
    expect((await daemon.health("orders")).overall_status).toBe("Running");
    expect(await running()).toBe(pid);
    expect(internal.asked).toEqual([]);
  });

  test(
    "the embedded ClickHouse is there again after kill -9 of both processes, whose socket is left",
    { tags: ["rest"] },
    async () => {
      const pid = await running();
      await daemon.stop("SIGKILL");
      expect((await stat(link())).isSocket()).toBe(true);
      await start({ args, dataDir });
      expect(await running()).not.toBe(pid);
      expect((await daemon.health("orders")).counters.rows_written).toBeGreaterThan(0);
    },
  );

  test("its socket lies elsewhere, in a folder of its owner, and goes when it ends", { tags: ["rest"] }, async () => {
    await running();
    const path = await readlink(link());
    expect((await stat(path)).isSocket()).toBe(true);
    expect((await stat(join(path, ".."))).mode & 0o777).toBe(0o700);
    await daemon.stop("SIGTERM");
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
