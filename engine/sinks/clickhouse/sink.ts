import type { Agent } from "node:http";
import type { ClickHouseSettings } from "@clickhouse/client";
import type { EngineOptions, SinkConfig } from "../../../schemas/pipeline.ts";
import type { RowWalks } from "../../event/raw-json.ts";
import type { Answer, Block, CheckAnswer, Probe, Reading, RowWriter, Sink } from "../../core/sink.ts";
import { clippedTo } from "../../peers/foreign-text.ts";
import type { TargetRules } from "../../peers/targets.ts";
import type { Log } from "../../telemetry/log.ts";
import { asAnswer, type FailedAnswer, isOfConstraint, statementAnswer } from "./transport/failures.ts";
import { Connection, type EmbeddedServer } from "./transport/connection.ts";
import { addColumns, create, creationSettings, missingColumns, missingTable } from "./target/creation.ts";
import { whyAsynchronous } from "./target/deduplication.ts";
import { configuredTypes } from "./target/statements.ts";
import { commonSettings, insertStatement, newerSettings, tokenSetting } from "./insert/insert-settings.ts";
import { Inserter, PartitionLimit } from "./insert/inserter.ts";
import { BlockProbe } from "./insert/probe.ts";
import { knownOf, readProfile, refusalOf } from "./insert/profile.ts";
import { reviewOf } from "./insert/profile-review.ts";
import { encodersFor, RowEncoders, type Schemas } from "./encode/row-encoders.ts";
import { BufferPool } from "./encode/buffer-pool.ts";
import { JsonRowWriter } from "./encode/json-row-writer.ts";
import { type Select, selectOn } from "./transport/sql.ts";
import { orderOf } from "./target/order.ts";
import { type ColumnInfo, findColumns, findTable, type TableInfo } from "./target/table.ts";
import { TargetReader } from "./target/target-reader.ts";
import { writtenTablesOf } from "./target/written-tables.ts";
import { withTimeLimit } from "../../flow/time-limit.ts";
import { readVersion, whyTooOld } from "./target/version.ts";

/** What the sink is made with beside its config. */
export interface ClickHouseTools {
  pipeline_id: string;
  /** The fields that feed the sink. */
  schemas: Schemas;
  options: Pick<EngineOptions, "create_table" | "alter_table" | "null">;
  /** The address for `host: embedded`; a function where it may change. */
  embedded?: EmbeddedServer | (() => EmbeddedServer);
  /** The agent for HTTP connections; by default one of the sink's own, which applies its TLS settings. */
  agent?: Agent;
  /** Which servers may be connected to; without it, the defaults. */
  targets?: TargetRules;
  log: Log;
}

export interface ClickHouseSinkOptions extends ClickHouseTools {
  /** With secrets resolved to their values. */
  sink: SinkConfig;
}

/** Time limit of `open` and of `read`, in milliseconds: their statements are small. */
const metadataTimeout = 30_000;

/** The most characters of what is wrong with a target: it names the statements that would create it. */
const longestSetup = 20_000;

/** Versions of a server that are remembered at a time. */
const mostVersions = 16;

/** Bytes that this thread keeps for the bodies of inserts: those of small batches. To large ones a new buffer costs little. */
const keptBytes = 16 * 1024 * 1024;
const bodies = new BufferPool(keptBytes);

/**
 * Writes to one ClickHouse table over HTTP, with one insert of JSONEachRow for each block.
 *
 * Until `open` succeeds, the configured column types are used. `open` reads the table: from then on its types decide
 * how values are written and what null becomes.
 */
export class ClickHouseSink implements Sink {
  readonly #options: ClickHouseSinkOptions;
  readonly #connection: Connection;
  readonly #reader: TargetReader;
  readonly #inserter: Inserter;
  #encoders: RowEncoders;
  /** Bytes of the last insert: a guess at the next one. */
  #lastBodyBytes = 0;
  /** The description of the table when it was opened; undefined before. */
  #description: string | undefined;
  #columns: readonly ColumnInfo[] = [];
  /** Settings of inserts that not every server knows; undefined where it cannot be asked. */
  #newerSettings: ClickHouseSettings | undefined;
  /** Settings of inserts that the profile has otherwise. */
  #corrections: ClickHouseSettings = {};
  #remarks: readonly string[] = [];
  /** The versions of the server whose settings were asked for. */
  readonly #versions = new Set<string>();
  #hasWarned = false;
  #created = 0;
  /** The server that answered last about a table that is not replicated, and those before it. */
  #server: string | undefined;
  readonly #formerServers = new Set<string>();
  /** Two servers that answer in turn. */
  #several: readonly [string, string] | undefined;

