import { Exception } from "../../../../engine/embedded-clickhouse/server/exception.ts";
import type { Draw } from "../network.ts";
import type { Result } from "./answer.ts";
import { readRows } from "./column-values.ts";
import type { Row, SimulatedColumn } from "./column-values.ts";
import { serverError } from "./errors.ts";
import { Insertion } from "./insertion.ts";
import type { InsertEffect, Interruption, Pace } from "./insertion.ts";
import type { Readable } from "./select.ts";
import { Profile } from "./settings.ts";
import type { Statement } from "./statement.ts";
import { identityOf, SimulatedTable } from "./table.ts";
import type { TableOptions, WriteContext } from "./table-options.ts";

/** A statement with what its request brought. */
export interface Execution {
  statement: Statement;
  body: string;
  query: URLSearchParams;
  /** Which replica works on it. */
  replica: number;
  pace: Pace;
  interruption: Interruption | undefined;
}

/** What the database needs of its server. */
export interface Server {
  draw: Draw;
  profile: Profile;
  /** Rights that the user has not. */
  denied: ReadonlySet<"parts" | "probe">;
  /** Its clock, in milliseconds since the epoch. */
  now: () => number;
  /** Seconds since it started. */
  uptime: () => number;
  version: string;
  /** When each replica shows a part that one of them writes now, by the monotonic clock, in milliseconds. */
  seenAt: (replica: number) => readonly number[];
}

/** The code of an error at a limit of time. */
const timeoutExceeded = 159;

interface Session {
  settings: Map<string, string>;
  tables: Map<string, SimulatedTable>;
}

/** The tables of a server, or of several replicas, and what statements do to them. */
export class Database {
  readonly tables = new Map<string, SimulatedTable>();
  /** What became of inserts that a sink cannot see, by how often. */
  readonly effects = new Map<InsertEffect, number>();
  readonly #databases = new Set<string>();
  readonly #sessions = new Map<string, Session>();
  readonly #underWay = new Set<Insertion>();
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  addDatabase(name: string): void {
    this.#databases.add(name);
  }

  /** Makes a table with its views, and the database where it is missing. Replaces one of that name. */
  add(options: TableOptions): SimulatedTable {
    const table = new SimulatedTable(options, this.#server.draw, this.#server.now());
    this.#register(table);
    return table;
  }

  #register(table: SimulatedTable): void {
    this.addDatabase(table.database);
    this.tables.set(`${table.database}.${table.name}`, table);
    for (const { to } of table.views) this.#register(to);
  }

  /** Its server is killed: of each insert under way a part may be there. */
  kill(): void {
    for (const insertion of this.#underWay) insertion.kill(this.#server.draw);
    this.#underWay.clear();
    this.#sessions.clear();
  }

  /** Carries a statement out. Throws the server's error, `ServerGone`, or `NotUnderstood`. */
  async execute(execution: Execution): Promise<Result> {
    const { statement, query } = execution;
    const settings = this.#server.profile.ofRequest(query);
    const session = this.#sessionOf(query);
    switch (statement.kind) {
      case "insert":
        return this.#insert(statement, execution, new Map([...(session?.settings ?? []), ...settings]));
      case "select": {
        const rows = statement.run(this.#readable(execution.replica));
        return { text: rows.map((row) => `${JSON.stringify(row)}\n`).join(""), written: 0 };
      }
      default:
        this.#define(statement, session);
        if (query.get("session_timeout") === "0") this.#sessions.delete(query.get("session_id") ?? "");
        return { text: "", written: 0 };
    }
  }

  async #insert(
    { into, columns }: Extract<Statement, { kind: "insert" }>,
    { body, query, replica, pace, interruption }: Execution,
    settings: ReadonlyMap<string, string>,
  ): Promise<Result> {
    const { profile } = this.#server;
    if (profile.get("readonly") !== "0") throw serverError(164, "Cannot execute query in readonly mode.");
    const setting = (name: string): string => settings.get(name) ?? profile.get(name);
    if (into.kind === "types") {
      return { text: "", written: readRows(body, pick(into.columns, columns, "function null"), into.columns).length };
    }
    const session = this.#sessionOf(query);
    const table = into.kind === "table" ? this.#table(into) : session?.tables.get(into.name);
    if (table === undefined) throw serverError(60, `Table ${into.name} does not exist.`);
    const written = pick(table.columns, columns, `table ${table.database}.${table.name} (${table.uuid})`);
    const rows = readRows(body, written, table.columns);
    const context = this.#context(table, rows, setting, replica);
    const { token } = context;
    for (const row of rows) table.received.push({ token, row });
    const options = {
      mostPartitions: Number(setting("max_partitions_per_insert_block")),
      ignoresViews: setting("materialized_views_ignore_errors") === "1",
      onEffect: (effect: InsertEffect) => this.effects.set(effect, (this.effects.get(effect) ?? 0) + 1),
    };
    try {
      const blocks = blocksOf(rows, setting);
      for (const [index, block] of blocks.entries()) {
        const identity = index === 0 ? context.identity : context.identity && `${context.identity} block ${index}`;
        const insertion = new Insertion(table, block, { ...options, context: { ...context, identity } });
        await this.#run(insertion, pace, index === blocks.length - 1 ? interruption : undefined);
      }
    } catch (error) {
      const isBroken = error instanceof Exception && error.code === timeoutExceeded;
      // With this setting a limit of time ends the insert in good order, and the answer counts the rows that it had.
      if (!isBroken || setting("timeout_overflow_mode") !== "break") throw error;
    }
    return { text: "", written: rows.length };
  }

  async #run(insertion: Insertion, pace: Pace, interruption: Interruption | undefined): Promise<void> {
    this.#underWay.add(insertion);
    try {
      await insertion.run(pace, interruption);
    } finally {
      this.#underWay.delete(insertion);
    }
  }

