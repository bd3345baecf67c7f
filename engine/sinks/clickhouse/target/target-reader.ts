import type { Reading } from "../../../core/sink.ts";
import { isReplicated } from "./deduplication.ts";
import { type WrittenTables, writtenTablesOf } from "./written-tables.ts";
import { quoteText } from "../transport/quote.ts";
import type { Select } from "../transport/sql.ts";
import { findTable, tableInfo, type TableInfo, tableOf } from "./table.ts";
import { numberIn, type Row, textIn, textsIn, unexpected } from "../transport/rows.ts";
import { isUnreadable } from "../transport/request-error.ts";

/** The maximum age of a reading: in milliseconds, and as a part of the deduplication window. */
const longestAge = 5_000;
const partOfWindow = 1 / 20;

/** A table, or a view, at one moment. */
type TableSnapshot = TableInfo & {
  server: string;
  data_paths: readonly string[];
  altered: number;
  time: number;
  uptime: number;
  version: string;
  blocks?: readonly [highest: number, count: number];
  /** Of a replicated table: how many block numbers each partition has used. */
  partitions?: Readonly<Record<string, number>>;
};

interface CachedReading {
  reading: Reading;
  /** The time of the request, by the monotonic clock, in milliseconds. */
  at: number;
  /** The number of inserts sent before it. */
  sent: number;
  /** The average number of blocks per insert before it. */
  blocksEach: number;
}

export interface ReaderOptions {
  /** The server drops tokens without rows when it starts. */
  repairsTokens?: boolean;
  /** The identity of what the server remembers of inserts, in place of its UUID. */
  memory?: () => string | undefined;
}

const nothing = (): undefined => undefined;

/**
 * Reads the state of one table, and the tables that an insert into it writes. A reading is one small statement: the
 * views are read again only after a description has changed.
 */
export class TargetReader {
  readonly #database: string;
  readonly #table: string;
  #written: WrittenTables | undefined;
  #cached: CachedReading | undefined;
  #sent = 0;
  #version: string | undefined;
  /** Whether this user may read `system.parts`. */
  #seesParts = true;
  readonly #repairsTokens: boolean;
  readonly #memory: () => string | undefined;

  constructor(database: string, table: string, { repairsTokens = false, memory = nothing }: ReaderOptions = {}) {
    this.#database = database;
    this.#table = table;
    this.#repairsTokens = repairsTokens;
    this.#memory = memory;
  }

  /** The tables that an insert writes, as of the last reading; undefined before the first. */
  get written(): WrittenTables | undefined {
    return this.#written;
  }

  /** The version of the server that gave the last reading; undefined before the first. */
  get version(): string | undefined {
    return this.#version;
  }

  /** Call before each insert. */
  countInsert(): void {
    this.#sent += 1;
  }

  /** Takes a table in its current state, and forgets earlier readings. Throws a RequestError. */
  async learn(select: Select, table: TableInfo): Promise<void> {
    this.#seesParts = true;
    this.#cached = undefined;
    this.#written = await writtenTablesOf(select, table);
  }

