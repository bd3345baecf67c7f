import type { Draw, SimulatedNetwork } from "../network.ts";
import type { Row } from "./column-values.ts";
import { Database } from "./database.ts";
import type { InsertEffect } from "./insertion.ts";
import { HttpConnection } from "./http.ts";
import { Requests } from "./requests.ts";
import type { TroubleRate } from "./requests.ts";
import { Profile } from "./settings.ts";
import type { HeldSetting } from "./settings.ts";
import { identityOf } from "./table.ts";
import type { SimulatedTable } from "./table.ts";
import type { Part, TableOptions, ViewOptions } from "./table-options.ts";
import type { RequestTrouble } from "./trouble.ts";

export interface SimulatedClickHouseOptions {
  network: SimulatedNetwork;
  /** Where it listens, such as `10.0.0.8:8123`: not a name, as a sink looks names up in the real network. */
  address: string;
  draw: Draw;
  /** The table that is there from the beginning; without one there are none, and no database. */
  table?: TableOptions;
  /** The login that it accepts; any login if it is left out. */
  login?: { username: string; password: string };
  /** How many replicas answer at the address, 1 by default. A table of an engine without replicas needs one. */
  replicas?: number;
  /** How much later the other replicas show a part, in milliseconds: at least, and less than. */
  lag?: readonly [least: number, most: number];
  /** How long a statement takes to begin, and each part of an insert, in milliseconds: at least, and less than. */
  work?: readonly [least: number, most: number];
  /** One of so many inserts, and of so many other statements, meets a drawn trouble; 0 for none, which is the default. */
  troubleRate?: TroubleRate;
  /** What the settings profile of the user holds otherwise than ClickHouse does. */
  profile?: Record<string, Partial<HeldSetting>>;
  /** Settings that this version does not know. */
  lacks?: readonly string[];
  /** Rights that the user has not: to read `system.parts`, to make temporary tables. */
  denied?: readonly ("parts" | "probe")[];
  version?: string;
}

/** A row that is there, and how it came. */
export interface StoredRow {
  row: Row;
  token: string | undefined;
  partition: string;
  block: number;
  /** When it was written, in milliseconds of the monotonic clock. */
  writtenAt: number;
}

/** Milliseconds after which a part is on disk also where the table does not see to it. */
const writeBack = 30_000;

/**
 * A ClickHouse that is simulated as far as a sink can see it: HTTP over a network in memory, in the time of the global
 * timers. All that is left open is drawn, so that a seed decides everything.
 *
 * It has: tables with and without deduplication, partitions, constraints, defaults and views (`table.ts`); the token
 * of an insert, or without one all its rows, known per partition, forgotten with the oldest or with its part, and
 * known to the target of a view until the query of that view is modified; replicas that share their log and show each
 * other's parts late; sessions with temporary tables; the profile of one user; block numbers, its own clock
 * (`stepClock`) and uptime. A number out of its column's range wraps around and null becomes 0, as in ClickHouse.
 *
 * A kill ends every request. The partition that is being written at that moment is there, or is not, or, without
 * replicas, its token alone is. With `losesParts` the machine loses its power: what was not synced may go, with or
 * without its token, and tokens whose rows stay. Troubles of single requests: `trouble.ts`.
 *
 * An insert has several blocks only by strict limits, and one that the table collects is an insert without a token that
 * counts. It has not: merges and mutations (they change nothing that a sink reads), quorum, TTL, a replica that answers
 * alone or has an older description of the table, compressed bodies, TLS, users with different rights, a server that
 * closes idle connections, Distributed and Buffer tables. An engine without parts keeps nothing. Values of types that are
 * not numbers, texts and lists are kept as they came.
 */
export class SimulatedClickHouse {
  readonly #options: SimulatedClickHouseOptions;
  readonly #database: Database;
  readonly #requests: Requests;
  readonly #main: string;
  #skew = 0;
  #startedAt = 0;

