import { randomBytes } from "node:crypto";
import type { DaemonOptions } from "../../examples/quickstart/daemon.ts";
import { consumerGroup } from "../../engine/index.ts";
import type { PositionRange } from "../../engine/core/positions.ts";
import { kafkaPartition } from "../../engine/sources/kafka/positions/feed.ts";
import { freeListeners, type Workplace } from "../support/daemon.ts";
import type { TestKafka } from "../support/kafka/test-kafka.ts";
import type { ReachableClickHouse } from "../support/clickhouse.ts";
import type { Random } from "../support/random.ts";
import { CountedTable } from "./counted-table.ts";
import { KafkaMix } from "./kafka-mix.ts";
import type { KafkaServers } from "./kafka-servers.ts";
import type { KafkaVariant } from "./kafka-variants.ts";

/** What every start of the daemon has in common. */
export type Started = Required<Pick<DaemonOptions, "args" | "listeners" | "env">>;

/** The ClickHouse of the daemon, in which the pipeline makes its table: how it is asked. */
export interface OwnClickHouse extends Pick<ReachableClickHouse, "query"> {
  kind: "own";
}

export interface SubjectOptions extends Omit<KafkaServers, "server"> {
  server: ReachableClickHouse | OwnClickHouse;
  variant: KafkaVariant;
  /** Of the consumer group. */
  members: number;
  random: Random;
  /** Rows of a full batch; `batchRows`. */
  rows?: number;
  /** What the pipeline file says to Sluice, such as `on_uncertain`. */
  xSluice?: Record<string, unknown>;
}

/** Short enough that a member that was killed is gone within a moment. */
export const quick = [
  "--kafka-session-timeout",
  "1500ms",
  "--kafka-heartbeat-interval",
  "150ms",
  "--kafka-fetch-wait",
  "50ms",
];
const partitions = 6;
const insertsInFlight = 3;
/** Events that are produced before those of the next topic are. */
const turn = 10_000;
/** Of a join of many, in milliseconds: windows end while it is killed and started. */
export const manyWindows = { left: 2_000, right: 5_000 };
/** Rows of a full batch. */
export const batchRows = 500;

/** Topics, the table that they go to, and the pipeline between them. */
export class KafkaSubject {
  readonly pipeline_id: string;
  readonly mix: KafkaMix;
  readonly table: CountedTable;
  readonly #options: SubjectOptions;
  readonly #topics: readonly string[];
  /** The offsets behind the last events, by partition (`named`), when what was asked for last had been produced. */
  #ends: ReadonlyMap<string, number> = new Map();

  private constructor(pipeline_id: string, table: CountedTable, options: SubjectOptions) {
    this.pipeline_id = pipeline_id;
    this.table = table;
    this.mix = new KafkaMix(options.random, options.variant.repeats, partitions, options.variant);
    this.#topics = topicsOf(pipeline_id, options);
    this.#options = options;
  }

  static async create(options: SubjectOptions): Promise<KafkaSubject> {
    const pipeline_id = `kafka-${randomBytes(6).toString("hex")}`;
    const name = pipeline_id.replace("-", "_");
    const { server } = options;
    const table = isOwn(server) ? CountedTable.on(server, name) : await CountedTable.create(server, name);
    for (const [index, topic] of topicsOf(pipeline_id, options).entries()) {
      await kafkaOf(options, index).topics.create(topic, { partitions });
    }
    return new KafkaSubject(pipeline_id, table, options);
  }

