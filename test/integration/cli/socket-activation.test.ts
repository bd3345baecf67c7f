/** @module-tag rest */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { childrenOf, sluice } from "../../support/daemon.ts";

let folder: string;
let manager: ChildProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-sockets-"));
  await mkdir(join(folder, "pipelines"));
});

afterEach(async () => {
  if (manager !== undefined && manager.exitCode === null) {
    for (const pid of childrenOf(manager.pid!, "sluice.js")) process.kill(pid, "SIGKILL");
    manager.kill("SIGKILL");
    await once(manager, "exit");
  }
  await rm(folder, { recursive: true, force: true });
});

/** Starts Sluice twice, one after the other, as a service manager does that keeps the socket meanwhile. */
const twice = `for run in 1 2; do sh -c 'LISTEN_PID=$$ exec "$@"' sh "$@"; done`;

/** A socket that listens; the descriptor is what the library has no name for. */
async function listeningSocket(): Promise<{ port: number; fd: number; close: () => void }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { fd } = Reflect.get(server, "_handle") as { fd: number };
  return { port: (server.address() as AddressInfo).port, fd, close: () => server.close() };
}

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function ask(port: number): Promise<number> {
  const [response] = (await once(get({ port, host: "127.0.0.1", path: "/healthz", agent: false }), "response")) as [
    IncomingMessage,
  ];
  response.resume();
  return response.statusCode!;
}

test("connections wait in a socket of the service manager while Sluice is started again", async () => {
  const socket = await listeningSocket();
  const off = ["--api", "--otlp-grpc", "--otlp-http"].flatMap((name) => [name, "off"]);
  const run = [process.execPath, sluice, "run", "--dir", "pipelines", "--log-format", "json", ...off];
  manager = spawn("sh", ["-c", twice, "sh", ...run], {
    cwd: folder,
    env: { ...process.env, LISTEN_FDS: "1", LISTEN_FDNAMES: "events" },
    stdio: ["ignore", "ignore", "pipe", socket.fd],
  });
  socket.close();
  const lines: { msg: string; events?: string }[] = [];
  createInterface({ input: manager.stderr! }).on("line", (line) => {
    if (line.startsWith("{")) lines.push(JSON.parse(line) as { msg: string });
  });
  const said = (sentence: string): number => lines.filter(({ msg }) => msg === sentence).length;
  await until(() => said("Sluice is running.") === 1);
  expect(lines.find(({ msg }) => msg === "Sluice is running.")).toMatchObject({ events: `127.0.0.1:${socket.port}` });
  expect(await ask(socket.port)).toBe(200);
  const [first] = childrenOf(manager.pid!, "sluice.js");
  process.kill(first!, "SIGTERM");
  await until(() => said("Sluice is stopping.") === 1);
  const answers: Promise<number>[] = [];
  while (said("Sluice is running.") < 2) {
    answers.push(ask(socket.port));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const all = await Promise.all(answers);
  expect(all.length).toBeGreaterThan(0);
  expect(new Set(all)).toEqual(new Set([200]));
});
