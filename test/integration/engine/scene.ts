import type { EngineOptions, PipelineConfig } from "../../../schemas/pipeline.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import type { Pause, PipelineHealth } from "../../../engine/index.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { ClickHouseProxy, exception, type Asked, type Fate } from "../../support/clickhouse-proxy.ts";
import { TestEngine } from "../../support/engine.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

/** An event, or its JSON. */
export type TestEvent = (Record<string, unknown> & { id: number }) | string;

/** How a server holds an insert off: nothing of it is written. */
export const heldOff: Fate = exception(252, "TOO_MANY_PARTS", "Too many parts (300) in all partitions in total");

/** For a table whose inserts are recognised for 20 blocks. */
export const window = "SETTINGS non_replicated_deduplication_window = 20";

export const event = (id: number): { id: number; level: string } => ({ id, level: "info" });
export const eventsTo = (last: number): TestEvent[] => Array.from({ length: last }, (_, index) => event(index + 1));

type Play = (scene: Scene) => Promise<void>;

/** What the scenes of a file share: a ClickHouse, and an engine for those that do not end it. */
export class Stage {
  readonly server: TestClickHouse;
  readonly #engine: TestEngine;

  private constructor(server: TestClickHouse, engine: TestEngine) {
    this.server = server;
    this.#engine = engine;
  }

  static async open(): Promise<Stage> {
    return new Stage(await useClickHouse(), await TestEngine.open());
  }

  /** Plays with a pipeline of the shared engine, which the scene must not end. */
  async share(pipeline_id: string, play: Play): Promise<void> {
    await this.#play(await Scene.open(pipeline_id, this.server, this.#engine), play);
  }

  /** Plays with a pipeline of an engine of its own, which the scene may end and start again. */
  async alone(pipeline_id: string, play: Play, database?: string): Promise<void> {
    const scene = await Scene.open(pipeline_id, this.server, await TestEngine.open(), database);
    try {
      await this.#play(scene, play);
    } finally {
      await scene.running.close();
    }
  }

  async close(): Promise<void> {
    await this.#engine.close();
    await this.server.stop();
  }

  async #play(scene: Scene, play: Play): Promise<void> {
    try {
      await play(scene);
    } finally {
      await scene.proxy.close();
    }
  }
}

/**
 * One pipeline behind a proxy of its own, into a table of a ClickHouse that outlives it. Its batches are full or wait for
 * an hour: which events are in which one is no matter of time.
 */
export class Scene {
  readonly pipeline_id: string;
  readonly database: string;
  /** With its database. */
  readonly table: string;
  readonly server: TestClickHouse;
  readonly proxy: ClickHouseProxy;
  running: TestEngine;
  #token = "";

  private constructor(
    at: { pipeline_id: string; database: string },
    server: TestClickHouse,
    proxy: ClickHouseProxy,
    running: TestEngine,
  ) {
    this.pipeline_id = at.pipeline_id;
    this.database = at.database;
    this.table = `${at.database}.${at.pipeline_id.replaceAll("-", "_")}`;
    this.server = server;
    this.proxy = proxy;
    this.running = running;
  }

  static async open(
    pipeline_id: string,
    server: TestClickHouse,
    running: TestEngine,
    database = "default",
  ): Promise<Scene> {
    return new Scene({ pipeline_id, database }, server, await ClickHouseProxy.start(server.url), running);
  }

  /** The token of its webhook. */
  get token(): string {
    return this.#token;
  }

  /** A config with batches of five rows; `sink` and `over` replace keys. */
  config(sink: Record<string, unknown> = {}, over: Record<string, unknown> = {}): PipelineConfig {
    const { username, password } = this.server;
    const http_port = String(this.proxy.port);
    const connection_params = { host: "127.0.0.1", http_port, database: this.database, username, password };
    const resources = { nats: { stream: { max_msgs: -1 } } };
    const { sink: usual } = webhookPipeline(this.pipeline_id);
    return webhookPipeline(this.pipeline_id, {
      sink: { ...usual, connection_params, max_batch_size: 5, max_delay_time: "1h", ...sink },
      resources,
      ...over,
    });
  }

