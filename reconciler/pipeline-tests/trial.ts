import { sleep, type Engine, type trialThreads } from "../../engine/index.ts";
import { writeExactly } from "../../engine/language.ts";
import { durationMs, type EngineOptions, type PipelineConfig, type SourceConfig } from "../../schemas/index.ts";
import type { Found, Letter, Outcome, Refusal, Row } from "./outcome.ts";
import { withoutDatabase } from "./own-names.ts";
import type { NamedTest } from "./read-tests.ts";
import { readTable, type Sql } from "./table.ts";

/** Milliseconds: how long a pipeline may take for one event, how long it may be paused, and between two looks. */
const [patience, longestPause, interval] = [30_000, 1_500, 1];
/** Milliseconds that a statement may take. */
const longestStatement = 10_000;
/** Events of a webhook are stamped by the clock of the machine, and none is to be too old by that of the test. */
const noAge = "876000h";
const defaultBegin = "2026-01-01T00:00:00Z";
const letterPage = 1_000;

/** A pipeline of a file, as far as a test runs it. */
export interface TestedPipeline {
  config: PipelineConfig;
  options: EngineOptions;
}

export type Threads = Awaited<ReturnType<typeof trialThreads>>;

/** Why a test ended early, as a text for people. */
class TrialFailure extends Error {}

/** Sends an event to a listener; resolves with the refusal, or with nothing where it was taken. */
export type Push = (
  kind: "webhook" | "otlp",
  path: string,
  body: Buffer,
  headers: Record<string, string>,
) => Promise<Refusal | undefined>;

/** One test on its way. Events go through the pipeline one by one, so that what becomes of each is known. */
export class Trial {
  readonly #engine: Engine;
  readonly #threads: Threads;
  readonly #push: Push;
  readonly #pipeline: TestedPipeline;
  readonly #test: NamedTest;
  readonly #database: string;
  readonly #config: PipelineConfig;
  #token = "";
  #lastLetter: string | undefined;

  constructor(engine: Engine, threads: Threads, push: Push, pipeline: TestedPipeline, test: NamedTest, number: number) {
    this.#engine = engine;
    this.#threads = threads;
    this.#push = push;
    this.#pipeline = pipeline;
    this.#test = test;
    this.#database = `test_${number}`;
    this.#config = configOf(pipeline.config, number, this.#database);
  }

