import type { SchemaField, SinkConfig } from "../../../schemas/pipeline.ts";
import type { Event } from "../../core/batch.ts";
import type { Answer, Block, Sink } from "../../core/sink.ts";
import type { Log } from "../../telemetry/log.ts";
import { Connection } from "./connection.ts";
import type { EmbeddedServer } from "./connection.ts";
import { reachOf } from "./deduplication.ts";
import { insertAnswer, statementAnswer } from "./failures.ts";
import type { Target } from "./failures.ts";
import { insertStatement, settingsFor } from "./insert.ts";
import { encoderFor } from "./real-columns.ts";
import { RowEncoder } from "./row-encoder.ts";
import { createDatabase, createTable, creationSettings, findColumns, findTable } from "./table.ts";
import type { Select, TableInfo } from "./table.ts";
import { TroubleError } from "./trouble.ts";

export interface ClickHouseSinkOptions {
  pipeline_id: string;
  /** With secrets resolved to their values. */
  sink: SinkConfig;
  /** The schema that feeds the sink. */
  schema: readonly SchemaField[];
  options: { create_table: boolean };
  /** Where `host: embedded` is reached; a function where that may change. */
  embedded?: EmbeddedServer | (() => EmbeddedServer);
  log: Log;
}

/** How long `open` may take in all, in milliseconds: its statements are small. */
const openTimeout = 30_000;

/**
 * Writes to one table of a ClickHouse over HTTP, one insert of JSONEachRow for each block.
 *
 * Before `open` succeeded the configured column types are taken for the real ones. `open` reads the table: its types
 * decide from then on how values are written and what becomes of null.
 */
export class ClickHouseSink implements Sink {
  readonly #options: ClickHouseSinkOptions;
  readonly #connection: Connection;
  #encoder: RowEncoder;
  #target: Omit<Target, "rows"> = { views: [], isOnePart: false };
  #atLeastOnce: string | undefined;
  #hasWarned = false;

  /** Throws an Error that names field and column if the mapping is not valid for the schema. */
  constructor(options: ClickHouseSinkOptions) {
    this.#options = options;
    this.#encoder = new RowEncoder(options.sink.mapping, options.schema);
    this.#connection = new Connection(options.sink.connection_params, options.embedded);
  }

  get atLeastOnce(): string | undefined {
    return this.#atLeastOnce;
  }

  async open(signal: AbortSignal): Promise<Answer> {
    this.#warnOnce();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(openTimeout)]);
    return this.#answer(async () => {
      const select: Select = (query) => this.#select(query, limited);
      const table = await this.#findOrCreate(select, limited);
      if (table === undefined) return this.#missingTable();
      const encoder = encoderFor(this.#options, await findColumns(select, table.database, table.name));
      if (typeof encoder === "string") {
        return setup(`${this.#connection.name}: table ${table.database}.${table.name} ${encoder}`);
      }
      this.#encoder = encoder;
      await this.#learn(select, table);
      return { kind: "ok" };
    }, statementAnswer);
  }

  encode(events: readonly Event[]): Block {
    return this.#encoder.encode(events);
  }

  async insert(block: Block, token: string, signal: AbortSignal): Promise<Answer> {
    if (block.body.length === 0) return { kind: "ok" };
    const { connection_params, table } = this.#options.sink;
    const statement = insertStatement(connection_params.database, table, this.#encoder.columnNames);
    return this.#answer(
      async () => {
        await this.#connection.run(statement, {
          body: block.body,
          settings: settingsFor(token, this.#encoder.isStructured),
          signal,
        });
        return { kind: "ok" };
      },
      (trouble) => insertAnswer(trouble, { ...this.#target, rows: block.events.length }),
    );
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** Turns troubles into answers; anything else is a fault of ours and is thrown on. */
  async #answer(work: () => Promise<Answer>, judge: (trouble: TroubleError["trouble"]) => Answer): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TroubleError)) throw error;
      const answer = judge(error.trouble);
      if (answer.kind === "ok") return answer;
      const text = `${this.#connection.name}: ${answer.failure.text}`;
      return { kind: answer.kind, failure: { ...answer.failure, text: this.#connection.redact(text) } };
    }
  }

  async #select(query: string, signal: AbortSignal): Promise<Record<string, unknown>[]> {
    const text = await this.#connection.run(`${query} FORMAT JSONEachRow`, { signal });
    const lines = text.split("\n").filter((line) => line !== "");
    try {
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    } catch {
      throw new TroubleError({ from: "http", status: 200, text: `expected rows of JSON, got ${text.slice(0, 200)}` });
    }
  }

  async #findOrCreate(select: Select, signal: AbortSignal): Promise<TableInfo | undefined> {
    const { connection_params, table, mapping } = this.#options.sink;
    const { database } = connection_params;
    const found = await findTable(select, database, table);
    if (found !== undefined || !this.#options.options.create_table) return found;
    await this.#connection.run(createDatabase(database), { signal });
    await this.#connection.run(createTable(database, table, mapping), { signal, settings: creationSettings(mapping) });
    this.#options.log.info({ pipeline_id: this.#options.pipeline_id, database, table }, "Created the target table.");
    return findTable(select, database, table);
  }

  #missingTable(): Answer {
    const { connection_params, table, mapping } = this.#options.sink;
    const { database } = connection_params;
    return setup(
      `${this.#connection.name}: table ${database}.${table} does not exist, or this user may not see it; set x-sluice.create_table: true to have it created, or run ${createDatabase(database)}; ${createTable(database, table, mapping)}`,
    );
  }

  async #learn(select: Select, table: TableInfo): Promise<void> {
    const { views, atLeastOnce } = await reachOf(select, table);
    const isPlain = /^(?!Replicated|Shared)\w*MergeTree$/.test(table.engine);
    this.#target = { views, isOnePart: isPlain && table.partition_key === "" && views.length === 0 };
    this.#atLeastOnce = atLeastOnce;
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

function setup(text: string): Answer {
  return { kind: "refused", failure: { class: "setup", name: "setup", text } };
}
