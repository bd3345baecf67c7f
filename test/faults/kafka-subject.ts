import { randomBytes } from "node:crypto";
import type { DaemonOptions } from "../../examples/quickstart/daemon.ts";
import { consumerGroup } from "../../engine/index.ts";
import type { PositionRange } from "../../engine/core/positions.ts";
import { kafkaPartition } from "../../engine/sources/kafka/feed.ts";
import { freeListeners, type Workplace } from "../support/daemon.ts";
import type { Random } from "../support/random.ts";
import { CountedTable } from "./counted-table.ts";
import { KafkaMix } from "./kafka-mix.ts";
import type { KafkaServers } from "./kafka-servers.ts";
import type { KafkaVariant } from "./kafka-variants.ts";

/** What every start of the daemon has in common. */
export type Started = Required<Pick<DaemonOptions, "args" | "listeners" | "env">>;

export interface SubjectOptions extends KafkaServers {
  variant: KafkaVariant;
  /** Of the consumer group. */
  members: number;
  random: Random;
}

/** Short enough that a member that was killed is gone within a moment. */
const quick = [
  "--kafka-session-timeout",
  "1500ms",
  "--kafka-heartbeat-interval",
  "150ms",
  "--kafka-fetch-wait",
  "50ms",
];
const partitions = 6;
const insertsInFlight = 3;
/** Rows of a full batch. */
export const batchRows = 500;

/** A topic, the table that it goes to, and the pipeline between them. */
export class KafkaSubject {
  readonly pipeline_id: string;
  readonly mix: KafkaMix;
  readonly table: CountedTable;
  readonly #options: SubjectOptions;
  /** The offset behind the last event, by partition, when what was asked for last had been produced. */
  #ends: readonly number[] = [];

  private constructor(pipeline_id: string, table: CountedTable, options: SubjectOptions) {
    this.pipeline_id = pipeline_id;
    this.table = table;
    this.mix = new KafkaMix(options.random, options.variant.repeats, partitions);
    this.#options = options;
  }

  static async create(options: SubjectOptions): Promise<KafkaSubject> {
    const pipeline_id = `kafka-${randomBytes(6).toString("hex")}`;
    const table = await CountedTable.create(options.server, pipeline_id.replace("-", "_"));
    await options.kafka.topics.create(pipeline_id, { partitions });
    return new KafkaSubject(pipeline_id, table, options);
  }

  /** Removes what nobody needs any more. */
  async remove(): Promise<void> {
    await this.#options.kafka.topics.delete(this.pipeline_id);
  }

  /**
   * Writes the pipeline file, and returns what each daemon of the workplace is started with. `http_port`: where the
   * ClickHouse is reached, or what stands before it; `sink`: further resources of the sink.
   */
  async prepare(place: Workplace, http_port: string, sink: Record<string, unknown> = {}): Promise<Started> {
    await place.write("kafka.yaml", this.#file(http_port, sink));
    return {
      args: ["--dir", place.pipelines, ...quick],
      listeners: await freeListeners(),
      env: { CLICKHOUSE_PASSWORD: this.#options.server.password },
    };
  }

  /** Writes so many events to the topic. */
  async produce(count: number): Promise<void> {
    const { kafka } = this.#options;
    await kafka.produce(this.pipeline_id, this.mix.take(count));
    this.#ends = await kafka.topics.endOffsets(this.pipeline_id);
  }

  /** Whether all its members are in the group, and nobody else. */
  async isJoined(): Promise<boolean> {
    return (await this.memberIds()).length === this.#options.members;
  }

  /** What the broker calls the members of the group; none while it gives out partitions. */
  async memberIds(): Promise<string[]> {
    const { groups } = await this.#options.kafka.withAdmin((admin) => admin.describeGroups([this.#group]));
    const { state, members } = groups[0]!;
    return state === "Stable" ? members.map(({ memberId }) => memberId).toSorted() : [];
  }

  /** Whether the group has heard of all that was produced. */
  async isRead(): Promise<boolean> {
    const next = await this.#offsets();
    return this.#ends.every((end, partition) => (next.get(partition) ?? 0) === end);
  }

  /** How many positions of these ranges the group has not heard of. */
  async behind(ranges: readonly PositionRange[]): Promise<number> {
    const next = await this.#offsets();
    return ranges.reduce((sum, { feed, first, last }) => {
      const known = next.get(kafkaPartition(feed)!.partition) ?? 0;
      return sum + Math.max(0, last + 1 - Math.max(known, first));
    }, 0);
  }

  #file(http_port: string, sink: Record<string, unknown>): string {
    const { kafka, server, variant, members } = this.#options;
    const dedup = { type: "dedup", source_id: "input", config: { key: "id", time_window: "1h" } };
    const resources = {
      sources: [{ source_id: "input", replicas: members }],
      sink: { replicas: insertsInFlight, ...sink },
    };
    return `version: v3
pipeline_id: ${this.pipeline_id}
sources:
  - type: kafka
    source_id: input
    topic: ${this.pipeline_id}
    connection_params: ${JSON.stringify(kafka.connectionParams())}
    schema_fields:
      - { name: id, type: int }
      - { name: n, type: int }
transforms: ${JSON.stringify(variant.dropsRepeats ? [dedup] : [])}
sink:
  type: clickhouse
  connection_params:
    { host: 127.0.0.1, port: "9000", http_port: "${http_port}", database: default, username: ${server.username}, password: "\${env:CLICKHOUSE_PASSWORD}" }
  table: ${this.table.name}
  mapping:
    - { name: id, column_name: id, column_type: Int64 }
    - { name: n, column_name: n, column_type: Int64 }
  max_batch_size: ${batchRows}
  max_delay_time: 50ms
resources: ${JSON.stringify(resources)}
`;
  }

  get #group(): string {
    return consumerGroup(this.pipeline_id);
  }

  async #offsets(): Promise<Map<number, number>> {
    const found = await this.#options.kafka.groups.offsets(this.#group, this.pipeline_id);
    return new Map(found.map(({ partition, offset }) => [partition, Math.max(0, offset)]));
  }
}