  async run(): Promise<Found> {
    const outcomes: Outcome[] = [];
    const { pipeline_id } = this.#config;
    this.#threads.begin(pipeline_id, Date.parse(this.#test.now ?? defaultBegin));
    try {
      const fate = await this.#threads.fateOf(pipeline_id, this.#carriedOut(outcomes));
      return fate.kind === "done"
        ? fate.result
        : { outcomes: [...outcomes], rows: [], failure: this.#faultText(fate.error, outcomes) };
    } catch (error) {
      return { outcomes, rows: [], failure: this.#inWords(error) };
    } finally {
      await this.#engine.terminate(pipeline_id).catch(() => undefined);
      await this.#engine.delete(pipeline_id).catch(() => undefined);
      await this.#run("the removal", `DROP DATABASE IF EXISTS ${this.#database}`).catch(() => undefined);
      this.#threads.end(pipeline_id);
    }
  }

  /** Adds the outcome of each event to `outcomes`. */
  async #carriedOut(outcomes: Outcome[]): Promise<Found> {
    await this.#start();
    for (const index of this.#test.events.keys()) outcomes.push(await this.#outcomeOf(index));
    return this.#withRows(outcomes);
  }

  async #start(): Promise<void> {
    const { create } = this.#test;
    await this.#run("the database", `CREATE DATABASE ${this.#database}`);
    for (const [index, statement] of (create ?? []).entries()) {
      const own = withoutDatabase(statement, this.#pipeline.config.sink.connection_params.database);
      await this.#run(`create[${index}]`, own, this.#database);
    }
    const { access_token: _ownToken, ...options } = this.#pipeline.options;
    const created = await this.#engine.create(this.#config, { ...options, create_table: create === undefined });
    this.#token = created.access_token ?? "";
  }

  /**
   * The result of a statement, as TSV where `format` is not given. Throws a TrialFailure where it takes too long: what
   * it may set itself, such as its longest time, is no bound.
   */
  async #run(what: string, statement: string, database?: string, format = "TSV"): Promise<string> {
    const over = new AbortController();
    const ended = this.#engine.sql(statement, format, database);
    const late = sleep(longestStatement, over.signal).then(() => undefined);
    const result = await Promise.race([ended, late]).finally(() => over.abort());
    if (result !== undefined) return result;
    const expected = `expected it to end within ${longestStatement / 1000} s`;
    throw new TrialFailure(`${what}: ${expected}, found that it still runs`);
  }

  async #outcomeOf(index: number): Promise<Outcome> {
    const given = this.#test.events[index]!;
    const { pipeline_id } = this.#config;
    const { counters: before, join: heldBefore } = this.#engine.health(pipeline_id);
    if (given.after !== undefined) this.#threads.pass(pipeline_id, durationMs(given.after));
    const bytes = Buffer.from(given.text ?? writeExactly(given.event));
    const source = this.#sourceOf(given.source, index);
    const refused = await this.#give(source, bytes);
    await this.#settled(index);
    const { counters, join } = this.#engine.health(pipeline_id);
    const outcome = {
      written: counters.rows_written - before.rows_written,
      filtered: counters.events_filtered - before.events_filtered,
      deduplicated: counters.duplicates_dropped - before.duplicates_dropped,
      dead_letters: this.#newLetters(),
      ...(refused !== undefined && { refused }),
    };
    const unmatched = counters.left_unmatched - before.left_unmatched;
    const waits = (join?.left?.events ?? 0) - (heldBefore?.left?.events ?? 0) + unmatched;
    return {
      ...outcome,
      ...(waits > 0 && { waits }),
      ...(source.source_id === this.#config.join?.right_source.source_id && isEmpty(outcome) && { kept: true }),
      ...(unmatched > 0 && { unmatched }),
    };
  }

  async #give(source: SourceConfig, bytes: Buffer): Promise<Refusal | undefined> {
    const { pipeline_id } = this.#config;
    if (source.type === "kafka") {
      this.#threads.give(pipeline_id, source.topic, bytes);
      return undefined;
    }
    if (source.type === "webhook") {
      const path = `/v1/pipelines/${pipeline_id}/topics/input/events`;
      return this.#push("webhook", path, bytes, { "x-pipeline-access-token": this.#token });
    }
    const path = `/v1/${source.type.slice("otlp.".length)}`;
    return this.#push("otlp", path, bytes, { "x-sluice-pipeline-id": pipeline_id });
  }