  /** Removes what nobody needs any more. */
  async remove(): Promise<void> {
    for (const [index, topic] of this.#topics.entries()) await kafkaOf(this.#options, index).topics.delete(topic);
  }

  /**
   * Writes the pipeline file, and returns what each daemon of the workplace is started with. `http_port`: where the
   * ClickHouse is reached, or what stands before it; `sink`: further resources of the sink.
   */
  async prepare(place: Workplace, http_port: string, sink: Record<string, unknown> = {}): Promise<Started> {
    const { server } = this.#options;
    await this.write(place, http_port, { sink });
    return {
      args: ["--dir", place.pipelines, ...quick],
      listeners: await freeListeners(),
      env: isOwn(server) ? {} : { SLUICE_SECRET_CLICKHOUSE: server.password },
    };
  }

  /** Writes the pipeline file again, maybe with other batches. */
  async write(
    place: Workplace,
    http_port: string,
    { sink = {}, rows = this.#options.rows ?? batchRows }: { sink?: Record<string, unknown>; rows?: number } = {},
  ): Promise<void> {
    await place.write(`${this.pipeline_id}.yaml`, this.file(http_port, sink, rows));
  }

  /** Writes so many events to the topics. */
  async produce(count: number): Promise<void> {
    const { kafka } = this.#options;
    const [first, ...others] = this.#topics;
    if (others.length === 0) await kafka.produce(first!, this.mix.take(count));
    else await this.#produceToAll(count);
    const ends = new Map<string, number>();
    for (const [index, topic] of this.#topics.entries()) {
      const offsets = await kafkaOf(this.#options, index).topics.endOffsets(topic);
      offsets.forEach((end, partition) => ends.set(named(topic, partition), end));
    }
    this.#ends = ends;
  }

  /** Some to each in turn, so that all are read at the same time. */
  async #produceToAll(count: number): Promise<void> {
    for (let produced = 0; produced < count; produced += turn) {
      const messages = [...this.mix.take(Math.min(turn, count - produced))];
      for (const [index, topic] of this.#topics.entries()) {
        const own = messages.filter((message) => message.topic === index);
        await kafkaOf(this.#options, index).produce(topic, own);
      }
    }
  }

  /** Whether all its members are in the group, and nobody else. */
  async isJoined(): Promise<boolean> {
    return (await this.memberIds()).length === this.#options.members * this.#clusters.length;
  }

  /** Of all its topics. */
  get partitions(): number {
    return partitions * this.#options.variant.topics;
  }

  /** What the brokers call the members of the group; none while one gives out partitions. */
  async memberIds(): Promise<string[]> {
    const described = await Promise.all(
      this.#clusters.map((kafka) => kafka.withAdmin((admin) => admin.describeGroups([this.#group]))),
    );
    const groups = described.map((of) => of.groups[0]!);
    if (groups.some(({ state }) => state !== "Stable")) return [];
    return groups.flatMap(({ members }) => members.map(({ memberId }) => memberId)).toSorted();
  }

  /** Whether the group has heard of all that was produced. */
  async isRead(): Promise<boolean> {
    const next = await this.#offsets();
    return [...this.#ends].every(([partition, end]) => (next.get(partition) ?? 0) === end);
  }

  /** How many positions of these ranges the group has not heard of. */
  async behind(ranges: readonly PositionRange[]): Promise<number> {
    const next = await this.#offsets();
    return ranges.reduce((sum, { feed, first, last }) => {
      const of = kafkaPartition(feed);
      // The rows of a join are in no topic.
      if (of === undefined) return sum;
      const known = next.get(named(of.topic, of.partition)) ?? 0;
      return sum + Math.max(0, last + 1 - Math.max(known, first));
    }, 0);
  }

  /** The pipeline file. `http_port`: where the ClickHouse is reached; not looked at where it is the embedded one. */
  file(http_port = "", sink: Record<string, unknown> = {}, rows = this.#options.rows ?? batchRows): string {
    const { server, variant, members, xSluice } = this.#options;
    const resources = {
      sources: [{ source_id: this.pipeline_id, replicas: members }],
      sink: { replicas: insertsInFlight, ...sink },
    };
    return `version: v3
pipeline_id: ${this.pipeline_id}
sources:
${this.#topics.map((topic, index) => `  - ${JSON.stringify({ ...this.#source(topic, index), connection_params: kafkaOf(this.#options, index).connectionParams() })}`).join("\n")}
transforms: ${JSON.stringify(this.#transforms(variant))}
join: ${JSON.stringify(this.#join(variant))}
sink:
  type: clickhouse
  connection_params: ${JSON.stringify(isOwn(server) ? ownParams : { ...paramsOf(server), http_port })}
  table: ${this.table.name}
  mapping:
    - { name: id, column_name: id, column_type: Int64 }
    - { name: n, column_name: n, column_type: Int64 }
  max_batch_size: ${rows}
  max_delay_time: 50ms
resources: ${JSON.stringify(resources)}
x-sluice: ${JSON.stringify({ ...(isOwn(server) && { create_table: true }), ...xSluice })}
`;
  }

  get #clusters(): TestKafka[] {
    return [...new Set(this.#topics.map((_topic, index) => kafkaOf(this.#options, index)))];
  }

  get #group(): string {
    return consumerGroup(this.pipeline_id);
  }

  #source(topic: string, index: number): Record<string, unknown> {
    const names = index === 0 ? ["id", "n"] : ["number", "note"];
    return { type: "kafka", source_id: topic, topic, schema_fields: names.map((name) => ({ name, type: "int" })) };
  }

  /** Each topic has a dedup of its own; the second one's events get the names of the first one's. */
  #transforms({ dropsRepeats, joins }: KafkaVariant): unknown[] {
    const keys = ["id", joins === "many" ? "note" : "number"];
    const dedups = this.#topics.map((source_id, index) => {
      return { type: "dedup", source_id, config: { key: keys[index], time_window: `${index + 1}h` } };
    });
    const made = [
      { expression: "number", output_name: "id", output_type: "int" },
      { expression: "note", output_name: "n", output_type: "int" },
    ];
    const [, second] = this.#topics;
    const renamed = { type: "stateless", source_id: second, config: { transforms: made } };
    const isRenamed = second !== undefined && joins === undefined;
    return [...(dropsRepeats ? dedups : []), ...(isRenamed ? [renamed] : [])];
  }

  #join({ joins }: KafkaVariant): unknown {
    const [left, right] = this.#topics;
    if (joins === undefined) return null;
    const windows = joins === "many" ? manyWindows : { left: 0, right: 0 };
    return {
      enabled: true,
      left_source: { source_id: left, key: joins === "many" ? "n" : "id", time_window: `${windows.left}ms` },
      right_source: { source_id: right, key: "number", time_window: `${windows.right}ms` },
      output_fields: [
        { source_id: left, name: "id" },
        { source_id: right, name: "note", output_name: "n" },
      ],
    };
  }

  async #offsets(): Promise<Map<string, number>> {
    const offsets = await Promise.all(this.#clusters.map((kafka) => kafka.groups.offsets(this.#group)));
    return new Map(
      offsets.flat().map(({ topic, partition, offset }) => [named(topic, partition), Math.max(0, offset)]),
    );
  }
}

const ownParams = { host: "embedded", database: "default" };

function paramsOf({ username }: ReachableClickHouse): Record<string, string> {
  const password = "${env:SLUICE_SECRET_CLICKHOUSE}";
  return { host: "127.0.0.1", port: "9000", database: "default", username, password };
}

function isOwn(server: ReachableClickHouse | OwnClickHouse): server is OwnClickHouse {
  return "kind" in server;
}

/** The cluster of a topic. */
function kafkaOf({ variant, kafka, second }: SubjectOptions, index: number): TestKafka {
  if (variant.clusters === undefined || index === 0) return kafka;
  if (second === undefined) throw new Error(`${variant.name}: expected a second cluster, found none`);
  return second;
}

function topicsOf(pipeline_id: string, { variant }: SubjectOptions): string[] {
  return Array.from({ length: variant.topics }, (_, index) => (index === 0 ? pipeline_id : `${pipeline_id}-${index}`));
}

function named(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
