import type { Reading } from "../../../core/sink.ts";
import { isReplicated } from "./deduplication.ts";
import { type Reach, writtenTablesOf } from "./written-tables.ts";
import { quoteText, type Select } from "../transport/sql.ts";
import { findTable, tableInfo, type TableInfo } from "./table.ts";
import { isUnreadable } from "../transport/request-error.ts";

/** How long an earlier reading will do, in milliseconds, and for which part of the window. */
const longestAge = 5_000;
const partOfWindow = 1 / 20;

/** A table, or a view, at one moment. */
type Look = TableInfo & {
  data_paths: readonly string[];
  altered: unknown;
  time: unknown;
  uptime: unknown;
  blocks?: readonly [highest: unknown, count: unknown];
};

interface Earlier {
  reading: Reading;
  /** When it was asked for, by the monotonic clock, in milliseconds. */
  at: number;
  /** Inserts that had been sent until then. */
  sent: number;
  /** Blocks that one insert made on average before that. */
  blocksEach: number;
}

/**
 * Reads one table and knows what hangs on it. A reading is one small statement: views are followed again only where a
 * description has changed since.
 */
export class TargetReader {
  readonly #database: string;
  readonly #table: string;
  #reach: Reach | undefined;
  #earlier: Earlier | undefined;
  #sent = 0;
  /** Whether this user may read `system.parts`. */
  #seesParts = true;
  readonly #mendsTokens: boolean;

  /** `repairsTokens`: when the server is started it forgets tokens whose rows it does not hold. */
  constructor(database: string, table: string, { repairsTokens = false } = {}) {
    this.#database = database;
    this.#table = table;
    this.#mendsTokens = repairsTokens;
  }

  /** What an insert reaches, as of the last look; undefined before the first. */
  get reach(): Reach | undefined {
    return this.#reach;
  }

  /** An insert goes out. */
  countInsert(): void {
    this.#sent += 1;
  }

  /** Looks at a table as it is now, whatever was known before. Throws a RequestError. */
  async learn(select: Select, table: TableInfo): Promise<void> {
    this.#seesParts = true;
    this.#earlier = undefined;
    this.#reach = await writtenTablesOf(select, table);
  }

  /** The last reading, while it will do: it is of this table, and few seconds and inserts have passed since. */
  get earlier(): Reading | undefined {
    if (this.#earlier === undefined || this.#earlier.reading.description !== this.#reach?.seen[0]?.create_table_query)
      return undefined;
    const { reading, at, sent, blocksEach } = this.#earlier;
    const mostInserts = Math.max(1, (reading.window.entries * partOfWindow) / blocksEach);
    const isYoung = performance.now() - at < longestAge && this.#sent - sent < mostInserts;
    return isYoung ? reading : undefined;
  }

  /** Reads the table; undefined where there is none. Throws a RequestError. */
  async read(select: Select): Promise<Reading | undefined> {
    const [at, sent] = [performance.now(), this.#sent];
    const reading = await this.#read(select);
    this.#earlier = reading && { reading, at, sent, blocksEach: this.#blocksEach(reading, sent) };
    return reading;
  }

  /** An insert into many partitions makes as many blocks: fewer of them then lie between two readings. */
  #blocksEach(reading: Reading, sent: number): number {
    const before = this.#earlier;
    if (before?.reading.table !== reading.table || sent === before.sent) return before?.blocksEach ?? 1;
    const grown = (reading.blocks ?? 0) - (before.reading.blocks ?? 0);
    return Math.max(1, grown / (sent - before.sent));
  }

  async #read(select: Select): Promise<Reading | undefined> {
    let reach = this.#reach ?? (await this.#follow(select));
    const looks = reach && (await this.#look(select, reach.seen));
    const table = looks?.find(({ database, name }) => database === this.#database && name === this.#table);
    if (looks === undefined || table === undefined) return undefined;
    if (!isAsSeen(looks, reach!.seen)) reach = await this.#follow(select);
    if (reach === undefined) return undefined;
    const replicated = isReplicated(table);
    const blocks = table.blocks?.[replicated ? 1 : 0];
    return {
      table: identityOf(table),
      time: Number(table.time),
      ...(blocks === undefined ? {} : { blocks: Number(blocks) }),
      ...(replicated ? { isReplicated: true } : {}),
      ...(replicated || this.#mendsTokens ? {} : { uptime: Number(table.uptime) }),
      window: reach.window,
      altered: Number(table.altered),
      description: table.create_table_query,
      taken: Date.now(),
    };
  }

  async #follow(select: Select): Promise<Reach | undefined> {
    const table = await findTable(select, this.#database, this.#table);
    this.#reach = table && (await writtenTablesOf(select, table));
    return this.#reach;
  }

  async #look(select: Select, tables: readonly TableInfo[]): Promise<Look[]> {
    try {
      return (await select(this.#query(tables))) as unknown as Look[];
    } catch (error) {
      if (!this.#seesParts || !isUnreadable(error)) throw error;
      this.#seesParts = false;
      return this.#look(select, tables);
    }
  }

  #query(tables: readonly TableInfo[]): string {
    const databases = tables.map(({ database }) => quoteText(database)).join(", ");
    const names = tables.map(({ name }) => quoteText(name)).join(", ");
    // Inactive parts too: a number is used once, also where its part was merged away. In a replicated table the numbers
    // of each partition begin at 0, so that its first block would not count.
    const parts = `SELECT max(max_block_number) AS highest FROM system.parts WHERE database = ${quoteText(this.#database)} AND table = ${quoteText(this.#table)} GROUP BY partition_id`;
    return [
      `SELECT ${tableInfo}, data_paths, toUnixTimestamp(metadata_modification_time) * 1000 AS altered, toUnixTimestamp64Milli(now64(3)) AS time, uptime() AS uptime`,
      this.#seesParts ? `, (SELECT [max(highest), sum(highest + 1)] FROM (${parts})) AS blocks` : "",
      ` FROM system.tables WHERE database IN (${databases}) AND name IN (${names})`,
    ].join("");
  }
}

/** Whether everything that hangs on the table is what it was. */
function isAsSeen(looks: readonly Look[], seen: readonly TableInfo[]): boolean {
  return seen.every((table) => {
    const look = looks.find(({ database, name }) => database === table.database && name === table.name);
    return look !== undefined && description(look) === description(table);
  });
}

/** Some databases show no UUID of their tables: there the folder of its data tells one from another. */
function identityOf({ uuid, data_paths }: Look): string {
  return /[^0-]/.test(uuid) ? uuid : (data_paths[0] ?? "");
}

function description(table: TableInfo): string {
  const { uuid, engine_full, create_table_query, dependencies_database, dependencies_table } = table;
  return JSON.stringify([uuid, engine_full, create_table_query, dependencies_database, dependencies_table]);
}
