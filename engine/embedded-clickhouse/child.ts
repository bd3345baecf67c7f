import { type ChildProcess, fork } from "node:child_process";
import { EngineError } from "../core/errors.ts";
import type { Log } from "../telemetry/log.ts";
import type { InsertMemory, Listening, StartRequest, StartReport } from "./server/protocol.ts";
import type { Repaired } from "./server/tokens/deduplication-logs.ts";

/** Threads for statements (at most 8), files and compression; each running statement occupies one. */
const threads = "16";
/** The environment variables that the child inherits: none that could hold a secret of a pipeline. */
const inherited = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LD_LIBRARY_PATH"];
const killAfterMs = 8_000;

/** How a child ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** One run of the child process: it listens when `start` has resolved, until `exited` resolves. */
export class Child {
  readonly socketPath: string;
  /** Only where one was asked for. */
  readonly port: number | undefined;
  readonly version: string;
  readonly repaired: Repaired;
  readonly memory: InsertMemory;
  readonly exited: Promise<Exit>;
  /** The end of its output. */
  readonly printed: () => string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, exited: Promise<Exit>, printed: () => string, report: Listening) {
    this.#process = process;
    this.exited = exited;
    this.printed = printed;
    this.socketPath = report.socketPath;
    this.port = report.port;
    this.version = report.version;
    this.repaired = report.repaired;
    this.memory = report.memory;
  }

  /**
   * Starts `entry` and resolves when it answers requests.
   *
   * @throws EngineError CLICKHOUSE_MISSING, DATA_DIR_HELD or STORAGE_FAILED; then no process is left.
   */
  static async start(entry: string, request: StartRequest, log: Log, signal: AbortSignal): Promise<Child> {
    const child = fork(entry, [], { execArgv: [], env: environment(), stdio: ["ignore", "pipe", "pipe", "ipc"] });
    const printed = collectOutput(child, log);
    const exited = endOf(child);
    const abort = (): void => void child.kill("SIGKILL");
    signal.addEventListener("abort", abort);
    try {
      // If it cannot be sent, the process has ended.
      child.send(request, () => undefined);
      const report = await Promise.race([reportOf(child), exited]);
      if ("kind" in report && report.kind === "listening") return new Child(child, exited, printed, report);
      await exited;
      throw failure(report, printed(), request.folder);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Lets running statements finish, and kills it after a grace time. Resolves when the process has ended. */
  async end(): Promise<void> {
    this.#process.kill("SIGTERM");
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), killAfterMs);
    await this.exited;
    clearTimeout(timer);
  }
}

function reportOf(child: ChildProcess): Promise<StartReport> {
  return new Promise((resolve) => child.once("message", (message) => resolve(message as StartReport)));
}

/** Resolves when the process has ended, or could not be started. */
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

/** Logs the output of the engine and keeps the end of it: only there are the reasons of a failed start. */
function collectOutput(child: ChildProcess, log: Log): () => string {
  let last = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      last = (last + text).slice(-2_000);
      log.debug({ pid: child.pid, text: text.slice(0, 2_000) }, "The embedded ClickHouse printed a message.");
    });
  }
  return () => last.trim();
}

function failure(end: StartReport | Exit, printed: string, folder: string): EngineError {
  const reason = "text" in end ? end.text : `the process ended with ${"signal" in end ? (end.signal ?? end.code) : ""}`;
  const cause = new Error(printed ? `${reason}: ${printed}` : reason);
  if ("kind" in end && end.kind === "missing") return new EngineError("CLICKHOUSE_MISSING", missing, { cause });
  // The engine has a lock too, which other ClickHouse programs on its folder hold.
  const isLocked = ("kind" in end && end.kind === "locked") || printed.includes("Cannot lock file");
  const text = isLocked ? "another process holds it. Stop that process, or use another data directory." : cause.message;
  return new EngineError(
    isLocked ? "DATA_DIR_HELD" : "STORAGE_FAILED",
    `The embedded ClickHouse cannot open ${folder}: ${text}`,
    { cause },
  );
}

const missing =
  "The embedded ClickHouse needs the optional package chdb, which cannot be loaded here (it exists for Linux with glibc and for macOS). " +
  "Install it with `npm install --include=optional`, or name a ClickHouse server in the sink's connection instead of `host: embedded`.";