  /** The last reading, if it is of this table and only a few seconds and inserts old. */
  get cached(): Reading | undefined {
    if (this.#cached === undefined || this.#cached.reading.description !== this.#written?.tables[0]?.create_table_query)
      return undefined;
    const { reading, at, sent, blocksEach } = this.#cached;
    const mostInserts = Math.max(1, (reading.window.entries * partOfWindow) / blocksEach);
    const isYoung = performance.now() - at < longestAge && this.#sent - sent < mostInserts;
    return isYoung ? reading : undefined;
  }

  /** Reads the table; undefined where there is none. Throws a RequestError. */
  async read(select: Select): Promise<Reading | undefined> {
    const [at, sent] = [performance.now(), this.#sent];
    const reading = await this.#read(select);
    this.#cached = reading && { reading, at, sent, blocksEach: this.#blocksEach(reading, sent) };
    return reading;
  }

  /**
   * The average number of blocks per insert. An insert into many partitions makes many blocks, so fewer inserts may lie
   * between two readings.
   */
  #blocksEach(reading: Reading, sent: number): number {
    const before = this.#cached;
    if (before?.reading.table !== reading.table || sent === before.sent) return before?.blocksEach ?? 1;
    const grown = (reading.blocks ?? 0) - (before.reading.blocks ?? 0);
    return Math.max(1, grown / (sent - before.sent));
  }

  async #read(select: Select): Promise<Reading | undefined> {
    let written = this.#written ?? (await this.#findWrittenTables(select));
    const snapshots = written && (await this.#readTables(select, written.tables));
    const table = snapshots?.find(({ database, name }) => database === this.#database && name === this.#table);
    if (snapshots === undefined || table === undefined) return undefined;
    if (!isUnchanged(snapshots, written!.tables)) written = await this.#findWrittenTables(select);
    if (written === undefined) return undefined;
    this.#version = table.version;
    const replicated = isReplicated(table);
    const blocks = table.blocks?.[replicated ? 1 : 0];
    const server = [this.#memory(), table.server].find(isIdentity);
    return {
      table: identityOf(table),
      ...(replicated || server === undefined ? {} : { server }),
      ...viewsOf(written),
      ...(written.forgetful === undefined ? {} : { forgetful: written.forgetful }),
      time: table.time,
      ...(blocks === undefined ? {} : { blocks }),
      ...(table.partitions === undefined ? {} : { partitions: table.partitions }),
      ...(replicated ? { isReplicated: true } : {}),
      ...(replicated || this.#repairsTokens ? {} : { uptime: table.uptime }),
      window: written.window,
      altered: table.altered,
      description: table.create_table_query,
      taken: Date.now(),
    };
  }

  async #findWrittenTables(select: Select): Promise<WrittenTables | undefined> {
    const table = await findTable(select, this.#database, this.#table);
    this.#written = table && (await writtenTablesOf(select, table));
    return this.#written;
  }

  async #readTables(select: Select, tables: readonly TableInfo[]): Promise<TableSnapshot[]> {
    try {
      return (await select(this.#query(tables))).map((row) => snapshotOf(row));
    } catch (error) {
      if (!this.#seesParts || !isUnreadable(error)) throw error;
      this.#seesParts = false;
      return this.#readTables(select, tables);
    }
  }

  #query(tables: readonly TableInfo[]): string {
    const databases = tables.map(({ database }) => quoteText(database)).join(", ");
    const names = tables.map(({ name }) => quoteText(name)).join(", ");
    // Inactive parts count too: a block number is used once, even if its part was merged. In a replicated table the
    // numbers of each partition begin at 0, hence the + 1, so that the first block counts.
    const parts = `SELECT partition_id, max(max_block_number) AS highest FROM system.parts WHERE database = ${quoteText(this.#database)} AND table = ${quoteText(this.#table)} GROUP BY partition_id`;
    const isOfPartitions = this.#seesParts && tables[0] !== undefined && isReplicated(tables[0]);
    return [
      `SELECT ${tableInfo}, data_paths, toUnixTimestamp(metadata_modification_time) * 1000 AS altered, toUnixTimestamp64Milli(now64(3)) AS time, uptime() AS uptime, version() AS version, toString(serverUUID()) AS server`,
      this.#seesParts ? `, (SELECT [max(highest), sum(highest + 1)] FROM (${parts})) AS blocks` : "",
      isOfPartitions
        ? `, (SELECT groupArray([partition_id, toString(highest + 1)]) FROM (${parts})) AS partitions`
        : "",
      ` FROM system.tables WHERE database IN (${databases}) AND name IN (${names})`,
    ].join("");
  }
}

/** Throws a RequestError for a row that has not what was asked for. */
function snapshotOf(row: Row): TableSnapshot {
  const number = (field: string): number => numberIn(row, field, "system.tables");
  const { blocks, partitions } = row;
  if (blocks !== undefined && (!Array.isArray(blocks) || blocks.length !== 2)) {
    throw unexpected("system.parts", "blocks", "a list of two numbers", blocks);
  }
  const block = (index: number): number => numberIn({ block: blocks?.[index] as unknown }, "block", "system.parts");
  return {
    ...tableOf(row),
    server: textIn(row, "server", "system.tables"),
    data_paths: textsIn(row, "data_paths", "system.tables"),
    altered: number("altered"),
    time: number("time"),
    uptime: number("uptime"),
    version: textIn(row, "version", "system.tables"),
    ...(blocks !== undefined && { blocks: [block(0), block(1)] }),
    ...(partitions !== undefined && partitionsOf(partitions)),
  };
}

/** More partitions than that are told apart by no reading: each would be noted with each batch. */
const mostPartitions = 1_000;

function partitionsOf(told: unknown): Pick<TableSnapshot, "partitions"> {
  const question = "system.parts";
  if (!Array.isArray(told)) throw unexpected(question, "partitions", "a list", told);
  if (told.length > mostPartitions) return {};
  const used = told.map((one: unknown): [string, number] => {
    const [id, count] = Array.isArray(one) ? (one as unknown[]) : [];
    if (typeof id !== "string") throw unexpected(question, "partitions", "pairs of an id and a number", told);
    return [id, numberIn({ count }, "count", question)];
  });
  return { partitions: Object.fromEntries(used) };
}

/** Whether the descriptions of the table and of all tables that an insert writes are unchanged. */
function isUnchanged(snapshots: readonly TableSnapshot[], known: readonly TableInfo[]): boolean {
  return known.every((table) => {
    const snapshot = snapshots.find(({ database, name }) => database === table.database && name === table.name);
    return snapshot !== undefined && description(snapshot) === description(table);
  });
}

/** The UUID of a table. In databases without UUIDs the folder of its data, which is unique. */
function identityOf({ uuid, data_paths }: TableSnapshot): string {
  return isIdentity(uuid) ? uuid : (data_paths[0] ?? "");
}

/** Whether a UUID is one: where there is none, all digits are 0. */
function isIdentity(uuid: string | undefined): uuid is string {
  return uuid !== undefined && /[^0-]/.test(uuid);
}

/** The views that an insert feeds, by their names and UUIDs: one that was dropped and made again is another one. */
function viewsOf({ views, tables, own }: WrittenTables): Pick<Reading, "views" | "own"> {
  if (views.length === 0) return {};
  const uuids = new Map(tables.map(({ database, name, uuid }) => [`${database}.${name}`, uuid]));
  return { own, views: Object.fromEntries(views.map((view) => [view, uuids.get(view) ?? ""])) };
}

function description(table: TableInfo): string {
  const { uuid, engine_full, create_table_query, dependencies_database, dependencies_table } = table;
  return JSON.stringify([uuid, engine_full, create_table_query, dependencies_database, dependencies_table]);
}