  #context(
    table: SimulatedTable,
    rows: readonly Row[],
    setting: (name: string) => string,
    replica: number,
  ): WriteContext {
    const given = setting("insert_deduplication_token");
    const token = given === "" ? undefined : given;
    const isAsync = table.isAsync || setting("async_insert") === "1";
    const identity = deduplicates(setting) && !isAsync ? identityOf(token, rows) : undefined;
    const { now, seenAt } = this.#server;
    return { now: now(), token, identity, seenAt: seenAt(replica) };
  }

  #define(statement: Exclude<Statement, { kind: "insert" | "select" }>, session: Session | undefined): void {
    switch (statement.kind) {
      case "set":
        for (const [name, value] of Object.entries(statement.settings)) {
          this.#server.profile.check(name, value);
          session?.settings.set(name, value);
        }
        return;
      case "create database":
        this.addDatabase(statement.name);
        return;
      case "create table":
        this.#create(statement);
        return;
      case "create temporary":
        this.#createTemporary(statement, session);
        return;
      case "drop temporary":
        session?.tables.delete(statement.name);
        return;
      default:
        statement satisfies never;
    }
  }

  #create({ database, name, columns, engine, settings }: Extract<Statement, { kind: "create table" }>): void {
    if (!this.#databases.has(database)) throw serverError(81, `Database ${database} does not exist.`);
    if (this.tables.has(`${database}.${name}`)) return;
    const window = Number(settings["non_replicated_deduplication_window"] ?? 0);
    this.add({ database, name, columns, engine, window, isSynced: settings["fsync_after_insert"] === "1" });
  }

  #createTemporary({ name, as }: Extract<Statement, { kind: "create temporary" }>, session: Session | undefined): void {
    if (this.#server.denied.has("probe")) throw denied("CREATE ARBITRARY TEMPORARY TABLE ON *.*");
    const { columns, constraints = [] } = this.#table(as).options;
    const copy = new SimulatedTable({ name, columns, constraints, engine: "Null" }, this.#server.draw, 0);
    session?.tables.set(name, copy);
  }

  #table({ database, name }: { database: string; name: string }): SimulatedTable {
    const table = this.tables.get(`${database}.${name}`);
    if (table !== undefined) return table;
    if (!this.#databases.has(database)) throw serverError(81, `Database ${database} does not exist.`);
    throw serverError(60, `Table ${database}.${name} does not exist.`);
  }

  #sessionOf(query: URLSearchParams): Session | undefined {
    const id = query.get("session_id");
    if (id === null) return undefined;
    const session = this.#sessions.get(id) ?? { settings: new Map(), tables: new Map() };
    this.#sessions.set(id, session);
    return session;
  }

  #readable(replica: number): Readable {
    const { profile, now, uptime, version } = this.#server;
    return {
      constant: (name) =>
        ({ now: now(), now64: now(), uptime: uptime(), serverUUID: serverUuid(replica), version })[name],
      rows: (database, name) => {
        if (database !== "system") return this.#table({ database, name }).parts.flatMap(({ rows }) => [...rows]);
        return systemRows(name, [...this.tables.values()], { profile, replica, denied: this.#server.denied });
      },
    };
  }
}

