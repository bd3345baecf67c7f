import { EmbeddedClickHouse } from "./embedded-clickhouse.ts";
import type { Log } from "../telemetry/log.ts";

/** What an engine asks of the ClickHouse that it carries. */
export interface EmbeddedServer {
  /** The address to reach it. Starts it if it does not run. Throws CLICKHOUSE_MISSING if chDB is not installed. */
  connection(): Promise<{ url: string; socketPath: string; username: string; password: string; memory: string }>;
  /** The result of one statement as ClickHouse prints it in `format`. */
  query(statement: string, format?: string, database?: string): Promise<string>;
  /** Ends it, if it runs. */
  close(): Promise<void>;
}

/** The embedded ClickHouse of this process, started when first needed. */
export class LazyEmbeddedClickHouse implements EmbeddedServer {
  readonly #dataDir: string;
  readonly #log: Log;
  #server: Promise<EmbeddedClickHouse> | undefined;

  constructor(dataDir: string, log: Log) {
    this.#dataDir = dataDir;
    this.#log = log;
  }

  async connection(): Promise<{ url: string; socketPath: string; username: string; password: string; memory: string }> {
    const { url, socketPath, username, password, memory } = await this.#started();
    return { url, socketPath, username, password, memory };
  }

  async query(statement: string, format?: string, database?: string): Promise<string> {
    const server = await this.#started();
    return server.query(statement, format, database);
  }

  async close(): Promise<void> {
    const server = await this.#server?.catch(() => undefined);
    await server?.close();
  }

  #started(): Promise<EmbeddedClickHouse> {
    this.#server ??= this.#start();
    return this.#server;
  }

  async #start(): Promise<EmbeddedClickHouse> {
    try {
      return await EmbeddedClickHouse.start({ dataDir: this.#dataDir, log: this.#log });
    } catch (error) {
      // The next call tries again: chDB may be installed by then.
      this.#server = undefined;
      throw error;
    }
  }
}
