import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EmbeddedServer } from "../../engine/embedded-clickhouse/lazy-embedded-clickhouse.ts";
import { startClickHouse, type TestClickHouse } from "./clickhouse.ts";

/** What test files of this process share: they run one after the other. Kept where modules are loaded anew too. */
interface Shared {
  /** For tests that name a server. */
  server?: Promise<TestClickHouse>;
  /** In place of those that engines carry. */
  embedded?: Promise<TestClickHouse>;
}

const key = Symbol.for("sluice tests: shared ClickHouse");
const shared = ((globalThis as Record<symbol, unknown>)[key] ??= {}) as Shared;

/**
 * A ClickHouse for the tests of one file, which other files of this process had before, and have after it: a start takes
 * longer than most tests. It is empty. Tests that kill it, or look into its folder, start one of their own.
 *
 * @returns one whose `stop`, to be called in `afterAll`, removes what the file made.
 */
export async function useClickHouse(): Promise<TestClickHouse> {
  const server = await (shared.server ??= start());
  return { ...server, stop: () => empty(server) };
}

/** Ends those that this process has started. Between test files nobody does: they end with it. */
export async function endSharedClickHouse(): Promise<void> {
  for (const server of [shared.server, shared.embedded]) await (await server)?.stop();
}

/** Engines that have used the shared one and are not closed. */
const engines = new Set<SharedEmbedded>();

/** The ClickHouse of an engine that does not start one of its own. One with a new data dir finds it empty. */
export class SharedEmbedded implements EmbeddedServer {
  readonly #isNew: boolean;
  #server: Promise<TestClickHouse> | undefined;

  constructor({ isNew }: { isNew: boolean }) {
    this.#isNew = isNew;
  }

  async connection(): ReturnType<EmbeddedServer["connection"]> {
    const { url, socketPath, username, password, memory } = (await this.#used()).embedded;
    return { url, socketPath, username, password, memory };
  }

  async query(statement: string, format?: string, database?: string): Promise<string> {
    return (await this.#used()).embedded.query(statement, format, database);
  }

  async close(): Promise<void> {
    engines.delete(this);
    await this.#server;
  }

  #used(): Promise<TestClickHouse> {
    this.#server ??= this.#take();
    return this.#server;
  }

  async #take(): Promise<TestClickHouse> {
    const isAlone = engines.size === 0;
    engines.add(this);
    const server = await (shared.embedded ??= start());
    if (this.#isNew && isAlone) await empty(server);
    return server;
  }
}

/** Its process ends with this one. Its files are in memory, whichever test file has it first. */
async function start(): Promise<TestClickHouse> {
  const dataDir = mkdtempSync(join(process.env["MEMORY_TMPDIR"] ?? tmpdir(), "sluice-shared-clickhouse-"));
  process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  return startClickHouse({ dataDir });
}

async function empty(server: TestClickHouse): Promise<void> {
  const own = "('default', 'system', 'information_schema', 'INFORMATION_SCHEMA')";
  const databases = `SELECT 'DATABASE' AS kind, name FROM system.databases WHERE name NOT IN ${own}`;
  const tables = "SELECT 'TABLE' AS kind, name FROM system.tables WHERE database = 'default'";
  const left = await server.query<{ kind: string; name: string }>(`${databases} UNION ALL ${tables}`);
  for (const { kind, name } of left) {
    const query = `DROP ${kind} IF EXISTS {name:Identifier} SYNC`;
    await server.client.command({ query, query_params: { name } });
  }
}
