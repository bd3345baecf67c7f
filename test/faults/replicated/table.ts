import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DuplicateCounter, droppedBy } from "../duplicate-counter.ts";
import type { FoundRows } from "../external/audit.ts";
import type { ClickHouseServer } from "../external/server.ts";
import { tokenColumn } from "../external/subject.ts";
import type { Span } from "../spans.ts";

/** What the table of a scene is like. */
export interface TableOptions {
  /** Whether its copies on several servers share tokens and block numbers in ZooKeeper, or know nothing of each other. */
  isReplicated: boolean;
  /** An expression of `n`. */
  partitionBy?: string;
  /** Inserts that it remembers; 10,000 by default. What is beyond is forgotten within a second or two. */
  window?: number;
}

/**
 * The engine of these servers ends where a replica fetches a part of another one: none has that level, and none is merged,
 * as a replica that lacks the parts would fetch the merged one.
 */
const noFetching = [
  "replicated_fetches_min_part_level = 1000",
  "replicated_fetches_min_part_level_timeout_seconds = 0",
  "max_replicated_merges_in_queue = 0",
];
const quickForgetting = [
  "cleanup_delay_period = 1",
  "max_cleanup_delay_period = 1",
  "cleanup_delay_period_random_add = 0",
  "cleanup_thread_preferred_points_per_iteration = 0",
];

/**
 * The database of the tables. `default` of these servers is an Overlay, where a table has no UUID and so another identity
 * on each server; that of `clickhouse-server` is Atomic.
 */
export const database = "shared";

/** Between two looks whether a table has forgotten a token, in milliseconds. */
const betweenLooks = 500;

/** A table on one or two servers, into which another writer inserts too. */
export class SharedTable {
  /** With its database. */
  readonly name: string;
  readonly servers: readonly ClickHouseServer[];
  readonly #duplicates = new DuplicateCounter();
  /** By process: what a server had dropped before. */
  readonly #before = new Map<number, number>();
  readonly #others = new Map<string, number>();
  readonly #isReplicated: boolean;
  #token = "";
  #made = 0;

  private constructor(name: string, servers: readonly ClickHouseServer[], { isReplicated }: TableOptions) {
    this.name = `${database}.${name}`;
    this.#isReplicated = isReplicated;
    this.servers = servers;
  }

  /** Another name for each table: it stays until its servers go. */
  static async create(name: string, servers: readonly ClickHouseServer[], options: TableOptions): Promise<SharedTable> {
    const shared = new SharedTable(name, servers, options);
    // As `CREATE ... ON CLUSTER` does, each server gets the same UUID.
    const uuid = randomUUID();
    for (const server of servers) {
      await server.client.command({ query: `CREATE DATABASE IF NOT EXISTS ${database} ENGINE = Atomic` });
      await server.client.command({ query: shared.#statement(options, uuid) });
      shared.#before.set(server.pid, await droppedBy(server));
    }
    return shared;
  }

  /** Another writer inserts rows with this `n`, each in an insert of its own. The first one has a token. */
  async insertAsAnother(inserts: number, n: number): Promise<void> {
    for (let made = 0; made < inserts; made += 1) await this.#insert(n, made === 0 ? this.#nextToken() : "");
  }

  /** Resolves when the table has forgotten the first of the last inserts of the other writer, and so all before it. */
  async forgets(n: number): Promise<void> {
    while (!(await this.#insert(n, this.#token))) await sleep(betweenLooks);
  }

  /** How often the ids of the other writer must be there. */
  get others(): ReadonlyMap<string, Span> {
    return new Map([...this.#others.keys()].map((id) => [id, { least: 1, most: 1 }]));
  }

  /** Drops a partition with the rows of the other writer for whose `n` it is. */
  async dropPartition(partition: string, isThere: (n: number) => boolean): Promise<void> {
    await this.servers[0]!.client.command({ query: `ALTER TABLE ${this.name} DROP PARTITION ID '${partition}'` });
    for (const [id, n] of this.#others) if (isThere(n)) this.#others.delete(id);
  }

  /** The tokens that an insert with this one may have left, by `rows`. */
  tokensOf(token: string): string[] {
    return [...new Set(this.servers.map((_server, index) => this.#tokenOn(index, token)))];
  }

  /** The rows on all servers: none fetches those of another. */
  async rows(): Promise<FoundRows[]> {
    const query = `SELECT id, token, toString(count()) AS times FROM ${this.name} GROUP BY id, token`;
    const found = await Promise.all(
      this.servers.map((server) => server.query<Record<"id" | "token" | "times", string>>(query)),
    );
    return found.flatMap((rows, server) =>
      rows.map(({ id, token, times }) => ({ id, token: this.#tokenOn(server, token), times: Number(times) })),
    );
  }

  /** Notes what the servers have dropped, before one of them is killed. */
  async sampleDropped(): Promise<void> {
    for (const server of this.servers) this.#duplicates.note(server.pid, await droppedBy(server));
  }

  /** Repeated inserts that the servers dropped, as far as it was sampled. */
  get dropped(): number {
    return [...this.#before.values()].reduce((sum, count) => sum - count, this.#duplicates.total);
  }

  /** Where the tables of the servers know nothing of each other, an insert that reached both is there twice. */
  #tokenOn(server: number, token: string): string {
    return this.#isReplicated ? token : `${token} on ${server}`;
  }

  #nextToken(): string {
    this.#token = `another-${this.#made}`;
    return this.#token;
  }

  /** Inserts one row, where the token is empty without one. Resolves with whether it is there. */
  async #insert(n: number, token: string): Promise<boolean> {
    const { client } = this.servers[0]!;
    const id = `another-${this.#made++}`;
    const clickhouse_settings = token === "" ? {} : { insert_deduplication_token: token };
    await client.insert({ table: this.name, values: [{ id, n }], format: "JSONEachRow", clickhouse_settings });
    const isThere =
      token === "" || (await this.servers[0]!.query(`SELECT 1 FROM ${this.name} WHERE id = '${id}'`)).length > 0;
    if (isThere) this.#others.set(id, n);
    return isThere;
  }

  #statement({ isReplicated, partitionBy, window }: TableOptions, uuid: string): string {
    const engine = isReplicated ? `ReplicatedMergeTree('{replica}:/tables/${uuid}', '{replica}')` : "MergeTree";
    const settings = [
      `${isReplicated ? "" : "non_"}replicated_deduplication_window = ${window ?? 10_000}`,
      ...(isReplicated && this.servers.length > 1 ? noFetching : []),
      ...(window === undefined ? [] : quickForgetting),
    ];
    const partition = partitionBy === undefined ? "" : ` PARTITION BY ${partitionBy}`;
    const columns = `(id String, n Int32, ${tokenColumn})`;
    return `CREATE TABLE ${this.name} UUID '${uuid}' ${columns} ENGINE = ${engine}${partition} ORDER BY id SETTINGS ${settings.join(", ")}`;
  }
}
