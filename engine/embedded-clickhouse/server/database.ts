import { totalmem } from "node:os";
import type { Session } from "chdb";
import { retry } from "../../flow/retry.ts";
import { sleep } from "../../flow/sleep.ts";
import { maxExecutionTime } from "./request.ts";

/** Defaults that a request may override; without them chDB behaves like a shell, not like a server. */
const settings = [
  "--implicit_select=0",
  "--async_insert=0",
  `--max_execution_time=${maxExecutionTime}`,
  `--max_result_bytes=${1 << 30}`,
  `--max_memory_usage=${Math.floor(Math.min(totalmem(), process.constrainedMemory() || Infinity) / 2)}`,
];

/** Between two attempts to open a folder that is locked, in milliseconds. */
const retryWait = 200;

/** chDB is not installed, or does not exist for this platform. */
export class ChdbMissingError extends Error {
  override readonly name = "ChdbMissingError";
}

/** The data directory of this process. */
export class Database {
  /** The engine runs as long as a session is open. */
  readonly #first: Session;
  readonly #open: () => Session;

  private constructor(open: () => Session) {
    this.#open = open;
    this.#first = open();
  }

  /**
   * Loads chDB and opens `folder`. A previous process that is about to end may still have it locked, so it retries for
   * a while; chDB itself prints why it cannot open it.
   *
   * @throws ChdbMissingError, or what the last attempt threw.
   */
  static async open(folder: string, waitMs: number): Promise<Database> {
    const { Session: Opened } = await import("chdb").catch((error: Error) => {
      throw new ChdbMissingError(error.message, { cause: error });
    });
    const until = performance.now() + waitMs;
    return retry(
      async () => new Database(() => new Opened(folder, { connectionArgs: settings })),
      async (error) => {
        if (performance.now() > until) throw error;
        await sleep(retryWait);
      },
    );
  }

  /** A new session with the initial settings. Takes about half a millisecond. */
  session(): Session {
    return this.#open();
  }

  /**
   * The version and time zone of the engine, and the initial settings of a session that differ from the built-in ones.
   */
  async about(): Promise<{ version: string; timezone: string; settings: Map<string, string> }> {
    const sql = "SELECT version(), timezone(), groupArray((name, value)) FROM system.settings WHERE changed";
    const result = await this.#first.queryAsync(sql, { format: "JSONCompactEachRow" });
    const [version, timezone, changed] = result.json<[string, string, [string, string][]]>();
    return { version, timezone, settings: new Map(changed) };
  }

  close(): void {
    this.#first.close();
  }
}
