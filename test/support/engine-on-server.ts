import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type { PipelineHealth } from "../../engine/index.ts";
import { defaultOptions } from "../../schemas/index.ts";
import type { EngineOptions, PipelineConfig, SinkConnection } from "../../schemas/pipeline.ts";
import type { TestClickHouse } from "./clickhouse.ts";
import { useClickHouse } from "./shared-clickhouse.ts";
import { ClickHouseProxy, type Handled } from "./clickhouse-proxy.ts";
import { TestEngine } from "./engine.ts";
import { webhookPipeline } from "./pipelines.ts";

export interface Event {
  id: number;
  [field: string]: unknown;
}

/** Root keys of a pipeline, of which `sink` is put into the usual one. */
export type Over = Record<string, unknown> & { sink?: Record<string, unknown> };

/** A real engine whose pipelines write, through a proxy, to a ClickHouse that is not its own. */
export class EngineOnServer {
  readonly server: TestClickHouse;
  readonly proxy: ClickHouseProxy;
  /** What the pipelines refer to; `password` is that of the server. */
  readonly secrets: Record<string, string>;
  engine!: TestEngine;
  readonly #threads = new Set<Worker>();
  readonly #note = (thread: Worker): void => void this.#threads.add(thread);

  private constructor(server: TestClickHouse, proxy: ClickHouseProxy) {
    this.server = server;
    this.proxy = proxy;
    this.secrets = { password: server.password };
    process.on("worker", this.#note);
  }

  static async start(given?: TestClickHouse): Promise<EngineOnServer> {
    const server = given ?? (await useClickHouse());
    const made = new EngineOnServer(server, await ClickHouseProxy.start(server.url));
    await made.run("CREATE DATABASE IF NOT EXISTS d");
    made.engine = await TestEngine.open({ secrets: made.secrets, realThreads: true });
    return made;
  }

  /** Ends the engine and starts another one on its data dir. */
  async restart(): Promise<void> {
    await this.engine.close({ keep: true });
    const { dataDir } = this.engine;
    this.engine = await TestEngine.open({ dataDir, secrets: this.secrets, realThreads: true });
  }

  /** Ends the threads that pipelines run on, whatever they do; the engine goes on with new ones. */
  async killThreads(): Promise<void> {
    const threads = [...this.#threads];
    this.#threads.clear();
    await Promise.all(threads.map((thread) => thread.terminate()));
  }

  async stop(): Promise<void> {
    process.off("worker", this.#note);
    await this.engine.close();
    await this.proxy.close();
    await this.server.stop();
  }

  run(query: string): Promise<unknown> {
    return this.server.client.command({ query });
  }

  /** The ids in a table, each as often as it is there. */
  async ids(table: string): Promise<number[]> {
    const rows = await this.server.query<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`);
    return rows.map(({ id }) => Number(id));
  }

  /** Resolves in the server's next second: it notes in whole seconds when a table was altered. */
  async laterSecond(): Promise<void> {
    const first = await this.#second();
    while ((await this.#second()) === first) await sleep(20);
  }

  /** How to reach the server through the proxy. */
  connection(over: Partial<SinkConnection> = {}): Partial<SinkConnection> {
    const usual = { host: "127.0.0.1", http_port: String(this.proxy.port), database: "d" };
    return { ...usual, username: "default", password: "${password}", ...over };
  }

  /** Creates a pipeline and starts it. Its table is in the database `d` and has its name, with `_` for `-`. */
  async create(pipeline_id: string, over: Over = {}, options: Partial<EngineOptions> = {}): Promise<ServerPipeline> {
    const config = this.config(pipeline_id, over);
    const { access_token } = await this.engine.engine.create(config, { ...defaultOptions, ...options });
    return new ServerPipeline(this, pipeline_id, access_token!);
  }

  /** Two events fill a batch, and nothing else does. */
  config(pipeline_id: string, { sink, ...over }: Over = {}): PipelineConfig {
    const usual = { ...webhookPipeline(pipeline_id).sink, max_batch_size: 2, max_delay_time: "1h" };
    return webhookPipeline(pipeline_id, {
      ...over,
      sink: { ...usual, connection_params: this.connection(), ...sink },
    });
  }

  async #second(): Promise<unknown> {
    return (await this.server.query("SELECT toUnixTimestamp(now()) AS second"))[0]?.["second"];
  }
}

/** A webhook with fields of these types, as the sources of a pipeline. */
export function webhookOf(fields: Record<string, string>): unknown[] {
  const schema_fields = Object.entries(fields).map(([name, type]) => ({ name, type }));
  return [{ type: "webhook", source_id: "input", schema_fields }];
}

/** A mapping of fields to columns of the same names, with these types. */
export function mappingOf(columns: Record<string, string>): unknown[] {
  return Object.entries(columns).map(([name, column_type]) => ({ name, column_name: name, column_type }));
}

/** The table of a pipeline, with its database. */
export function tableOf(pipeline_id: string): string {
  return `d.${pipeline_id.replaceAll("-", "_")}`;
}

/** A pipeline that writes to a server. */
export class ServerPipeline {
  readonly pipeline_id: string;
  /** With its database. */
  readonly table: string;
  readonly #on: EngineOnServer;
  readonly token: string;

  constructor(on: EngineOnServer, pipeline_id: string, token: string) {
    this.#on = on;
    this.pipeline_id = pipeline_id;
    this.table = tableOf(pipeline_id);
    this.token = token;
  }

  get health(): PipelineHealth {
    return this.#on.engine.engine.health(this.pipeline_id);
  }

  /** Inserts of its batches that the proxy has dealt with, in the order in which they ended. */
  get inserts(): Handled[] {
    const into = `INSERT INTO ${this.table} `;
    return this.#on.proxy.handled.filter(
      ({ token, statement }) => token !== undefined && statement.replaceAll("`", "").startsWith(into),
    );
  }

  /** One request after the other, so that they keep their order. Throws where one is not taken. */
  async post(...events: (Event | number)[]): Promise<void> {
    for (const event of events) {
      const body = typeof event === "number" ? { id: event, level: "info" } : event;
      const { status } = await this.#on.engine.post(this.pipeline_id, this.token, body);
      if (status !== 202) throw new Error(`event ${body.id} was answered ${status}`);
    }
  }

  /** Throws where the pipeline failed: nothing becomes of it then. */
  until(isAsWished: (health: PipelineHealth) => boolean): Promise<PipelineHealth> {
    return this.#on.engine.until(this.pipeline_id, (health) => {
      if (health.overall_status === "Failed") throw new Error(`${this.pipeline_id} failed: ${health.failure}`);
      return isAsWished(health);
    });
  }

  /** Resolves when so many batches wait, and the reason of the pause is this. */
  paused(text: RegExp, batches = 1): Promise<PipelineHealth> {
    return this.until(
      ({ paused, pending_batches }) => pending_batches === batches && paused !== undefined && text.test(paused.text),
    );
  }

  /** Resolves when everything that was taken is settled. */
  settled(): Promise<PipelineHealth> {
    return this.until(({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
  }

  stop(): Promise<void> {
    return this.#on.engine.engine.stop(this.pipeline_id);
  }

  /** What the reconciler does for a commit that needs a stop. */
  async edit(over: Over, options: Partial<EngineOptions> = {}): Promise<void> {
    const { engine } = this.#on.engine;
    if (this.health.overall_status === "Running") await this.stop();
    await engine.update(this.pipeline_id, this.#on.config(this.pipeline_id, over), { ...defaultOptions, ...options });
    await engine.resume(this.pipeline_id);
  }

  /** What the reconciler does for a commit that changes options alone. */
  configure(options: Partial<EngineOptions>): Promise<void> {
    return this.#on.engine.engine.configure(this.pipeline_id, { ...defaultOptions, ...options });
  }
}