  /** Throws an Error that names field and column if the mapping is not valid for the schema. */
  constructor(options: ClickHouseSinkOptions) {
    const { connection_params, table, mapping } = options.sink;
    this.#options = options;
    this.#encoders = new RowEncoders(mapping, options.schemas, options.options.null);
    this.#connection = new Connection(connection_params, options);
    this.#reader = new TargetReader(connection_params.database, table, {
      repairsTokens: connection_params.host === "embedded",
      memory: () => this.#connection.memory,
    });
    this.#inserter = new Inserter(this.#connection, this.#reader);
  }

  get atLeastOnce(): string | undefined {
    const reason =
      this.#several === undefined
        ? this.#reader.written?.atLeastOnce
        : `${this.#connection.name} is the address of several servers (${this.#several.join(", ")}), whose tables are not replicated: a repeated insert may reach another one, which does not know it; name one server, or replicate the table`;
    return reason && clippedTo(this.#connection.redact(reason), longestSetup);
  }

  get profileRemark(): string | undefined {
    if (this.#remarks.length === 0) return undefined;
    const text = `the settings profile of user ${this.#connection.username} has ${this.#remarks.join("; ")}`;
    return clippedTo(this.#connection.redact(text), longestSetup);
  }

  get created(): number {
    return this.#created;
  }

  rowWalks(origin: string | undefined): RowWalks | undefined {
    return this.#encoders.of(origin)?.rowWalks;
  }

  open(signal: AbortSignal): Promise<Answer> {
    this.#warnOnce();
    return withTimeLimit(signal, metadataTimeout, (limited) => this.#open(limited));
  }

  check(signal: AbortSignal): Promise<CheckAnswer> {
    return withTimeLimit(signal, metadataTimeout, (limited) => {
      return this.#asked(limited, async (select) => {
        const { sink, options } = this.#options;
        const table = await findTable(select, sink.connection_params.database, sink.table);
        if (table === undefined) return options.create_table ? { kind: "ok" } : this.#setup(missingTable(sink));
        const fit = await this.#fitOf(select, table);
        if ("kind" in fit) return fit;
        const order = orderOf(table);
        const { atLeastOnce } = await writtenTablesOf(select, table);
        return {
          kind: "ok",
          ...(fit.encoders.zeroed.length > 0 && { zeroed: fit.encoders.zeroed }),
          ...(order !== undefined && { table: order }),
          ...(atLeastOnce !== undefined && { atLeastOnce: this.#connection.redact(atLeastOnce) }),
          ...(this.profileRemark !== undefined && { profileRemark: this.profileRemark }),
        };
      });
    });
  }

  /** What `work` finds out about a server that is new enough. */
  #asked<Given extends Answer>(
    limited: AbortSignal,
    work: (select: Select, version: string) => Promise<Given>,
  ): Promise<Given | FailedAnswer> {
    return asAnswer<Given | FailedAnswer>(
      this.#connection,
      async () => {
        // A server that is too old may not know the settings of other queries.
        const version = await readVersion(selectOn(this.#connection, limited, {}));
        const tooOld = whyTooOld(version);
        return tooOld === undefined ? work(selectOn(this.#connection, limited), version) : this.#setup(tooOld);
      },
      statementAnswer,
    );
  }

  /** How rows are written to a table; or why they cannot be. */
  async #fitOf(
    select: Select,
    table: TableInfo,
  ): Promise<{ encoders: RowEncoders; columns: readonly ColumnInfo[] } | FailedAnswer> {
    const found = await findColumns(select, table.database, table.name);
    // Those that `open` adds.
    const columns = this.#altersTable ? [...found, ...missingColumns(this.#options.sink, found)] : found;
    const encoders = encodersFor(this.#options, columns);
    if (typeof encoders === "string") return this.#setup(`table ${table.database}.${table.name} ${encoders}`);
    const asynchronous = await whyAsynchronous(select, table);
    if (asynchronous !== undefined) return this.#setup(`table ${table.database}.${table.name} ${asynchronous}`);
    const refusal = await this.#askProfile(select, commonSettings(encoders.isStructured));
    return refusal === undefined ? { encoders, columns } : this.#setup(refusal);
  }

  #open(limited: AbortSignal): Promise<Answer> {
    return this.#asked(limited, async (select, version) => {
      const found = await this.#findOrCreate(select, limited);
      if (found === undefined) return this.#setup(missingTable(this.#options.sink));
      const table = this.#altersTable ? await this.#withColumns(select, found, limited) : found;
      const fit = await this.#fitOf(select, table);
      if ("kind" in fit) return fit;
      [this.#encoders, this.#columns] = [fit.encoders, fit.columns];
      this.#description = table.create_table_query;
      this.#noteVersion(version);
      await this.#reader.learn(select, table);
      return { kind: "ok" };
    });
  }

  async read(isFresh: boolean, signal: AbortSignal): Promise<{ kind: "read"; reading: Reading } | FailedAnswer> {
    const cached = isFresh ? undefined : this.#reader.cached;
    if (cached !== undefined) return { kind: "read", reading: this.#withSeveral(cached) };
    const read = await this.#readNow(signal);
    // The table was dropped while rows were written, or altered: its new columns decide how the next rows are encoded. A
    // server of another version may know other settings.
    const isMissing = read.kind === "missing" && this.#options.options.create_table;
    const isAltered = read.kind === "read" && read.reading.description !== this.#description;
    const isUpgraded = this.#reader.version !== undefined && !this.#versions.has(this.#reader.version);
    const opened = isMissing || isAltered || isUpgraded ? await this.open(signal) : undefined;
    if (opened !== undefined && opened.kind !== "ok") return opened;
    const found = isMissing ? await this.#readNow(signal) : read;
    return found.kind === "missing" ? this.#setup(missingTable(this.#options.sink)) : found;
  }

  #readNow(signal: AbortSignal): Promise<{ kind: "read"; reading: Reading } | { kind: "missing" } | FailedAnswer> {
    type Found = { kind: "read"; reading: Reading } | { kind: "missing" };
    const read = async (limited: AbortSignal): Promise<Found> => {
      const reading = await this.#reader.read(selectOn(this.#connection, limited));
      if (reading?.server !== undefined) this.#noteServer(reading.server);
      return reading === undefined ? { kind: "missing" } : { kind: "read", reading: this.#withSeveral(reading) };
    };
    return asAnswer<Found | FailedAnswer>(
      this.#connection,
      () => withTimeLimit(signal, metadataTimeout, read),
      statementAnswer,
    );
  }

  /** Servers behind one address may answer in turn, while they are upgraded. */
  #noteVersion(version: string): void {
    if (this.#versions.size >= mostVersions) this.#versions.clear();
    this.#versions.add(version);
  }

  #withSeveral(reading: Reading): Reading {
    const isOneOfSeveral = this.#several !== undefined && reading.server !== undefined;
    return isOneOfSeveral ? { ...reading, isOneOfSeveral } : reading;
  }

  /** One that takes the place of another is no sign of several; one that comes back is. */
  #noteServer(server: string): void {
    if (server === this.#server) return;
    if (this.#server !== undefined && this.#formerServers.has(server)) this.#several = [this.#server, server];
    if (this.#server !== undefined) this.#formerServers.add(this.#server);
    this.#server = server;
  }

  isReachable(signal: AbortSignal): Promise<boolean> {
    return this.#connection.isAnswering(signal);
  }

  release({ body }: Block): void {
    bodies.give(body);
  }

  begin(): RowWriter {
    return new JsonRowWriter(() => this.#encoders, this.#lastBodyBytes, bodies);
  }

  async insert(
    block: Block,
    token: string,
    signal: AbortSignal,
    { ignoreViews = false }: { ignoreViews?: boolean } = {},
  ): Promise<Answer> {
    if (block.body.length === 0) return { kind: "ok" };
    this.#lastBodyBytes = block.body.length;
    const { connection_params, table } = this.#options.sink;
    const statement = insertStatement(connection_params.database, table, this.#encoders.columnNames);
    const settings = this.#insertSettings;
    const isOneBlock = this.#newerSettings !== undefined;
    return this.#inserter.send({ block, statement, settings, token, isOneBlock, ignoreViews, signal });
  }

  probe(block: Block, signal: AbortSignal): Promise<Probe> {
    return this.#probe(block.body, signal);
  }

  async takesAny(signal: AbortSignal): Promise<"yes" | "no" | "unknown"> {
    const samples = this.#encoders.samples();
    if (samples === undefined) return "unknown";
    const probe = await this.#probe(Buffer.from(samples.join("")), signal);
    if (probe.kind !== "found") return "unknown";
    // A constraint is about values: those that it takes may be none of the samples.
    const isAny = probe.rows.length < samples.length || probe.rows.some(({ failure }) => isOfConstraint(failure));
    return isAny ? "yes" : "no";
  }

  #probe(body: Buffer, signal: AbortSignal): Promise<Probe> {
    const { connection_params, table, mapping } = this.#options.sink;
    const types = new Map(configuredTypes(mapping).map((type, index) => [mapping[index]!.column_name, type]));
    for (const { name, type } of this.#columns) types.set(name, type);
    const probed = {
      database: connection_params.database,
      table,
      columns: this.#encoders.columnNames.map((name) => ({ name, type: types.get(name)! })),
      creation: creationSettings([...types.values()]),
      insertion: this.#insertSettings,
    };
    return new BlockProbe(this.#connection, probed, body, signal).run();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #findOrCreate(select: Select, signal: AbortSignal): Promise<TableInfo | undefined> {
    const { connection_params, table } = this.#options.sink;
    const { database } = connection_params;
    const found = await findTable(select, database, table);
    if (found !== undefined || !this.#options.options.create_table) return found;
    await create(this.#connection, this.#options.sink, signal);
    this.#created += 1;
    this.#options.log.info({ pipeline_id: this.#options.pipeline_id, database, table }, "Created the target table.");
    return findTable(select, database, table);
  }

  get #altersTable(): boolean {
    return this.#options.options.alter_table === true;
  }

  /** The table with all columns of the mapping. */
  async #withColumns(select: Select, table: TableInfo, signal: AbortSignal): Promise<TableInfo> {
    const { pipeline_id, sink, log } = this.#options;
    const { database, name } = table;
    const missing = missingColumns(sink, await findColumns(select, database, name));
    if (missing.length === 0) return table;
    await addColumns(this.#connection, table, missing, signal);
    const columns = missing.map((column) => column.name);
    log.info({ pipeline_id, database, table: name, columns }, "Added the columns that the target table lacked.");
    return (await findTable(select, database, name)) ?? table;
  }

  /** Why the settings profile of this user forbids inserts; undefined if it does not. */
  async #askProfile(select: Select, wanted: ClickHouseSettings): Promise<string | undefined> {
    const names = [...Object.keys({ ...wanted, ...newerSettings }), tokenSetting, PartitionLimit.setting];
    const profile = await readProfile(select, names);
    this.#inserter.partitions.learn(profile);
    this.#newerSettings = profile && knownOf(profile, newerSettings);
    const review = profile && reviewOf(profile, new Set(names));
    [this.#corrections, this.#remarks] = [review?.corrections ?? {}, review?.remarks ?? []];
    const all = { ...wanted, ...this.#newerSettings, ...this.#corrections };
    return profile && refusalOf(profile, all, this.#connection.username);
  }

  get #insertSettings(): ClickHouseSettings {
    return { ...commonSettings(this.#encoders.isStructured), ...this.#newerSettings, ...this.#corrections };
  }

  #setup(text: string): FailedAnswer {
    // The server may have written a part of it: names, types, versions.
    const shown = clippedTo(this.#connection.redact(`${this.#connection.name}: ${text}`), longestSetup);
    const failure = { class: "setup", name: "setup", text: shown } as const;
    return { kind: "refused", failure };
  }

  #warnOnce(): void {
    const { warning } = this.#connection;
    if (warning === undefined || this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.log.warn(
      { pipeline_id: this.#options.pipeline_id, reason: warning },
      "Guessed the HTTP port of ClickHouse.",
    );
  }
}
