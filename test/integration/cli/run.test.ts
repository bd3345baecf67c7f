import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ControlClient } from "../../../reconciler/cli/control/client.ts";

const script = fileURLToPath(new URL("../../../dist/sluice.js", import.meta.url));

type Line = Record<string, unknown> & { msg: string };

let folder: string;
const running: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-run-"));
  await mkdir(join(folder, "pipelines"));
});

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(folder, { recursive: true, force: true });
});

/** A `sluice run` on the folder, with what it says on standard error. */
class Daemon {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  readonly said: string[] = [];
  readonly #waiting: { sentence: string; found: (line: Line) => void }[] = [];

  constructor(...flags: string[]) {
    const names = ["--api", "--events", "--otlp-grpc", "--otlp-http"];
    const listeners = names.flatMap((name) => [name, "127.0.0.1:0"]);
    const args = [script, "run", "--dir", "pipelines", "--log-format", "json", ...listeners, ...flags];
    this.child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    running.push(this.child);
    this.ended = once(this.child, "close").then(([code]) => code as number | null);
    createInterface({ input: this.child.stderr! }).on("line", (line) => this.#hear(line));
  }

  /** Resolves with the log line of this sentence; rejects where the process ends without it. */
  line(sentence: string): Promise<Line> {
    const found = this.said.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line);
    const already = found.find(({ msg }) => msg === sentence);
    if (already !== undefined) return Promise.resolve(already);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sentence, found: resolve });
      this.child.once("close", () => reject(new Error(`ended without "${sentence}":\n${this.said.join("\n")}`)));
    });
  }

  async stop(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }

  #hear(line: string): void {
    this.said.push(line);
    if (!line.startsWith("{")) return;
    const heard = JSON.parse(line) as Line;
    for (const { sentence, found } of this.#waiting) if (heard.msg === sentence) found(heard);
  }
}

const socket = (): string => join(folder, ".sluice", "control.sock");

describe("a daemon on an empty folder", () => {
  test("names all listeners in one line, is ready after its first turn, keeps a second one out, and ends with 0", async () => {
    const daemon = new Daemon();
    const line = await daemon.line("Sluice is running.");
    expect(line).toMatchObject({
      kind: "dir",
      api: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      events: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      otlp_grpc: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      otlp_http: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    });
    await daemon.line("A revision was read.");
    const info = (await new ControlClient(join(folder, ".sluice")).get("/api/v1/info")) as object;
    expect(info).toMatchObject({
      pid: daemon.child.pid,
      listeners: {
        api: line["api"],
        events: line["events"],
        otlp_grpc: line["otlp_grpc"],
        otlp_http: line["otlp_http"],
      },
    });
    expect((await fetch(`http://${String(line["api"])}/api/v1/pipeline`)).status).toBe(200);
    expect((await fetch(`http://${String(line["events"])}/api/v1/pipeline`)).status).toBe(404);
    expect((await fetch(`http://${String(line["otlp_http"])}/readyz`)).status).toBe(200);
    const second = new Daemon();
    expect(await second.ended).toBe(1);
    const held = `data dir .sluice is held by process ${daemon.child.pid} on `;
    expect(second.said).toEqual([expect.stringContaining(held)]);
    expect(await daemon.stop("SIGTERM")).toBe(0);
    await daemon.line("Sluice is stopping.");
    expect(existsSync(socket())).toBe(false);
  });

  test("off listens nowhere; the push hook listens where it is told to, and takes pushes that are signed", async () => {
    const secret = "a secret of sixteen letters or more";
    await writeFile(join(folder, "secret"), secret);
    const off = ["--api", "--events", "--otlp-grpc", "--otlp-http"].flatMap((name) => [name, "off"]);
    const daemon = new Daemon(...off, "--hook", "127.0.0.1:0", "--hook-secret", `\${file:${join(folder, "secret")}}`);
    const { hook, ...others } = await daemon.line("Sluice is running.");
    expect(others).toMatchObject({ api: "off", events: "off", otlp_grpc: "off", otlp_http: "off" });
    const client = new ControlClient(join(folder, ".sluice"));
    expect(await client.get("/api/v1/pipeline")).toEqual([]);
    expect(await client.get("/api/v1/info")).toMatchObject({ listeners: { hook } });
    const send = (token: string) =>
      fetch(`http://${String(hook)}/hook`, { method: "POST", headers: { "x-gitlab-token": token } });
    expect([(await send(secret)).status, (await send("another")).status]).toEqual([202, 401]);
    expect(await daemon.stop("SIGINT")).toBe(0);
    await daemon.line("Sluice is stopping.");
    expect(daemon.said.join("\n")).not.toContain(secret);
  });
});

test(
  "with a delay, a daemon that was stopped is not ready and goes on; a second signal ends it at once",
  { tags: ["rest"] },
  async () => {
    const daemon = new Daemon("--stop-delay", "10m");
    const { api, otlp_http } = await daemon.line("Sluice is running.");
    await daemon.line("A revision was read.");
    daemon.child.kill("SIGTERM");
    await daemon.line("Sluice is not ready any more, and stops after a delay.");
    const urls = [`${String(api)}/readyz`, `${String(otlp_http)}/readyz`, `${String(api)}/api/v1/pipeline`];
    const answers = await Promise.all(urls.map((url) => fetch(`http://${url}`)));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 200]);
    // Signals within half a second count as one.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await daemon.stop("SIGTERM")).toBe(1);
  },
);

describe("one process owns a data dir", () => {
  test(
    "a standby says for whom it waits while that one is merely paused, ends when it is told to, and takes over when that one is killed",
    { tags: ["rest"] },
    async () => {
      const first = new Daemon();
      await first.line("Sluice is running.");
      first.child.kill("SIGSTOP");
      const told = new Daemon("--standby");
      const holder = expect.stringContaining(`process ${first.child.pid} on `) as string;
      expect(await told.line("Standing by until the data dir is free.")).toMatchObject({ holder });
      expect(await told.stop("SIGTERM")).toBe(0);
      const standby = new Daemon("--standby");
      await standby.line("Standing by until the data dir is free.");
      await first.stop("SIGKILL");
      expect(existsSync(socket())).toBe(true);
      await standby.line("Sluice is running.");
      expect(await new ControlClient(join(folder, ".sluice")).get("/api/v1/info")).toMatchObject({
        pid: standby.child.pid,
      });
    },
  );

  test("one of a newer version is refused in words", { tags: ["rest"] }, async () => {
    await mkdir(join(folder, ".sluice"));
    await writeFile(join(folder, ".sluice", "format"), JSON.stringify({ format: 1_000, id: "0123456789abcdef" }));
    const daemon = new Daemon();
    expect(await daemon.ended).toBe(1);
    expect(daemon.said).toEqual([expect.stringContaining("it was written by a newer Sluice")]);
  });
});

test("a port that is taken ends it with 1 and gives the data dir back", { tags: ["rest"] }, async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const daemon = new Daemon("--api", `127.0.0.1:${port}`);
  expect(await daemon.ended).toBe(1);
  expect(daemon.said).toEqual([
    `sluice: --api: cannot listen on 127.0.0.1:${port}: another process uses this port. Give another HOST:PORT, port 0 for a free one, or "off"`,
  ]);
  other.close();
  expect(existsSync(socket())).toBe(false);
  await new Daemon().line("Sluice is running.");
});
