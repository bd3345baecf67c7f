import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const sluice = fileURLToPath(new URL("sluice.js", import.meta.url));
const run = promisify(execFile);

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
  counters: { events_read: number; events_filtered: number; rows_written: number; dead_lettered: number };
}

/** `sluice run` as a child process, and the other commands against it: what a person would type. */
export class Daemon {
  readonly dataDir: string;
  readonly api: string;
  readonly events: string;
  readonly #child: ChildProcess;
  readonly #lastLines: string[];

  private constructor(
    dataDir: string,
    listeners: { api: string; events: string },
    child: ChildProcess,
    lines: string[],
  ) {
    this.dataDir = dataDir;
    this.api = `http://${listeners.api}`;
    this.events = `http://${listeners.events}`;
    this.#child = child;
    this.#lastLines = lines;
  }

  /** Starts it; resolves when it listens. Throws what it said if it ends instead. */
  static async start(args: string[], dataDir: string, env: Record<string, string>): Promise<Daemon> {
    const listeners = { api: await freeAddress(8081), events: await freeAddress(8080) };
    const flags = ["--data-dir", dataDir, "--api", listeners.api, "--events", listeners.events];
    const child = spawn(process.execPath, [sluice, "run", ...args, ...flags], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const lines: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => {
      lines.push(line);
      lines.splice(0, lines.length - 20);
    });
    const daemon = new Daemon(dataDir, listeners, child, lines);
    await daemon.#until(() => daemon.get("/healthz"), "to listen");
    return daemon;
  }

  /** Resolves when the child has ended. */
  async ended(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.ended();
  }

  /** Runs `sluice <args> --data-dir <this one>` and returns what it prints. */
  async command(...args: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [sluice, ...args, "--data-dir", this.dataDir]);
    return stdout.trimEnd();
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.api}${path}`);
    if (!response.ok) throw new Error(`GET ${path} was answered ${response.status}`);
    const text = await response.text();
    return (text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text) as T;
  }

  health(pipeline_id: string): Promise<Health> {
    return this.get(`/api/v1/pipeline/${pipeline_id}/health`);
  }

  /** Resolves with the turn that has dealt with a commit. */
  async reconciled(commit: string): Promise<Reconcile["history"][number]> {
    return this.#until(
      async () => {
        const { history } = await this.get<Reconcile>("/api/v1/reconcile");
        const turn = history.find(({ revision }) => revision?.endsWith(commit));
        return turn?.outcomes.some(({ result }) => result === "under way") === false ? turn : undefined;
      },
      `to deal with commit ${commit.slice(0, 8)}`,
    );
  }

  /** Resolves when everything that a pipeline accepted is settled. */
  async settled(pipeline_id: string): Promise<Health> {
    return this.#until(async () => {
      const health = await this.health(pipeline_id);
      return health.stream.messages + health.pending_batches === 0 ? health : undefined;
    }, `to settle the events of ${pipeline_id}`);
  }

  async #until<T>(look: () => Promise<T | undefined>, what: string): Promise<T> {
    const until = Date.now() + 60_000;
    while (Date.now() < until && this.#child.exitCode === null) {
      const found = await look().catch(() => undefined);
      if (found !== undefined) return found;
      await sleep(50);
    }
    throw new Error(`waited in vain for sluice run ${what}; its last lines were:\n${this.#lastLines.join("\n")}`);
  }
}

/** A loopback address with the port that is wished, or any free one where that is taken. */
async function freeAddress(wished: number): Promise<string> {
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
