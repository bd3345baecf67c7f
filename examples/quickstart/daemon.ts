import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Milliseconds after which a question is taken for one that gets no answer. */
const answerMs = 30_000;

export interface Reconcile {
  lastAttemptedRevision?: string;
  history: {
    revision?: string;
    plan?: string;
    outcomes: { pipeline_id: string; result: string; message?: string }[];
  }[];
  pipelines: { pipeline_id: string; conditions: { type: string; status: string; reason: string; message: string }[] }[];
}

export interface Health {
  overall_status: string;
  stream: { messages: number };
  pending_batches: number;
  dead_letters: { total_messages: number };
  counters: Record<"events_read" | "events_filtered" | "rows_written" | "dead_lettered" | "batches_replayed", number>;
}

export interface DaemonOptions {
  /** Path of the built `sluice.js`. */
  sluice: string;
  dataDir: string;
  /** Flags of `sluice run` besides data dir and listeners. */
  args: string[];
  env?: Record<string, string>;
  /** `HOST:PORT` of the listeners. Default: 8081 and 8080 on loopback, or free ports where these are taken; no OTLP. */
  listeners?: Listeners;
  /** Receives each line of its log. */
  onLine?: (line: string) => void;
  /** Wraps a command line in another one, for example to run it in a network namespace. */
  wrap?: (command: string[]) => string[];
}

export interface Listeners {
  api: string;
  events: string;
  /** None by default. */
  otlpGrpc?: string;
  otlpHttp?: string;
}

/** `sluice run` as a child process, and the other commands against it, as a person would type them. */
export class Daemon {
  readonly listeners: Listeners;
  readonly #options: DaemonOptions;
  readonly #child: ChildProcess;
  readonly #lastLines: string[] = [];

  private constructor(options: DaemonOptions, listeners: Listeners) {
    this.#options = options;
    this.listeners = listeners;
    const { api, events, otlpGrpc = "off", otlpHttp = "off" } = listeners;
    const flags = ["--data-dir", options.dataDir, "--api", api, "--events", events];
    const otlp = ["--otlp-grpc", otlpGrpc, "--otlp-http", otlpHttp];
    const [command = "", ...args] = this.#wrapped("run", ...options.args, ...flags, ...otlp);
    this.#child = spawn(command, args, {
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    createInterface({ input: this.#child.stderr! }).on("line", (line) => {
      options.onLine?.(line);
      this.#lastLines.push(line);
      this.#lastLines.splice(0, this.#lastLines.length - 200);
    });
  }

  /** Starts it; resolves when it listens. Throws with its log if it ends before. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const listeners = options.listeners ?? { api: await freeAddress(8081), events: await freeAddress(8080) };
    const daemon = new Daemon(options, listeners);
    await daemon.until(() => daemon.get("/healthz"), "to listen");
    return daemon;
  }

  get dataDir(): string {
    return this.#options.dataDir;
  }

  get api(): string {
    return `http://${this.listeners.api}`;
  }

  get events(): string {
    return `http://${this.listeners.events}`;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** The last lines of its log. */
  get log(): readonly string[] {
    return this.#lastLines;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** How it ended, such as `code 1` or `SIGKILL`; undefined while it runs. */
  get ending(): string | undefined {
    const { exitCode, signalCode } = this.#child;
    return signalCode ?? (exitCode === null ? undefined : `code ${exitCode}`);
  }

  /** Resolves when the child has ended. */
  async ended(): Promise<void> {
    if (!this.hasEnded) await once(this.#child, "exit");
  }

  /** Sends a signal, SIGTERM by default; resolves when the process has ended. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    this.#child.kill(signal);
    await this.ended();
  }

  /** Runs `sluice <args> --data-dir <this one>` and returns what it prints. */
  async command(...args: string[]): Promise<string> {
    const [command = "", ...rest] = this.#wrapped(...args, "--data-dir", this.dataDir);
    const { stdout } = await run(command, rest, { maxBuffer: 1 << 30 });
    return stdout.trimEnd();
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.api}${path}`, { signal: AbortSignal.timeout(answerMs) });
    if (!response.ok) throw new Error(`GET ${path} was answered ${response.status}`);
    const text = await response.text();
    return (text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text) as T;
  }

  health(pipeline_id: string): Promise<Health> {
    return this.get(`/api/v1/pipeline/${pipeline_id}/health`);
  }

  /** Resolves with the turn that completed a commit. */
  async reconciled(commit: string): Promise<Reconcile["history"][number]> {
    return this.until(
      async () => {
        const { history } = await this.get<Reconcile>("/api/v1/reconcile");
        const turn = history.find(({ revision }) => revision?.endsWith(commit));
        return turn?.outcomes.some(({ result }) => result === "under way") === false ? turn : undefined;
      },
      `to deal with commit ${commit.slice(0, 8)}`,
    );
  }

  /** Resolves when every accepted event of a pipeline is settled. */
  async settled(pipeline_id: string): Promise<Health> {
    return this.until(async () => {
      const health = await this.health(pipeline_id);
      return health.stream.messages + health.pending_batches === 0 ? health : undefined;
    }, `to settle the events of ${pipeline_id}`);
  }

  /** Polls `look` until it returns a value; an error counts as none. */
  async until<T>(look: () => Promise<T | undefined>, what: string): Promise<T> {
    const until = Date.now() + 60_000;
    while (Date.now() < until && !this.hasEnded) {
      const found = await look().catch(() => undefined);
      if (found !== undefined) return found;
      await sleep(100);
    }
    throw new Error(
      `timed out while waiting for sluice run ${what}; its last lines were:\n${this.#lastLines.slice(-20).join("\n")}`,
    );
  }

  #wrapped(...args: string[]): string[] {
    const { sluice, wrap = (command: string[]) => command } = this.#options;
    return wrap([process.execPath, sluice, ...args]);
  }
}

/** A loopback address with the preferred port, or a free one if that is in use. */
export async function freeAddress(wished: number): Promise<string> {
  for (const port of [wished, 0]) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    if (typeof address === "object" && address !== null) return `127.0.0.1:${address.port}`;
  }
  throw new Error("no free port on 127.0.0.1");
}
