import { type ChildProcess, fork } from "node:child_process";
import { EngineError } from "../core/errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { Listening, Mended, Orders, Report } from "./server/protocol.ts";

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
  readonly mended: Mended;
  readonly exited: Promise<Exit>;
  /** The end of what it printed. */
  readonly said: () => string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, exited: Promise<Exit>, said: () => string, report: Listening) {
    this.#process = process;
    this.exited = exited;
    this.said = said;
    this.port = report.port;
    this.version = report.version;
    this.mended = report.mended;
  }

  /**
   * Starts `entry` and resolves when it answers requests.
   *
   * @throws EngineError CLICKHOUSE_MISSING, DATA_DIR_HELD or STORAGE_FAILED; then no process is left.
   */
  static async start(entry: string, orders: Orders, log: Log, signal: AbortSignal): Promise<Child> {
    const child = fork(entry, [], { execArgv: [], env: environment(), stdio: ["ignore", "pipe", "pipe", "ipc"] });
    const said = listenTo(child, log);
    const exited = endOf(child);
    const abort = (): void => void child.kill("SIGKILL");
    signal.addEventListener("abort", abort);
    try {
      // Where it cannot be sent, the process has ended.
      child.send(orders, () => undefined);
      const report = await Promise.race([reportOf(child), exited]);
      if ("kind" in report && report.kind === "listening") return new Child(child, exited, said, report);
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

function reportOf(child: ChildProcess): Promise<Report> {
  return new Promise((resolve) => child.once("message", (message) => resolve(message as Report)));
}

/** Resolves when the process is gone, or was never there. */
function endOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.on("error", () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
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

function failure(end: Report | Exit, said: string, folder: string): EngineError {
  const reason = "text" in end ? end.text : `the process ended with ${"signal" in end ? (end.signal ?? end.code) : ""}`;
  const cause = new Error(said ? `${reason}: ${said}` : reason);
  if ("kind" in end && end.kind === "missing") return new EngineError("CLICKHOUSE_MISSING", missing, { cause });
  // The engine has a lock too, which is held by programs of ClickHouse that someone runs on its folder.
  const held = ("kind" in end && end.kind === "held") || said.includes("Cannot lock file");
  const text = held ? "another process holds it. Stop that process, or use another data directory." : cause.message;
  return new EngineError(
    held ? "DATA_DIR_HELD" : "STORAGE_FAILED",
    `The embedded ClickHouse cannot open ${folder}: ${text}`,
    { cause },
  );
}

const missing =
  "The embedded ClickHouse needs the optional package chdb, which cannot be loaded here (it exists for Linux with glibc and for macOS). " +
  "Install it with `npm install --include=optional`, or name a ClickHouse server in the sink's connection instead of `host: embedded`.";