  #sourceOf(source_id: string | undefined, index: number): SourceConfig {
    const { sources } = this.#config;
    const found = sources.find((source) => source.source_id === source_id);
    const [only] = source_id === undefined && sources.length === 1 ? sources : [found];
    if (only !== undefined) return only;
    const known = sources.map((source) => source.source_id).join(", ");
    throw new TrialFailure(
      `event ${index + 1}: expected a source of the pipeline (${known}), found ${source_id ?? "none"}`,
    );
  }

  /** Resolves when everything that was given is final. */
  async #settled(index: number): Promise<void> {
    const { pipeline_id } = this.#config;
    const end = performance.now() + patience;
    for (;;) {
      const { overall_status, failure, paused, stream, join, pending_batches } = this.#engine.health(pipeline_id);
      const held = (stream?.messages ?? 0) + (join?.waiting ?? 0) + pending_batches;
      if (held === 0 && this.#threads.isSettled(pipeline_id)) return;
      if (overall_status === "Failed")
        throw new TrialFailure(`event ${index + 1}: the pipeline failed: ${failure ?? ""}`);
      // A failure that passes is waited for.
      if (paused !== undefined && paused.class !== "transient" && Date.now() - Date.parse(paused.since) > longestPause)
        throw new TrialFailure(`event ${index + 1}: the pipeline is paused: ${paused.text}`);
      if (performance.now() > end)
        throw new TrialFailure(`event ${index + 1}: expected an outcome within ${patience / 1000} s, found none`);
      await sleep(interval);
    }
  }

  #newLetters(): Letter[] {
    const queue = this.#engine.deadLetters(this.#config.pipeline_id);
    const found: Letter[] = [];
    for (let isMore = true; isMore;) {
      const { messages, has_more } = queue.list(letterPage, this.#lastLetter);
      for (const { component, reason, error, original_message } of messages)
        found.push({ component, reason, error: this.#withOwnNames(error), original_message });
      this.#lastLetter = messages.at(-1)?.message_id ?? this.#lastLetter;
      isMore = has_more;
    }
    return found;
  }

  async #withRows(outcomes: readonly Outcome[]): Promise<Found> {
    const written = outcomes.reduce((sum, outcome) => sum + outcome.written, 0);
    // Without an event, and without a table that the test makes, there may be none.
    if (written === 0 && this.#test.create === undefined) return { outcomes: outcomes.map(withNoRows), rows: [] };
    const { table } = this.#config.sink;
    const sql: Sql = (query, format) => this.#run(`reading table ${table}`, query, this.#database, format);
    const { rows, isOrdered } = await readTable(sql, this.#database, table);
    if (!isOrdered || rows.length !== written) return { outcomes, rows };
    let next = 0;
    const attributed = outcomes.map((outcome): Outcome => {
      next += outcome.written;
      return { ...outcome, rows: rows.slice(next - outcome.written, next) };
    });
    return { outcomes: attributed, rows };
  }

  #faultText({ name, message }: Error, { length }: readonly Outcome[]): string {
    const event = length < this.#test.events.length ? `event ${length + 1}: ` : "";
    const what = "expected the engine to go on, found a fault that ended its thread";
    return this.#withOwnNames(
      `${event}${what}: ${name}: ${message}. This is an error of Sluice: report it with the pipeline and its events`,
    );
  }

  #inWords(error: unknown): string {
    return this.#withOwnNames(error instanceof Error ? error.message : String(error));
  }

  /** A text with the names of the file in place of those that the test runs under. */
  #withOwnNames(text: string): string {
    const { pipeline_id, sink } = this.#pipeline.config;
    return text
      .replaceAll(this.#config.pipeline_id, pipeline_id)
      .replaceAll(new RegExp(`\\b${this.#database}\\b`, "g"), () => sink.connection_params.database);
  }
}

function isEmpty({ written, filtered, deduplicated, dead_letters, refused }: Outcome): boolean {
  return written + filtered + deduplicated + dead_letters.length === 0 && refused === undefined;
}

function withNoRows(outcome: Outcome): Outcome {
  const rows: Row[] = [];
  return { ...outcome, rows };
}

/** The config of a pipeline for a test: it reads what it is given, and writes to a database of its own. */
function configOf(config: PipelineConfig, number: number, database: string): PipelineConfig {
  const { resources, sink, sources } = config;
  const { nats } = resources;
  return {
    ...config,
    pipeline_id: `${config.pipeline_id.slice(0, 50)}-${number}`,
    sources: sources.map(withoutConnection),
    sink: {
      ...sink,
      max_delay_time: "0s",
      connection_params: { host: "embedded", database, secure: false, skip_certificate_verification: false },
    },
    resources: { ...resources, nats: { ...nats, stream: { ...nats.stream, max_age: noAge } } },
  };
}

function withoutConnection(source: SourceConfig): SourceConfig {
  if (source.type !== "kafka") return source;
  const { schema_registry: _registry, ...own } = source;
  const nowhere = { protocol: "PLAINTEXT", mechanism: "NO_AUTH", skip_tls_verification: false } as const;
  return { ...own, connection_params: { ...nowhere, brokers: ["127.0.0.1:1"] } };
}
