import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, onTestFailed } from "vitest";
import { consumerGroup, type PipelineHealth } from "../../../engine/index.ts";
import type { EngineOptions, PipelineConfig } from "../../../schemas/pipeline.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import type { TestClickHouse } from "../../support/clickhouse.ts";
import { useClickHouse } from "../../support/shared-clickhouse.ts";
import { ClickHouseProxy } from "../../support/clickhouse-proxy.ts";
import { TestEngine } from "../../support/engine.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { kafkaPipeline } from "../../support/pipelines.ts";

/** Short enough that a member that was killed is gone within a test. */
export const quick = {
  sessionTimeout: 1_500,
  heartbeatInterval: 150,
  fetchWait: 50,
  metadataMaxAge: 300,
};

/** Milliseconds between two looks at a table: each is a query, which takes time from what is waited for. */
export const lookEvery = 100;

type Play = (scene: KafkaScene) => Promise<void>;

export interface Stage {
  partitions?: number;
  /** Of the topic. */
  config?: Record<string, string>;
}

/** Plays scenes on a Kafka and a ClickHouse, which the test file has for itself. */
export function useScenes(kafka: () => TestKafka): (play: Play, stage?: Stage) => Promise<void> {
  let server: TestClickHouse;
  beforeAll(async () => {
    server = await useClickHouse();
  });
  afterAll(() => server.stop());
  return (play, stage) => KafkaScene.play(kafka(), server, play, stage);
}

/** One pipeline that reads a topic of its own into a table of its own, through a proxy in front of the ClickHouse. */
export class KafkaScene {
  readonly kafka: TestKafka;
  readonly server: TestClickHouse;
  readonly proxy: ClickHouseProxy;
  pipeline_id: string;
  readonly topic: string;
  readonly table: string;
  running: TestEngine;

  private constructor(kafka: TestKafka, server: TestClickHouse, proxy: ClickHouseProxy, running: TestEngine) {
    this.kafka = kafka;
    this.server = server;
    this.proxy = proxy;
    this.running = running;
    this.pipeline_id = `k-${randomBytes(6).toString("hex")}`;
    this.topic = this.pipeline_id;
    this.table = `default.${this.pipeline_id.replace("-", "_")}`;
  }

  /** Opens a scene, lets it be played, and closes it. */
  static async play(
    kafka: TestKafka,
    server: TestClickHouse,
    play: Play,
    { partitions = 3, config = {} }: Stage = {},
  ): Promise<void> {
    const proxy = await ClickHouseProxy.start(server.url);
    const scene = new KafkaScene(kafka, server, proxy, await TestEngine.open({ kafka: quick }));
    let isOver = false;
    // What failed is often a wait that never ended: what it waited for says why.
    onTestFailed(async () => {
      if (!isOver) console.error(JSON.stringify(await scene.#state()));
    });
    try {
      await kafka.topics.create(scene.topic, { partitions, config });
      await server.client.command({
        query: `CREATE TABLE ${scene.table} (id Int64) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000`,
      });
      await play(scene);
    } finally {
      isOver = true;
      await scene.running.close();
      await scene.proxy.close();
      await kafka.topics.delete(scene.topic);
    }
  }

  get group(): string {
    return consumerGroup(this.pipeline_id);
  }

  /** `sink` and `over` replace keys. */
  config(sink: Record<string, unknown> = {}, over: Record<string, unknown> = {}): PipelineConfig {
    const { username, password } = this.server;
    const connection_params = { host: "127.0.0.1", http_port: String(this.proxy.port), database: "default" };
    const mapping = [{ name: "id", column_name: "id", column_type: "Int64" }];
    const { sink: usual } = kafkaPipeline(this.pipeline_id, this.#source());
    return kafkaPipeline(this.pipeline_id, this.#source(), {
      sink: {
        ...usual,
        connection_params: { ...connection_params, username, password },
        mapping,
        max_batch_size: 100,
        ...sink,
      },
      ...over,
    });
  }

  #source() {
    const schema_fields = [{ name: "id", type: "int" }];
    return { topic: this.topic, schema_fields, connection_params: this.kafka.connectionParams() };
  }

  create(config = this.config(), options: Partial<EngineOptions> = {}): Promise<unknown> {
    return this.running.engine.create(config, { ...defaultOptions, ...options });
  }

  /** Events with the ids `from` to `to`, spread over the partitions, or all in one. */
  async produce(from: number, to: number, partition?: number): Promise<void> {
    const events = Array.from({ length: to - from + 1 }, (_, index) => JSON.stringify({ id: from + index }));
    await this.kafka.produce(this.topic, events, partition === undefined ? {} : { partition });
  }

  async ids(): Promise<number[]> {
    const rows = await this.server.query<{ id: string }>(`SELECT id FROM ${this.table} ORDER BY id`);
    return rows.map(({ id }) => Number(id));
  }

  /** Resolves when so many rows are in the table, and throws if they are not those ids, each once. */
  async holds(ids: readonly number[]): Promise<void> {
    for (;;) {
      const found = await this.ids();
      if (found.length >= ids.length) {
        if (JSON.stringify(found) === JSON.stringify(ids)) return;
        throw new Error(`expected each of ${ids.length} ids once, found ${found.length}: ${difference(found, ids)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, lookEvery));
    }
  }

  async #state(): Promise<object> {
    const health = this.running.engine.list().map(({ pipeline_id }) => this.running.engine.health(pipeline_id));
    const ends = await this.kafka.topics.endOffsets(this.topic).catch(String);
    return { health, ends, rows: await this.ids().then(({ length }) => length, String) };
  }

  until(isAsWished: (health: PipelineHealth) => boolean): Promise<PipelineHealth> {
    return this.running.until(this.pipeline_id, isAsWished);
  }

  get health(): PipelineHealth {
    return this.running.engine.health(this.pipeline_id);
  }

  /** Resolves when it reads so many partitions. */
  reads(partitions: number): Promise<PipelineHealth> {
    return this.until(({ source }) => source?.partitions === partitions);
  }

  /** Ends the engine and opens another one on its data dir. */
  async reopen(meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const { dataDir } = this.running;
    await this.running.close({ keep: true });
    await meanwhile();
    this.running = await TestEngine.open({ dataDir, kafka: quick });
  }

  async stop(): Promise<void> {
    await this.running.engine.stop(this.pipeline_id);
  }

  async resume(): Promise<void> {
    await this.running.engine.resume(this.pipeline_id);
  }

  /** Gives the pipeline another id. */
  async moveTo(pipeline_id: string, config = this.config()): Promise<void> {
    await this.stop();
    await this.running.engine.move(this.pipeline_id, { ...config, pipeline_id }, defaultOptions);
    this.pipeline_id = pipeline_id;
    await this.resume();
  }

  async options(options: Partial<EngineOptions>): Promise<void> {
    await this.running.engine.configure(this.pipeline_id, { ...defaultOptions, ...options });
  }
}

function some(ids: readonly number[]): string {
  return ids.slice(0, 5).join(", ");
}

function difference(found: readonly number[], expected: readonly number[]): string {
  const seen = new Map<number, number>();
  for (const id of found) seen.set(id, (seen.get(id) ?? 0) + 1);
  const missing = expected.filter((id) => !seen.has(id));
  const doubled = [...seen].filter(([, count]) => count > 1).map(([id]) => id);
  const strange = found.filter((id) => !expected.includes(id));
  return `missing ${some(missing)}; doubled ${some(doubled)}; unexpected ${some(strange)}`;
}