  constructor(options: SimulatedClickHouseOptions) {
    const { draw, table, profile, lacks, denied = [], version = "26.7.2.1", login, work = [0, 3] } = options;
    this.#options = options;
    const database = new Database({
      draw,
      version,
      profile: new Profile(profile, lacks),
      denied: new Set(denied),
      now: () => this.now,
      uptime: () => Math.floor((performance.now() - this.#startedAt) / 1000),
      seenAt: (replica) => this.#seenAt(replica),
    });
    this.#database = database;
    const troubleRate = options.troubleRate ?? { inserts: 0, others: 0 };
    this.#requests = new Requests({ database, draw, login, replicas: this.#replicas, work, troubleRate, version });
    this.#main = `${table?.database ?? "d"}.${table?.name ?? "t"}`;
    if (table !== undefined) database.add(table);
  }

  /** For the next inserts into tables, one each; `undefined` for none. */
  get troubles(): (RequestTrouble | undefined)[] {
    return this.#requests.troubles;
  }

  /** The same for all other statements. `/ping` meets no trouble. */
  get readTroubles(): (RequestTrouble | undefined)[] {
    return this.#requests.readTroubles;
  }

  /** How often each trouble took effect; and `kill`. */
  get met(): ReadonlyMap<string, number> {
    return this.#requests.met;
  }

  /** What became of inserts that a sink cannot see, by how often. */
  get effects(): ReadonlyMap<InsertEffect, number> {
    return this.#database.effects;
  }

  /** Statements, settings and faults that this simulation does not know: a test has to fail where there are any. */
  get unknown(): string[] {
    return this.#requests.unknown;
  }

  /** Statements that arrived, by their first word. */
  get statements(): ReadonlyMap<string, number> {
    return this.#requests.statements;
  }

  /** Which requests meet a drawn trouble from now on. */
  set troubleRate(troubleRate: TroubleRate) {
    this.#requests.troubleRate = troubleRate;
  }

  /** Does something when the `kth` part from now on, counted from 1, is written to the first table. */
  onceWritten(kth: number, work: () => void): void {
    const { table } = this;
    if (table !== undefined) table.onceWritten = { at: table.written + kth, work };
  }

  /** Does something when the writing of the `kth` part from now on, counted from 1, begins in the first table. */
  onceBegun(kth: number, work: () => void): void {
    const { table } = this;
    if (table !== undefined) table.onceBegun = { at: table.begun + kth, work };
  }

  /** Nothing more is done at a later part. */
  disarm(): void {
    const { table } = this;
    if (table === undefined) return;
    table.onceWritten = undefined;
    table.onceBegun = undefined;
  }

  /** The server's clock, in milliseconds since the epoch. */
  get now(): number {
    return Date.now() + this.#skew;
  }

  /** The first table, as it is now; undefined where it was dropped, or not made yet. */
  get table(): SimulatedTable | undefined {
    return this.#database.tables.get(this.#main);
  }

  /** All tables, by `database.name`. */
  get tables(): ReadonlyMap<string, SimulatedTable> {
    return this.#database.tables;
  }

  get isUp(): boolean {
    return this.#requests.isUp;
  }

  /** Listens; after a kill again, with what is left. */
  start(): void {
    this.#requests.start();
    this.#startedAt = performance.now();
    for (const table of this.#database.tables.values()) table.restart();
    this.#options.network.listen(this.#options.address, (socket) => {
      const connection = new HttpConnection(socket, {
        begin: (head) => this.#requests.begin(head),
        handle: (head, body, at) => void this.#requests.handle(head, body, at),
      });
      socket.once("close", () => connection.end());
    });
  }

  /** Ends it at once: connections are reset, then refused. With `losesParts` the machine loses its power. */
  kill({ losesParts = false }: { losesParts?: boolean } = {}): void {
    if (!this.isUp) return;
    this.#requests.kill();
    this.#requests.count("kill");
    this.#database.kill();
    if (losesParts) for (const table of this.#database.tables.values()) this.#loseParts(table);
    this.#options.network.unlisten(this.#options.address);
  }

  /** Sets the server's clock, by so many milliseconds. */
  stepClock(by: number): void {
    this.#skew += by;
  }

  /** Another writer inserts these blocks into the first table, at once. */
  otherWriter(blocks: readonly { rows: readonly Row[]; token?: string }[]): void {
    for (const { rows, token } of blocks) {
      const { table } = this;
      if (table === undefined) throw new Error(`expected the table ${this.#main}, which is not there`);
      const seenAt = this.#seenAt(this.#options.draw(this.#replicas));
      const context = { now: this.now, token, identity: identityOf(token, rows), seenAt };
      for (const [partition, ofIt] of table.split(rows)) {
        table.write(partition, ofIt, context);
      }
    }
  }

  /** A person makes a table; one of that name is replaced, and remembers nothing. */
  create(options: TableOptions): SimulatedTable {
    return this.#database.add(options);
  }

  /** A person drops the first table. */
  drop(): void {
    this.#database.tables.delete(this.#main);
  }

  /** A person alters the first table. */
  alter(changes: Partial<TableOptions>): void {
    this.table?.alter(changes, this.now);
  }

  /** A person breaks the views on the first table, so that they fail for such rows, or mends them. */
  breakViews(broken: ViewOptions["broken"]): void {
    for (const view of this.table?.views ?? []) view.broken = broken;
  }

  /** A person drops the views on the first table. Their targets stay. */
  dropViews(): void {
    this.table?.views.splice(0);
  }

  /** A person drops or detaches a partition of the first table, which frees the tokens of its parts; returns its rows. */
  dropPartition(partition: string): StoredRow[] {
    return (this.table?.remove((part) => part.partition === partition) ?? []).flatMap(storedRows);
  }

  /** The rows of a table, by default of the first one, in the order in which they were written. */
  rows(of: SimulatedTable | undefined = this.table): Row[] {
    return this.stored(of).map(({ row }) => row);
  }

  /** The same, with how they came. */
  stored(of: SimulatedTable | undefined = this.table): StoredRow[] {
    return of?.parts.flatMap(storedRows) ?? [];
  }

  /** Blocks that the first table dropped as repeats. */
  get dropped(): number {
    return this.table?.dropped ?? 0;
  }

  get #replicas(): number {
    return this.#options.replicas ?? 1;
  }

  #seenAt(by: number): number[] {
    const now = performance.now();
    return Array.from({ length: this.#replicas }, (_, replica) =>
      replica === by ? now : now + this.#between(this.#options.lag ?? [0, 2_000]),
    );
  }

  /** What was not synced may be gone. The log may remember it all the same, or lack what is there. */
  #loseParts(table: SimulatedTable): void {
    const { draw } = this.#options;
    const since = performance.now() - writeBack;
    const mayBeLost = ({ isOnDisk, seenAt }: Part): boolean => !isOnDisk && (seenAt[0] ?? 0) > since;
    const keepsKeys = draw(2) === 0;
    table.remove((part) => mayBeLost(part) && draw(2) === 0, { keepsKeys });
    if (!table.isReplicated) table.log.loseEnd(this.now - writeBack, draw);
  }

  #between([least, most]: readonly [least: number, most: number]): number {
    return least + this.#options.draw(Math.max(1, most - least));
  }
}

function storedRows({ rows, token, partition, block, seenAt }: Part): StoredRow[] {
  return rows.map((row) => ({ row, token, partition, block, writtenAt: Math.min(...seenAt) }));
}
