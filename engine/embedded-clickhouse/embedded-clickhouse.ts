import { randomBytes } from "node:crypto";
import { type IncomingMessage, request } from "node:http";
import { once } from "node:events";
import { text as textOf } from "node:stream/consumers";
import { join, resolve } from "node:path";
import { EngineError } from "../core/errors.ts";
import { backOff } from "../flow/back-off.ts";
import { sleep } from "../flow/sleep.ts";
import { entryPoint } from "../system/entry-point.ts";
import type { Log } from "../telemetry/log.ts";
import { Child, type Exit } from "./child.ts";

export interface EmbeddedOptions {
  /** The data directory of the process; ClickHouse uses its folder `clickhouse`. */
  dataDir: string;
  log: Log;
  /** Called at every start and every unexpected end. */
  onEvent?: (event: ClickHouseEvent) => void;
  /** How long another process may take to release the data, in milliseconds; 30 s by default. */
  lockWaitMs?: number;
  /** The script of the child; by default the bundled one. */
  entry?: string;
  /** Listens on a loopback port too, which every user of the machine reaches. */
  tcp?: boolean;
}

export type ClickHouseEvent =
  { kind: "started"; pid: number; socketPath: string; version: string } | ({ kind: "died" } & Exit);

const repairedText =
  "The deduplication logs of the embedded ClickHouse were repaired: tokens logged without their rows were removed, " +
  "so that these rows are written when they are sent again, and unreadable lines were removed.";
const unsyncedText =
  "The deduplication logs of the embedded ClickHouse cannot be kept on disk insert by insert. After a power cut, a batch " +
  "without an answer may be there twice: on_uncertain decides. Keep the data directory on ext4 or XFS, with chattr installed.";
/** The host of requests over a Unix socket says nothing. */
const urlOverSocket = "http://localhost";
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** After a run of this length the back-off starts anew. */
const wellAfterMs = 30_000;

/**
 * The embedded ClickHouse: a child process that speaks the ClickHouse HTTP protocol on a Unix socket, which only this
 * user reaches. After a crash it is restarted with back-off, on the same data and socket. It ends with this process, even
 * if that is killed. A crash loses nothing that was acknowledged.
 */
export class EmbeddedClickHouse {
  readonly username = "default";
  /** Drawn at each start of this process, the same for every child. Never stored. */
  readonly password = randomBytes(24).toString("base64url");
  readonly #options: EmbeddedOptions;
  readonly #closing = new AbortController();
  #child: Promise<Child>;
  #current: Child | undefined;
  #kept: Promise<void> = Promise.resolve();

  private constructor(options: EmbeddedOptions) {
    this.#options = options;
    this.#child = this.#start();
  }

  /** @throws EngineError CLICKHOUSE_MISSING, DATA_DIR_HELD or STORAGE_FAILED. */
  static async start(options: EmbeddedOptions): Promise<EmbeddedClickHouse> {
    const embedded = new EmbeddedClickHouse(options);
    await embedded.#child;
    embedded.#kept = embedded.#keep();
    return embedded;
  }

  /** The Unix socket where it listens, or did before it died. */
  get socketPath(): string {
    return this.#current?.socketPath ?? "";
  }

  /** Its URL: over TCP where that was asked for, else for requests over the socket. */
  get url(): string {
    const port = this.#current?.port;
    return port === undefined ? urlOverSocket : `http://127.0.0.1:${port}`;
  }

  /** Of what it remembers of inserts: another one where a repeat of an earlier insert may not be recognised. */
  get memory(): string {
    return this.#current?.memory.identity ?? "";
  }

  get pid(): number {
    return this.#current?.pid ?? 0;
  }

  /**
   * Runs one statement and returns its result as ClickHouse formats it; waits while a child starts.
   *
   * @param format used if the statement does not name one.
   * @param database of names without one; the default one otherwise.
   * @throws EngineError QUERY_FAILED with the error of ClickHouse, or because it died meanwhile.
   */
  async query(sql: string, format = "TabSeparated", database?: string): Promise<string> {
    if (this.#closing.signal.aborted) throw new EngineError("QUERY_FAILED", "The embedded ClickHouse is closed.");
    await this.#child;
    const asked = new URLSearchParams({ default_format: format, ...(database !== undefined && { database }) });
    const { status, body } = await this.#post(`/?${asked.toString()}`, sql).catch(brokeOff);
    if (status !== 200) throw new EngineError("QUERY_FAILED", `ClickHouse refused the statement: ${body.trim()}`);
    return body;
  }

  /** Stops the child. Safe to call twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#child.then(
      (child) => child.end(),
      () => undefined,
    );
    await this.#kept;
  }

  /** Over a connection of its own: one that was kept could be of a child that died. */
  async #post(path: string, sql: string): Promise<{ status: number; body: string }> {
    const { username, password, socketPath } = this;
    const sent = request({ socketPath, path, method: "POST", auth: `${username}:${password}`, agent: false });
    sent.end(sql);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: await textOf(response) };
  }

  async #start(): Promise<Child> {
    const { dataDir, log, lockWaitMs = 30_000, entry = entryPoint("clickhouse"), tcp = false, onEvent } = this.#options;
    const folder = join(resolve(dataDir), "clickhouse");
    const { username, password } = this;
    const before = this.#current && { socketPath: this.#current.socketPath };
    const port = tcp ? { port: this.#current?.port ?? 0 } : {};
    const child = await Child.start(
      entry,
      { folder, lockWaitMs, ...before, ...port, username, password },
      log,
      this.#closing.signal,
    );
    this.#current = child;
    const { pid, socketPath, version, repaired, memory } = child;
    if (memory.unsynced !== undefined) log.info({ reason: memory.unsynced }, unsyncedText);
    if (repaired.tokens + repaired.lines > 0) log.warn({ ...repaired }, repairedText);
    log.info({ pid, socket: socketPath, version }, "The embedded ClickHouse is running.");
    onEvent?.({ kind: "started", pid, socketPath, version });
    return child;
  }

  /** Starts a new child whenever one dies, until `close`. */
  async #keep(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const startedAt = performance.now();
      const exit = await this.#child.then(
        (child) => child.exited,
        () => undefined,
      );
      if (this.#closing.signal.aborted) return;
      if (exit) this.#died(exit, pauseAfter(attempt));
      if (performance.now() - startedAt > wellAfterMs) attempt = 1;
      this.#child = this.#again(pauseAfter(attempt));
      this.#child.catch(() => undefined);
    }
  }

  #died(exit: Exit, pauseMs: number): void {
    const { log, onEvent } = this.#options;
    const printed = this.#current?.printed();
    log.warn({ ...exit, printed, restart_in_ms: pauseMs }, "The embedded ClickHouse died and is restarted.");
    onEvent?.({ kind: "died", ...exit });
  }

  async #again(pauseMs: number): Promise<Child> {
    await sleep(pauseMs, this.#closing.signal);
    this.#closing.signal.throwIfAborted();
    try {
      return await this.#start();
    } catch (error) {
      if (!this.#closing.signal.aborted) {
        this.#options.log.error(
          { error: String(error) },
          "The embedded ClickHouse could not be restarted; the restart is retried.",
        );
      }
      throw error;
    }
  }
}

/** How long to wait before the start after `attempt` crashes or failed starts in a row, in milliseconds. */
function pauseAfter(attempt: number): number {
  return backOff(attempt, firstPauseMs, longestPauseMs, [1, 1]);
}

function brokeOff(cause: unknown): never {
  const text = "The embedded ClickHouse died while it ran the statement, and is restarted. Send the statement again.";
  throw new EngineError("QUERY_FAILED", text, { cause });
}
