import { quoteName } from "../../../../engine/sinks/clickhouse/transport/quote.ts";
import type { Draw } from "../network.ts";
import type { Row, SimulatedColumn } from "./column-values.ts";
import { DeduplicationLog } from "./deduplication-log.ts";
import type { LogLimits } from "./deduplication-log.ts";
import type { Part, TableOptions, ViewOptions, WriteContext } from "./table-options.ts";

/** A materialized view that hangs on a table. */
export class View {
  readonly database: string;
  readonly name: string;
  readonly uuid: string;
  readonly to: SimulatedTable;
  /** To be set to undefined where what it fails at is mended elsewhere. */
  broken: ViewOptions["broken"];
  #query: string;
  #select: (row: Row) => Row;
  #altered: number;
  /** How often its query was modified. */
  #version = 0;

  constructor(database: string, options: ViewOptions, draw: Draw, now: number) {
    const { name, to, query = "SELECT *", select = (row) => row, broken } = options;
    this.database = database;
    this.name = name;
    this.uuid = drawUuid(draw);
    this.to = new SimulatedTable(to, draw, now);
    this.#query = query;
    this.#select = select;
    this.#altered = now;
    this.broken = broken;
  }

  select(row: Row): Row {
    return this.#select(row);
  }

  /** What the blocks that it passes on are known by in its target. */
  identityOf(identity: string | undefined): string | undefined {
    return identity === undefined ? undefined : `${identity} by ${this.name} ${this.#version}`;
  }

  /** A person modifies its query, even to the same one: its target then knows no block that came before (seen). */
  modifyQuery(
    { query = this.#query, select = this.#select }: Pick<ViewOptions, "query" | "select">,
    now: number,
  ): void {
    this.#query = query;
    this.#select = select;
    this.#version += 1;
    this.#altered = now;
    this.broken = undefined;
  }

  /** Its row in `system.tables`. */
  describe(): Record<string, unknown> {
    const columns = this.to.columns.map(({ name, type }) => `\`${name}\` ${type}`).join(", ");
    const query = `CREATE MATERIALIZED VIEW ${plain(this.database)}.${plain(this.name)} TO ${plain(this.to.database)}.${plain(this.to.name)} (${columns}) AS ${this.#query}`;
    return {
      database: this.database,
      name: this.name,
      uuid: this.uuid,
      engine: "MaterializedView",
      engine_full: "",
      partition_key: "",
      create_table_query: query,
      dependencies_database: [],
      dependencies_table: [],
      data_paths: [],
      metadata_modification_time: this.#altered,
    };
  }
}

/** One table: its parts, the log of its blocks, and how `system.tables` describes it. */
export class SimulatedTable {
  readonly database: string;
  readonly name: string;
  readonly uuid: string;
  readonly views: View[];
  readonly parts: Part[] = [];
  readonly log = new DeduplicationLog();
  /** When it was made or altered, by the server's clock, in milliseconds since the epoch. */
  altered: number;
  /** Blocks that were dropped as repeats. */
  dropped = 0;
  /** What is done when so many parts were written. */
  onceWritten: { at: number; work: () => void } | undefined;
  /** What is done when the writing of so many parts has begun, before the part is there. */
  onceBegun: { at: number; work: () => void } | undefined;
  /** Blocks that were written, and parts that were begun. */
  written = 0;
  begun = 0;
  /** The rows of every insert into it that arrived whole, also where nothing came of it. */
  readonly received: { token: string | undefined; row: Row }[] = [];
  #options: TableOptions;
  /** The highest block number, of the table or of each partition. */
  readonly #numbers = new Map<string, number>();

  constructor(options: TableOptions, draw: Draw, now: number) {
    this.#options = options;
    this.database = options.database ?? "d";
    this.name = options.name ?? "t";
    this.uuid = drawUuid(draw);
    this.altered = now;
    this.views = (options.views ?? []).map((view) => new View(this.database, view, draw, now));
  }

  get options(): TableOptions {
    return this.#options;
  }

  get columns(): readonly SimulatedColumn[] {
    return this.#options.columns;
  }

  get isReplicated(): boolean {
    return this.engine.startsWith("Replicated") || this.engine.startsWith("Shared");
  }

  get engine(): string {
    return this.#options.engine ?? "MergeTree";
  }

  /** Whether it collects its inserts, whatever they ask for. */
  get isAsync(): boolean {
    return this.#options.isAsync ?? false;
  }

  get isSynced(): boolean {
    return this.#options.isSynced ?? true;
  }

  /** Whether it keeps parts at all. */
  get #keepsParts(): boolean {
    return this.engine.endsWith("MergeTree");
  }

