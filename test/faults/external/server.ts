import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ClickHouseClient } from "@clickhouse/client";
import type { BuildOptions, Plugin } from "esbuild";
import { Child } from "../../../engine/embedded-clickhouse/child.ts";
import { clientOf, type ReachableClickHouse, rowsOf, silent } from "../../support/clickhouse.ts";
import { replicatingEngine } from "../../support/replicated/engine.ts";
import { builtAsReplica, type Replica } from "../../support/replicated/replica.ts";
import { Trap } from "../trap.ts";
import { holdsTokenAlone, tablesWithTokens } from "./token-alone.ts";

/** Between two looks for a token without its rows, in milliseconds. */
const betweenLooks = 3;
/** What the server needs of packages is found from here, as it is from `dist`. */
const cache = fileURLToPath(new URL("../../../.cache/", import.meta.url));
/** A predecessor that was killed lets go of the folder within this time, in milliseconds. */
const lockWaitMs = 30_000;

/**
 * Leaves out what the embedded ClickHouse does for its tables before it opens them: a server that was killed keeps the
 * tokens of inserts whose rows it does not hold.
 */
const withoutMending: Plugin = {
  name: "without mending",
  setup(building) {
    building.onLoad({ filter: /embedded-clickhouse\/server\/deduplication-logs\.ts$/ }, () => ({
      contents: "export const repairDeduplicationLogs = async () => ({ tokens: 0, lines: 0 });",
    }));
  },
};

export function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

/** The program of the server, from the folder of the killers, and how it is built. */
const program = "../../engine/embedded-clickhouse/server/server.ts";
const built: BuildOptions = {
  packages: "external",
  inject: [fileURLToPath(new URL("server-killer.ts", import.meta.url))],
  // The package says that its files have no side effects, which a killer has.
  ignoreAnnotations: true,
};

/**
 * A ClickHouse server that is not Sluice's own: chDB's engine in a process and a folder of its own, which speaks HTTP. It
 * outlives Sluice; port, password and folder stay the same while it is killed and started again.
 */
export class ClickHouseServer implements ReachableClickHouse {
  readonly username = "default";
  readonly password: string;
  /** Kills it at an exact step of an insert (see `server-killer.ts`). */
  readonly trap: Trap;
  readonly #folder: string;
  #child!: Child;
  #client: ClickHouseClient | undefined;
  #hasEnded = false;

  private constructor(folder: string, trap: Trap, password: string) {
    this.#folder = folder;
    this.trap = trap;
    this.password = password;
  }

  /** As a `replica`, it runs Replicated tables, where the machine has what `replicatedObstacle` asks for. */
  static async start({ replica }: { replica?: Replica } = {}): Promise<ClickHouseServer> {
    const parent = replica === undefined ? cache : await replicatingEngine();
    await mkdir(parent, { recursive: true });
    const folder = await mkdtemp(join(parent, "clickhouse-server-"));
    try {
      const own = replica === undefined ? { plugins: [] } : await builtAsReplica(folder, replica);
      const plugins = [...own.plugins, withoutMending];
      const trap = await Trap.make(folder, program, { ...built, ...own, plugins });
      const server = new ClickHouseServer(folder, trap, replica?.password ?? newPassword());
      await server.restart();
      return server;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.#child.port}`;
  }

  get port(): number {
    return this.#child.port ?? 0;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get client(): ClickHouseClient {
    return (this.#client ??= clientOf(this));
  }

  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
    return rowsOf<Row>(this.client, sql);
  }

  /** Starts it, also after it has ended. Throws where another process has taken its port. */
  async restart(): Promise<void> {
    const port = (this.#child as Child | undefined)?.port ?? 0;
    const { username, password } = this;
    const orders = { folder: join(this.#folder, "data"), lockWaitMs, port, username, password };
    const child = await Child.start(this.trap.script, orders, silent, new AbortController().signal);
    this.#child = child;
    this.#hasEnded = false;
    void child.exited.then(() => (this.#hasEnded = true));
    if (port !== 0 && this.port !== port)
      throw new Error(`expected the ClickHouse server to listen on port ${port} again, found it on ${this.port}`);
  }

  /** Sends SIGKILL. Resolves when the process has ended. */
  async kill(): Promise<void> {
    process.kill(this.pid, "SIGKILL");
    await this.#child.exited;
  }

  /**
   * Sends SIGKILL when it has noted the token of an insert and has not put its rows in place: it is stopped again and again,
   * and looked at. Throws where that is not met within `limit` milliseconds.
   */
  async killBetweenTokenAndRows(limit = 30_000): Promise<void> {
    const tables = tablesWithTokens(join(this.#folder, "data", "engine"));
    for (const end = Date.now() + limit; Date.now() < end; await sleep(betweenLooks)) {
      process.kill(this.pid, "SIGSTOP");
      try {
        if (tables.some(holdsTokenAlone)) return await this.kill();
      } finally {
        if (!this.hasEnded) process.kill(this.pid, "SIGCONT");
      }
    }
    throw new Error(`expected an insert between its token and its rows within ${limit} ms, found none`);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async stop(): Promise<void> {
    await this.#client?.close();
    // What it keeps goes with it. One that waits for its ZooKeeper would take its time to end by itself.
    if (!this.hasEnded) await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