  /** Creates the table, `%` standing for its name in each statement, and the pipeline. */
  async create(statements: readonly string[], config: PipelineConfig, options: Partial<EngineOptions> = {}) {
    await this.sql(...statements);
    const { engine } = this.running;
    this.#token = (await engine.create(config, { ...defaultOptions, ...options })).access_token!;
  }

  /** Posts events one after the other, so that they have the order in which they are given. */
  async post(events: readonly TestEvent[]): Promise<void> {
    for (const one of events) await this.#post(one);
  }

  /** Posts many events in whatever order. */
  async pour(events: readonly TestEvent[]): Promise<void> {
    await Promise.all(events.map((one) => this.#post(one)));
  }

  async sql(...statements: readonly string[]): Promise<void> {
    for (const query of statements) {
      await this.server.client.command({ query: query.replaceAll("%", this.table) });
    }
  }

  /** The ids of all rows, those that stand there twice twice. */
  async ids(column = "id"): Promise<number[]> {
    const rows = await this.server.query<{ id: string | number }>(
      `SELECT ${column} AS id FROM ${this.table} ORDER BY id`,
    );
    return rows.map(({ id }) => Number(id));
  }

  /** Another writer inserts so many blocks of its own, with ids from a million on. */
  async usedUp(blocks = 24, columns = "id, level", values = "1000000 + number, 'other'"): Promise<void> {
    const one = [
      "max_block_size",
      "max_insert_block_size",
      "min_insert_block_size_rows",
      "min_insert_block_size_bytes",
    ];
    await this.sql(
      `INSERT INTO % (${columns}) SETTINGS ${one.map((name) => `${name} = 1`).join(", ")}, max_insert_threads = 1 SELECT ${values} FROM numbers(${blocks})`,
    );
  }

  /** Removes what another writer inserted. */
  ours(ids: readonly number[]): number[] {
    return ids.filter((id) => id < 1_000_000);
  }

  /** Ends the engine and opens another one on its data dir. */
  async reopen(meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const { dataDir } = this.running;
    await this.running.close({ keep: true });
    await meanwhile();
    this.running = await TestEngine.open({ dataDir });
  }

  configure(options: Partial<EngineOptions>): Promise<void> {
    return this.running.engine.configure(this.pipeline_id, { ...defaultOptions, ...options });
  }

  get health(): PipelineHealth {
    return this.running.engine.health(this.pipeline_id);
  }

  until(isAsWished: (health: PipelineHealth) => boolean): Promise<PipelineHealth> {
    return this.running.until(this.pipeline_id, isAsWished);
  }

  /** Resolves when it is paused for a reason of this class. */
  paused(kind: Pause["class"]): Promise<PipelineHealth> {
    return this.until(({ paused }) => paused?.class === kind);
  }

  settled(): Promise<PipelineHealth> {
    return this.until(({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
  }

  /** Resolves when it has settled everything and dedup tells of so many keys; that is heard a moment after the commit. */
  remembers(keys: number): Promise<PipelineHealth> {
    return this.until((health) => health.stream!.messages + health.pending_batches === 0 && health.keys?.keys === keys);
  }

  /** Resolves when the target was looked at `count` more times. */
  async looked(count: number): Promise<void> {
    const looks = (): number => this.proxy.handled.filter(({ statement }) => statement.includes("AS altered")).length;
    for (const wished = looks() + count; looks() < wished;) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Inserts that brought the event `id`, whatever became of them. */
  sends(id: number): { token: string; fate: string }[] {
    const all = this.proxy.handled.filter((handled) => handled.token !== undefined && holds(handled, id));
    return all.map(({ token, fate }) => ({ token: token!, fate }));
  }

  async #post(one: TestEvent): Promise<void> {
    const { status } = await this.running.post(this.pipeline_id, this.#token, one);
    if (status !== 202) throw new Error(`${JSON.stringify(one)}: expected the answer 202, found ${status}`);
  }
}

/** Whether an insert brings the event `id`. */
export function holds({ rows }: Pick<Asked, "rows">, id: number): boolean {
  return rows.split("\n").some((line) => line !== "" && (JSON.parse(line) as { id: unknown }).id === id);
}