/** Whether blocks of an insert are known: `deduplicate_insert` decides where the server has it. */
function deduplicates(setting: (name: string) => string): boolean {
  const newer = setting("deduplicate_insert");
  if (newer === "enable" || newer === "disable") return newer === "enable";
  return setting("insert_deduplicate") === "1";
}

/** The blocks of an insert: one, unless strict limits in rows or bytes cut it. */
function blocksOf(rows: readonly Row[], setting: (name: string) => string): Row[][] {
  if (setting("use_strict_insert_block_limits") !== "1") return [[...rows]];
  const [mostRows, mostBytes] = [
    Number(setting("max_insert_block_size")),
    Number(setting("max_insert_block_size_bytes")),
  ];
  const blocks: Row[][] = [];
  let bytes = Infinity;
  for (const row of rows) {
    const size = JSON.stringify(row).length;
    const isFull = (blocks.at(-1)?.length ?? Infinity) >= mostRows || (mostBytes > 0 && bytes + size > mostBytes);
    if (isFull) blocks.push([]);
    bytes = isFull ? size : bytes + size;
    blocks.at(-1)!.push(row);
  }
  return blocks;
}

/** Each replica is a server of its own. */
function serverUuid(replica: number): string {
  return `5e70e000-0000-4000-8000-${String(replica).padStart(12, "0")}`;
}

/** The columns that an INSERT names. */
function pick(all: readonly SimulatedColumn[], names: readonly string[], table: string): SimulatedColumn[] {
  return names.map((name) => {
    const column = all.find((each) => each.name === name);
    if (column === undefined) throw serverError(16, `No such column ${name} in ${table}.`);
    return column;
  });
}

function denied(right: string): Error {
  return serverError(
    497,
    `default: Not enough privileges. To execute this query, it's necessary to have the grant ${right}.`,
  );
}

/** The rows of a table of the database `system`, as this replica shows them. */
function systemRows(
  name: string,
  tables: readonly SimulatedTable[],
  { profile, replica, denied: rights }: { profile: Profile; replica: number; denied: Server["denied"] },
): Record<string, unknown>[] {
  switch (name) {
    case "one":
      return [{ dummy: 0 }];
    case "tables":
      return tables.flatMap((table) => [table.describe(), ...table.views.map((view) => view.describe())]);
    case "columns":
      return tables.flatMap(columnRows);
    case "parts":
      if (rights.has("parts")) throw denied("SELECT(max_block_number) ON system.parts");
      return tables.flatMap((table) => partRows(table, replica));
    case "settings":
      return profile.rows;
    case "merge_tree_settings":
    case "replicated_merge_tree_settings":
      return [
        { name: "non_replicated_deduplication_window", value: "0" },
        { name: "replicated_deduplication_window", value: "10000" },
        { name: "replicated_deduplication_window_seconds", value: "3600" },
      ];
    default:
      throw serverError(60, `Table system.${name} does not exist.`);
  }
}

function columnRows({ database, name, columns }: SimulatedTable): Record<string, unknown>[] {
  return columns.map((column) => ({
    database,
    table: name,
    name: column.name,
    type: column.type,
    default_kind: column.byDefault === undefined ? "" : "DEFAULT",
  }));
}

function partRows({ database, name, parts }: SimulatedTable, replica: number): Record<string, unknown>[] {
  const now = performance.now();
  return parts
    .filter(({ seenAt }) => (seenAt[replica] ?? 0) <= now)
    .map(({ partition, block, rows }) => ({
      database,
      table: name,
      partition_id: partition,
      min_block_number: block,
      max_block_number: block,
      rows: rows.length,
      active: 1,
    }));
}
