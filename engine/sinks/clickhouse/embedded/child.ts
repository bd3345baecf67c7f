import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { EngineError } from "../../../core/errors.ts";
import type { Log } from "../../../telemetry/log.ts";
import type { Orders, Report } from "./protocol.ts";

/** Threads for statements (8 at most), files and compression; a running statement keeps one to itself. */
const threads = "16";
/** What the child inherits: nothing that could hold a secret of a pipeline. */
const inherited = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LD_LIBRARY_PATH"];
const killAfterMs = 8_000;

/** How a child ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** One life of the child process: it listens when `start` resolves, and never again after `exited` did. */
export class Child {
  readonly port: number;
  readonly version: string;
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, exited: Promise<Exit>, port: number, version: string) {
    this.#process = process;
    this.exited = exited;
    this.port = port;
    this.version = version;
  }

  /**
   * Starts `entry` and resolves when it answers requests.
   *
   * @throws EngineError CLICKHOUSE_MISSING, DATA_DIR_HELD or STORAGE_FAILED; then no process is left.
   */
  static async start(entry: string, orders: Orders, log: Log, signal: AbortSignal): Promise<Child> {
    const child = fork(entry, [], { execArgv: [], env: environment(), stdio: ["ignore", "pipe", "pipe", "ipc"] });
    const said = listenTo(child, log);
    const exited = new Promise<Exit>((resolve) =>
      child.once("exit", (code, cause) => resolve({ code, signal: cause })),
    );
    const abort = (): void => void child.kill("SIGKILL");
    signal.addEventListener("abort", abort);
    try {
      child.send(orders);
      const report = await Promise.race([once(child, "message").then(([message]) => message as Report), exited]);
      if ("kind" in report && report.kind === "listening") return new Child(child, exited, report.port, report.version);
      await exited;
      throw failure(report, said(), orders.folder);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Lets it finish what runs; after a grace time it is killed. Resolves when it is gone. */
  async end(): Promise<void> {
    this.#process.kill("SIGTERM");
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), killAfterMs);
    await this.exited;
    clearTimeout(timer);
  }
}

function environment(): NodeJS.ProcessEnv {
  const kept = inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...(Object.fromEntries(kept) as NodeJS.ProcessEnv), UV_THREADPOOL_SIZE: threads };
}

/** Logs what the engine prints, and remembers the end of it: the reasons of a failed start are nowhere else. */
function listenTo(child: ChildProcess, log: Log): () => string {
  let last = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      last = (last + text).slice(-2_000);
      log.debug({ pid: child.pid, text: text.slice(0, 2_000) }, "The embedded ClickHouse printed a message.");
    });
  }
  return () => last.trim();
}

function failure(report: Report | Exit, said: string, folder: string): EngineError {
  const reason =
    "kind" in report ? ("text" in report ? report.text : "") : `it ended with ${report.signal ?? report.code}`;
  const cause = new Error([reason, said].filter(Boolean).join(": "));
  if ("kind" in report && report.kind === "missing") return new EngineError("CLICKHOUSE_MISSING", missing, { cause });
  if (said.includes("Cannot lock file")) {
    const text = `The embedded ClickHouse cannot open ${folder}: another process holds it. Stop that process, or use another data directory.`;
    return new EngineError("DATA_DIR_HELD", text, { cause });
  }
  return new EngineError("STORAGE_FAILED", `The embedded ClickHouse did not start in ${folder}: ${cause.message}`, {
    cause,
  });
}

const missing =
  "The embedded ClickHouse needs the optional package chdb, which cannot be loaded here (it exists for Linux with glibc and for macOS). " +
  "Install it with `npm install --include=optional`, or name a ClickHouse server in the sink's connection instead of `host: embedded`.";
