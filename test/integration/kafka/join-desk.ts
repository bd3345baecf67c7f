import { expect } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { type KafkaScene, lookEvery } from "./kafka-scene.ts";

export interface Wish {
  windows: [left: string, right: string];
  sink: Record<string, unknown>;
  over: Record<string, unknown>;
}

const dedup = (source_id: string, key: string) => {
  return { type: "dedup", source_id, config: { key, time_window: "1h" } };
};

const fields = (...names: [string, string][]) => names.map(([name, type]) => ({ name, type }));

/** Orders on the left, customers on the right, joined by the customer's number into one table. */
export class Desk {
  /** The topic of the customers, and the Kafka that has it. */
  readonly customers: string;
  readonly registry: TestKafka;
  readonly scene: KafkaScene;

  constructor(scene: KafkaScene, registry = scene.kafka) {
    this.scene = scene;
    this.registry = registry;
    this.customers = `${scene.topic}-customers`;
  }

  /** Makes the topic of the customers and the columns of the table, plays, and removes the topic. */
  async open(play: (desk: Desk) => Promise<void>): Promise<void> {
    const { scene, registry, customers } = this;
    await registry.topics.create(customers, { partitions: 1 });
    await scene.server.client.command({
      query: `ALTER TABLE ${scene.table} ADD COLUMN customer String, ADD COLUMN tags Array(String)`,
    });
    try {
      await play(this);
    } finally {
      await scene.running.engine.stop(scene.pipeline_id).catch(() => undefined);
      await registry.topics.delete(customers);
    }
  }

  config({ windows = ["1h", "1h"], sink = {}, over = {} }: Partial<Wish> = {}): PipelineConfig {
    const [orders] = this.scene.config().sources;
    const [left, right] = windows;
    const mapping = [
      { name: "id", column_name: "id", column_type: "Int64" },
      { name: "customer", column_name: "customer", column_type: "String" },
      { name: "tags", column_name: "tags", column_type: "Array(String)" },
    ];
    return this.scene.config(
      { mapping, max_batch_size: 50, max_delay_time: "100ms", ...sink },
      {
        sources: [
          { ...orders, schema_fields: fields(["id", "int"], ["customer_id", "int"]) },
          {
            ...orders,
            source_id: "customers",
            topic: this.customers,
            connection_params: this.registry.connectionParams(),
            schema_fields: fields(["key", "string"], ["name", "string"], ["about.tags", "array"]),
          },
        ],
        transforms: [dedup("input", "id")],
        join: {
          enabled: true,
          type: "temporal",
          left_source: { source_id: "input", key: "customer_id", time_window: left },
          right_source: { source_id: "customers", key: "key", time_window: right },
          output_fields: [
            { source_id: "input", name: "id" },
            { source_id: "customers", name: "name", output_name: "customer" },
            { source_id: "customers", name: "about.tags", output_name: "tags" },
          ],
        },
        ...over,
      },
    );
  }

  async orders(...orders: [id: number, customer: number][]): Promise<void> {
    const events = orders.map(([id, customer_id]) => JSON.stringify({ id, customer_id }));
    await this.scene.kafka.produce(this.scene.topic, events, { partition: 0 });
  }

  async names(...customers: [key: string, name: string][]): Promise<void> {
    const events = customers.map(([key, name]) => JSON.stringify({ key, name, about: { tags: [name, "é\n"] } }));
    await this.registry.produce(this.customers, events, { partition: 0 });
  }

  /** Resolves when the table has exactly these rows. */
  async holds(...rows: [id: number, customer: string][]): Promise<void> {
    const wanted = rows.map(([id, customer]) => `${id} ${customer}`).toSorted();
    for (const end = Date.now() + 60_000; ;) {
      const query = `SELECT id, customer, tags FROM ${this.scene.table} ORDER BY id`;
      const found = await this.scene.server.query<{ id: string; customer: string; tags: string[] }>(query);
      for (const { customer, tags } of found) expect(tags).toEqual([customer, "é\n"]);
      const texts = found.map(({ id, customer }) => `${id} ${customer}`).toSorted();
      if (found.length >= rows.length || Date.now() > end) {
        expect(texts).toEqual(wanted);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, lookEvery));
    }
  }

  /** Resolves when so many events of each side are buffered. */
  buffers(left: number, right: number): Promise<unknown> {
    return this.scene.until(({ join }) => join?.left?.events === left && join.right?.events === right);
  }

  async edit(config: PipelineConfig): Promise<void> {
    await this.scene.stop();
    await this.scene.running.engine.update(this.scene.pipeline_id, config, defaultOptions);
    await this.scene.resume();
  }
}
