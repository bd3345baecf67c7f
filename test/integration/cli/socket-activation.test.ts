/** @module-tag rest */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { childrenOf, sluice } from "../../support/daemon.ts";
import { GitRepository } from "../../support/git-repository.ts";

let folder: string;
let origin: GitRepository;
let manager: ChildProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-sockets-"));
  origin = await GitRepository.create();
  await origin.commit({ "README.md": "no pipelines" });
});

afterEach(async () => {
  if (manager !== undefined && manager.exitCode === null) {
    for (const pid of childrenOf(manager.pid!, "sluice.js")) process.kill(pid, "SIGKILL");
    manager.kill("SIGKILL");
    await once(manager, "exit");
  }
  await origin.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Starts Sluice twice, one after the other, as a service manager does that keeps the socket meanwhile. */
const twice = `for run in 1 2; do sh -c 'LISTEN_PID=$$ exec "$@"' sh "$@"; done`;

/**
 * A folder with a program `git` that notes what it was given of the sockets, and then is git. The descriptors below 3 are its own,
 * which are sockets too.
 */
async function notingGit(notes: string): Promise<string> {
  const programs = join(folder, "programs");
  await mkdir(programs);
  const descriptors = 'for fd in 3 4 5 6 7 8 9; do [ ! -S /dev/fd/$fd ] || echo "socket $fd"; done';
  const script = `#!/bin/sh\n{ echo ran; env | grep ^LISTEN_; ${descriptors}; } >> ${notes}\nPATH=\${PATH#*:} exec git "$@"\n`;
  await writeFile(join(programs, "git"), script, { mode: 0o755 });
  return programs;
}

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

test("connections wait in a socket of the service manager while Sluice is started again, and no program that it starts is given it", async () => {
  const notes = join(folder, "notes");
  const programs = await notingGit(notes);
  const socket = await listeningSocket();
  const off = ["--api", "--otlp-grpc", "--otlp-http"].flatMap((name) => [name, "off"]);
  const run = [process.execPath, sluice, "run", "--repo", origin.path, "--log-format", "json", ...off];
  manager = spawn("sh", ["-c", twice, "sh", ...run], {
    cwd: folder,
    env: { ...process.env, PATH: `${programs}:${process.env["PATH"]}`, LISTEN_FDS: "1", LISTEN_FDNAMES: "events" },
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
  const noted = (await readFile(notes, "utf8")).trim().split("\n");
  expect(new Set(noted)).toEqual(new Set(["ran"]));
});