  get #limits(): LogLimits {
    const { window = 10_000, windowSeconds = 3600 } = this.#options;
    return { entries: window, seconds: this.isReplicated ? windowSeconds : Infinity };
  }

  /** The rows of each partition, in the order in which the partitions occur. */
  split(rows: readonly Row[]): Map<string, Row[]> {
    const partitions = new Map<string, Row[]>();
    for (const row of rows) {
      const partition = String(this.#options.partitionBy?.of(row) ?? "all");
      const known = partitions.get(partition);
      if (known === undefined) partitions.set(partition, [row]);
      else known.push(row);
    }
    return partitions;
  }

  /** Writes the rows of one partition, unless their block is known. Returns the part, or undefined where it was dropped. */
  write(partition: string, rows: readonly Row[], context: WriteContext): Part | undefined {
    if (!this.#keepsParts) return undefined;
    const key = this.#keyOf(partition, context);
    if (key !== undefined && this.log.find(key, this.#limits, context.now) !== undefined) {
      this.dropped += 1;
      // A table of its own takes the number first and looks then.
      if (!this.isReplicated) this.#take(partition);
      return undefined;
    }
    const block = this.#take(partition);
    if (key !== undefined) this.log.note(key, { partition, block, at: context.now }, this.#limits);
    const { token, seenAt } = context;
    const part = { partition, block, rows, token, seenAt, isOnDisk: this.isReplicated || this.isSynced };
    this.parts.push(part);
    this.written += 1;
    if (this.onceWritten?.at === this.written) this.onceWritten.work();
    return part;
  }

  /** The writing of a part begins. */
  begin(): void {
    this.begun += 1;
    if (this.onceBegun?.at === this.begun) this.onceBegun.work();
  }

  /** The server was killed between the entry in its log and the part. */
  noteWithoutPart(partition: string, context: WriteContext): void {
    const key = this.#keyOf(partition, context);
    if (key === undefined || this.log.find(key, this.#limits, context.now) !== undefined) return;
    this.log.note(key, { partition, block: this.#take(partition), at: context.now }, this.#limits);
  }

  /** Removes parts. Unless `keepsKeys`, as for a part that was lost, their blocks may be inserted again. */
  remove(isGone: (part: Part) => boolean, { keepsKeys = false } = {}): Part[] {
    const gone = this.parts.filter(isGone);
    const isOfThem = new Set(gone);
    const stay = this.parts.filter((part) => !isOfThem.has(part));
    this.parts.splice(0, this.parts.length, ...stay);
    if (!keepsKeys) this.log.forget(gone);
    return gone;
  }

  /** After a restart of a server of its own the numbers go on after the parts that are there. */
  restart(): void {
    if (this.isReplicated) return;
    this.#numbers.clear();
    for (const { block } of this.parts) this.#numbers.set("", Math.max(block, this.#numbers.get("") ?? 0));
  }

  /** A person changes it. */
  alter(changes: Partial<TableOptions>, now: number): void {
    this.#options = { ...this.#options, ...changes };
    this.altered = now;
  }

  /** Its row in `system.tables`. */
  describe(): Record<string, unknown> {
    const full = this.#engineFull();
    return {
      database: this.database,
      name: this.name,
      uuid: this.uuid,
      engine: this.engine,
      engine_full: full,
      partition_key: this.#options.partitionBy?.expression ?? "",
      create_table_query: `CREATE TABLE ${plain(this.database)}.${plain(this.name)} (${this.#definitions()}) ENGINE = ${full}`,
      dependencies_database: this.views.map(({ database }) => database),
      dependencies_table: this.views.map(({ name }) => name),
      data_paths: [`/var/lib/clickhouse/store/${this.uuid.slice(0, 3)}/${this.uuid}/`],
      metadata_modification_time: this.altered,
    };
  }

  #definitions(): string {
    const columns = this.columns.map(({ name, type, byDefault }) => {
      const value = byDefault === undefined ? "" : ` DEFAULT ${JSON.stringify(byDefault)}`;
      return `\`${name}\` ${type}${value}`;
    });
    const constraints = (this.#options.constraints ?? []).map(
      ({ name, expression }) => `CONSTRAINT ${name} CHECK ${expression}`,
    );
    return [...columns, ...constraints].join(", ");
  }

  #engineFull(): string {
    if (!this.#keepsParts) return this.engine;
    const { partitionBy, window = 10_000, windowSeconds = 3600 } = this.#options;
    const settings = this.isReplicated
      ? `replicated_deduplication_window = ${window}, replicated_deduplication_window_seconds = ${windowSeconds}, `
      : `non_replicated_deduplication_window = ${window}, `;
    const synced = this.isSynced ? "fsync_after_insert = 1, fsync_part_directory = 1, " : "";
    const asynchronous = this.#options.isAsync === true ? "async_insert = 1, " : "";
    const by = partitionBy === undefined ? "" : ` PARTITION BY ${partitionBy.expression}`;
    const place = this.isReplicated ? `('/clickhouse/tables/${this.uuid}', '{replica}')` : "";
    return `${this.engine}${place}${by} ORDER BY tuple() SETTINGS ${settings}${synced}${asynchronous}index_granularity = 8192`;
  }

  /** The block number of the next part. */
  #take(partition: string): number {
    const counter = this.isReplicated ? partition : "";
    const number = (this.#numbers.get(counter) ?? (this.isReplicated ? -1 : 0)) + 1;
    this.#numbers.set(counter, number);
    return number;
  }

  /** Under which a block is known; undefined where nothing is remembered. */
  #keyOf(partition: string, { identity }: WriteContext): string | undefined {
    return identity === undefined || this.#limits.entries === 0 ? undefined : `${partition} ${identity}`;
  }
}

/** What an insert is known by: its token, or else all its rows, whatever partitions they go to. */
export function identityOf(token: string | undefined, rows: readonly Row[]): string {
  return token === undefined ? `rows ${JSON.stringify(rows)}` : `token ${token}`;
}

/** 128 bits, as the server writes them. */
function drawUuid(draw: Draw): string {
  const digits = Array.from({ length: 32 }, () => draw(16).toString(16)).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function plain(name: string): string {
  return /^\w+$/.test(name) ? name : quoteName(name);
}
