import type { DaemonOptions, Listeners } from "../../../examples/quickstart/daemon.ts";
import type { Workplace } from "../../support/daemon.ts";
import type { Random } from "../../support/random.ts";
import type { Fate } from "../ledger.ts";
import type { Span } from "../spans.ts";
import type { ClickHouseServer } from "./server.ts";
import type { ExternalVariant } from "./variants.ts";

/** Where a subject works. */
export interface Surroundings {
  server: ClickHouseServer;
  place: Workplace;
  listeners: Required<Listeners>;
  random: Random;
}

/** What a daemon needs besides its listeners, for the pipelines of some subjects. */
export type StartNeeds = Required<Pick<DaemonOptions, "args" | "env">>;

/** A pipeline into the external ClickHouse, its table, and the load on it. */
export interface Subject {
  readonly variant: ExternalVariant;
  readonly pipeline_id: string;
  readonly table: string;
  /** What an id of its events is in the table, as SQL of type String. */
  readonly id: string;
  readonly needs: StartNeeds;
  /** Starts the load. */
  begin(): void;
  /** Ends the load. Resolves when everything is answered. */
  stop(): Promise<void>;
  /** Ends the load, whatever is still open. */
  giveUp(): Promise<void>;
  /** Whether the pipeline has read all that is there for it. */
  isRead(): Promise<boolean>;
  /** How often each id must and may be there. */
  expected(): Record<Fate, ReadonlyMap<string, Span>>;
  /** A row of another writer, and its id: no event has it. */
  rowOfAnother(n: number): { id: string; row: Record<string, unknown> };
}

/** The token of the insert that brought a row; the pipeline knows nothing of this column. */
export const tokenColumn = "token String MATERIALIZED getSetting('insert_deduplication_token')";
/** Inserts of one pipeline at the same time. */
export const insertsInFlight = 2;
/** Rows of a full batch: few, so that a load that waited makes several batches. */
export const batchRows = 50;

/** `connection_params` of a sink that writes to a database of the server. */
export function connectionTo(
  { port, username }: Pick<ClickHouseServer, "port" | "username">,
  database = "default",
): string {
  return `{ host: 127.0.0.1, port: "9000", http_port: "${port}", database: ${database}, username: ${username}, password: "\${env:SLUICE_SECRET_CLICKHOUSE}" }`;
}

/** A table in which repeats are recognised for `non_replicated_deduplication_window` inserts. */
export async function createTable({ client }: ClickHouseServer, table: string, columns: string): Promise<void> {
  const settings = "SETTINGS non_replicated_deduplication_window = 10000";
  const query = `CREATE TABLE ${table} (${columns}, ${tokenColumn}) ENGINE = MergeTree ORDER BY tuple() ${settings}`;
  await client.command({ query });
}
