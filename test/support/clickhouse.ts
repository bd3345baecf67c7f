import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { EmbeddedClickHouse, type EmbeddedOptions } from "../../engine/embedded-clickhouse/embedded-clickhouse.ts";
import { silent } from "../../engine/telemetry/log.ts";

export { silent };

/** A ClickHouse, and how to ask it. */
export interface ReachableClickHouse {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly client: ClickHouseClient;
  /** Rows of a query, as objects. */
  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]>;
}

/** An embedded ClickHouse with a stock client on it, for the tests of one file. */
export interface TestClickHouse extends ReachableClickHouse {
  embedded: EmbeddedClickHouse;
  /** Ends it and removes its folder, unless the caller brought one. */
  stop(): Promise<void>;
}

/** Starts one, by default in a temporary folder. Call `stop` in `afterAll`. */
export async function startClickHouse(options: Partial<EmbeddedOptions> = {}): Promise<TestClickHouse> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "sluice-clickhouse-")));
  const embedded = await EmbeddedClickHouse.start({ log: silent, tcp: true, ...options, dataDir });
  const { url, username, password } = embedded;
  const client = clientOf(embedded);
  return {
    url,
    username,
    password,
    client,
    embedded,
    query: <Row>(sql: string) => rowsOf<Row>(client, sql),
    async stop() {
      await client.close();
      await embedded.close();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A stock client, which logs nothing. */
export function clientOf({ url, username, password }: Omit<ReachableClickHouse, "client" | "query">): ClickHouseClient {
  return createClient({ url, username, password, log: { level: ClickHouseLogLevel.OFF } });
}

export async function rowsOf<Row>(client: ClickHouseClient, sql: string): Promise<Row[]> {
  return (await client.query({ query: sql, format: "JSONEachRow" })).json<Row>();
}
