import { randomBytes } from "node:crypto";
import { consumerGroup, type PipelineHealth } from "../../../engine/index.ts";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { ReachableClickHouse } from "../../support/clickhouse.ts";
import type { Workplace } from "../../support/daemon.ts";
import type { ConnectionParams, Mechanism, Protocol } from "../../support/kafka/access.ts";
import type { KafkaCluster } from "../../support/kafka/cluster.ts";
import {
  type ClientRecord,
  LibrdkafkaConsumer,
  LibrdkafkaProducer,
  OpenTransaction,
  readCommitted,
} from "../../support/kafka/librdkafka.ts";
import type { NewTopic } from "../../support/kafka/topics.ts";
import { until } from "../patience.ts";
import { KafkajsMember } from "./kafkajs-member.ts";
import { type Arrivals, standStills } from "./stand-still.ts";

/** A topic, what is written to it, and the pipeline that reads it. */
export interface PipelinePlan {
  topic: NewTopic;
  perSecond: number;
  /** `all` writes each message exactly once; `1` never again, so that none is in a log twice. */
  acks: "all" | "1";
  /** Bytes of each message beside its id. */
  padding?: number;
  protocol?: Protocol;
  mechanism?: Mechanism;
  xSluice?: Record<string, unknown>;
  /** The pipeline is written by the fault itself. */
  isLater?: boolean;
  /** Whether the topic may lose messages that were acknowledged. */
  mayLose?: boolean;
}

/** What is in a topic in the end, held against the table. */
export interface PipelineAudit {
  /** In the topic, without those of aborted transactions. */
  messages: number;
  rows: number;
  /** In the topic, and not in the table as often as they must be. */
  lost: number;
  /** Some of them. */
  lostOnes: string[];
  /** Rows too many. */
  doubled: number;
  /** Rows that are of no message that was ever committed to the topic. */
  strangers: number;
  /** Acknowledged, not in the topic any more, and never in the table. */
  unread: number;
  /** In the topic, and not read by the control. */
  lostByControl: number;
  /** By the spans of the load, in milliseconds. */
  standStill: number[];
  standStillOfControl: number[];
  /** How reading ended: `whole`, or why it was not waited for any longer. */
  end: string;
  health: PipelineHealth;
}

/** A member of the group that is not Sluice. */
export interface Member {
  /** Partitions that it has. */
  readonly assigned: readonly number[];
  end(): Promise<void>;
}

/** Offsets of a partition, the last one exclusive. */
export interface OffsetRange {
  partition: number;
  from: number;
  to: number;
}

/** In ids: those of transactions are from here on. */
const firstOfTransactions = 1_000_000_000;
const named = 5;
/** Without a new row for so long, nothing more comes of what the group has passed. */
const restMs = 5_000;
const patienceForControl = 30_000;
const passed = "passed by the group";

const byAcks: Record<PipelinePlan["acks"], Record<string, string>> = {
  all: { acks: "all", "enable.idempotence": "true" },
  "1": { acks: "1", "message.send.max.retries": "0" },
};

/** As those of Sluice by default, so that what is compared is not a setting. */
const controlTimes = { "session.timeout.ms": "30000", "heartbeat.interval.ms": "3000" };

export class WatchedPipeline {
  readonly pipeline_id: string;
  readonly plan: PipelinePlan;
  /** What an operator did to the group: messages that are read again, and those that are passed over. */
  readonly readAgain: OffsetRange[] = [];
  readonly passedOver: OffsetRange[] = [];
  readonly #cluster: KafkaCluster;
  readonly #server: ReachableClickHouse;
  readonly #place: Workplace;
  #params: ConnectionParams;
  #load: LibrdkafkaProducer | undefined;
  #control: LibrdkafkaConsumer | undefined;
  readonly #members: Member[] = [];
  #transactions = 0;

  private constructor(cluster: KafkaCluster, server: ReachableClickHouse, place: Workplace, plan: PipelinePlan) {
    this.pipeline_id = `brokers-${randomBytes(6).toString("hex")}`;
    this.plan = plan;
    this.#cluster = cluster;
    this.#server = server;
    this.#place = place;
    this.#params = this.#paramsNow();
  }

  /** Makes topic and table, and begins to write; the pipeline too, unless it comes later. */
  static async create(
    cluster: KafkaCluster,
    server: ReachableClickHouse,
    place: Workplace,
    plan: PipelinePlan,
  ): Promise<WatchedPipeline> {
    const made = new WatchedPipeline(cluster, server, place, plan);
    await cluster.topics.create(made.topic, plan.topic);
    const columns = "(id Int64, at DateTime64(3) DEFAULT now64(3))";
    const settings = "SETTINGS non_replicated_deduplication_window = 10000";
    await server.client.command({
      query: `CREATE TABLE ${made.table} ${columns} ENGINE = MergeTree ORDER BY id ${settings}`,
    });
    made.#control = await LibrdkafkaConsumer.start({
      params: made.#params,
      group: `control-${made.pipeline_id}`,
      topics: [made.topic],
      properties: {
        ...controlTimes,
        "topic.metadata.refresh.interval.ms": "5000",
        "isolation.level": "read_committed",
      },
    });
    made.#load = await LibrdkafkaProducer.start({
      params: cluster.connectionParams(),
      topic: made.topic,
      partitions: made.partitions,
      perSecond: plan.perSecond,
      ...(plan.padding !== undefined && { padding: plan.padding }),
      properties: byAcks[plan.acks],
    });
    if (plan.isLater !== true) await made.write();
    return made;
  }

  get topic(): string {
    return this.pipeline_id;
  }

  get table(): string {
    return this.pipeline_id.replaceAll("-", "_");
  }

  get group(): string {
    return consumerGroup(this.pipeline_id);
  }

  get partitions(): number {
    const { assignment, partitions = 1 } = this.plan.topic;
    return assignment?.length ?? partitions;
  }

  get load(): LibrdkafkaProducer {
    return this.#load!;
  }

  get control(): LibrdkafkaConsumer {
    return this.#control!;
  }

  health(daemon: Daemon): Promise<PipelineHealth> {
    return daemon.get(`/api/v1/pipeline/${this.pipeline_id}/health`);
  }

  /** Writes the pipeline file, and takes the way to the brokers that there is now. */
  async write(xSluice: Record<string, unknown> = {}, over: Partial<ConnectionParams> = {}): Promise<void> {
    this.#params = { ...this.#paramsNow(), ...over };
    await this.#write(xSluice);
  }

  /** Stops it by its file, or lets it run again; resolves when it is so. */
  async setState(daemon: Daemon, state: "Running" | "Stopped"): Promise<void> {
    await this.#write({ state });
    const isSo = async (): Promise<boolean> => (await this.health(daemon)).overall_status === state;
    await until(daemon, `to have ${this.pipeline_id} ${state}`, isSo, 120_000);
  }

  /** A member of the pipeline's own group that is not Sluice: by librdkafka with these properties, or by kafkajs. */
  async addMember(properties: Record<string, string> | "kafkajs", commits: boolean): Promise<Member> {
    const member = await this.#join(properties, commits);
    this.#members.push(member);
    return member;
  }

  /** A transaction of so many messages, which are written. */
  begin(count: number, timeout: number): Promise<OpenTransaction> {
    const first = firstOfTransactions + this.#transactions * 1_000_000;
    this.#transactions += 1;
    const { topic, partitions } = this;
    const name = `${topic}-${this.#transactions}`;
    return OpenTransaction.begin({
      params: this.#cluster.connectionParams(),
      topic,
      partitions,
      name,
      first,
      count,
      timeout,
    });
  }

  async rows(): Promise<number> {
    const [row] = await this.#server.query<{ n: string }>(`SELECT toString(count()) AS n FROM ${this.table}`);
    return Number(row?.n);
  }

  /** Resolves when both have read something. */
  async reading(daemon: Daemon): Promise<void> {
    await until(daemon, `to write rows of ${this.pipeline_id}`, async () => (await this.rows()) > 0, 120_000);
    await until(daemon, "while the control began", () => this.control.records.length > 0, 120_000);
  }

  /** How many messages of these partitions that are acknowledged now are not in the table within `patience`. */
  async unwritten(daemon: Daemon, partitions: readonly number[], patience: number): Promise<number> {
    const wanted = this.load.acked.filter(({ partition }) => partitions.includes(partition)).map(({ id }) => id);
    let left = wanted.length;
    const isWritten = async (): Promise<boolean> => {
      const { arrivals } = await this.#rowsNow();
      left = wanted.filter((id) => !arrivals.has(id)).length;
      return left === 0;
    };
    await until(daemon, "to write messages", isWritten, patience).catch(() => undefined);
    return left;
  }

  /** Ends the load and those beside, waits until all is read or nothing more comes, and counts. */
  async audit(daemon: Daemon, begins: readonly number[], patience: number): Promise<PipelineAudit> {
    await this.endMembers();
    await this.load.end();
    const records = await readCommitted(this.#cluster.connectionParams(), this.topic);
    const end = await this.#settled(daemon, records, patience);
    const { counts, arrivals } = await this.#rowsNow();
    const { acked, produced } = this.load;
    const there = new Set(records.map(({ id }) => id));
    const isKnown = (id: number): boolean => there.has(id) || (this.plan.mayLose === true && id < produced);
    const lost = this.#missing(records, counts);
    await until(daemon, "while the control read", () => this.#controlHas(records), patienceForControl).catch(
      () => undefined,
    );
    const arrivalsOfControl = arrivalsOf(this.control.records);
    return {
      messages: records.length,
      rows: [...counts.values()].reduce((sum, count) => sum + count, 0),
      lost: lost.length,
      lostOnes: lost.slice(0, named).map(({ partition, offset, id }) => `${partition}@${offset} (id ${id})`),
      doubled: this.#tooMany(records, counts),
      strangers: [...counts.keys()].filter((id) => !isKnown(id)).length,
      unread: acked.filter(({ id }) => !there.has(id) && !counts.has(id)).length,
      lostByControl: records.filter(({ id }) => !arrivalsOfControl.has(id)).length,
      standStill: standStills(acked, arrivals, begins),
      standStillOfControl: standStills(acked, arrivalsOfControl, begins),
      end,
      health: await this.health(daemon),
    };
  }

  async endMembers(): Promise<void> {
    for (const member of this.#members.splice(0)) await member.end();
  }

  /** Ends what was started beside it, and removes the topic. */
  async clean(): Promise<void> {
    await this.endMembers();
    await this.#load?.end();
    await this.#control?.end();
    await this.#cluster.topics.delete(this.topic);
  }

  /** Whether the group has gone on after all of these: they will never be read. */
  async #arePassed(records: readonly Omit<ClientRecord, "at">[]): Promise<boolean> {
    const offsets = await this.#cluster.groups.offsets(this.group, this.topic);
    const next = new Map(offsets.map(({ partition, offset }) => [partition, offset]));
    return records.every(({ partition, offset }) => (next.get(partition) ?? -1) > offset);
  }

  async #join(properties: Record<string, string> | "kafkajs", commits: boolean): Promise<Member> {
    const { group, topic } = this;
    if (properties === "kafkajs") return KafkajsMember.start(this.#cluster, group, topic, commits);
    const params = this.#cluster.connectionParams();
    const often = { "auto.commit.interval.ms": "300" };
    return LibrdkafkaConsumer.start({
      params,
      group,
      topics: [topic],
      properties: { ...often, ...properties },
      commits,
    });
  }

  #controlHas(records: readonly Omit<ClientRecord, "at">[]): boolean {
    const found = arrivalsOf(this.control.records);
    return records.every(({ id }) => found.has(id));
  }

  /** Resolves with how it ended. */
  async #settled(daemon: Daemon, records: readonly Omit<ClientRecord, "at">[], patience: number): Promise<string> {
    let end = "never looked at";
    let [rows, since] = [-1, Date.now()];
    const isOver = async (): Promise<boolean> => {
      const { counts } = await this.#rowsNow();
      const missing = this.#missing(records, counts);
      const { source, pending_batches, paused } = await this.health(daemon);
      if (paused !== undefined) end = `paused: ${paused.text}`;
      const sum = [...counts.values()].reduce((one, other) => one + other, 0);
      if (sum !== rows || pending_batches > 0) [rows, since] = [sum, Date.now()];
      if (missing.length === 0 && pending_batches === 0) end = "whole";
      else if (Date.now() - since > restMs && (await this.#arePassed(missing))) end = passed;
      else if (paused === undefined) end = `not read within ${patience / 1_000} s, lag ${source?.lag}`;
      return end === "whole" || end === passed;
    };
    await until(daemon, "to read what is in the topic", isOver, patience).catch(() => undefined);
    return end;
  }

  /** Messages that are in the table less often than they must be. */
  #missing<R extends Omit<ClientRecord, "at">>(records: readonly R[], counts: ReadonlyMap<number, number>): R[] {
    return records.filter((record) => (counts.get(record.id) ?? 0) < this.#wanted(record));
  }

  #tooMany(records: readonly Omit<ClientRecord, "at">[], counts: ReadonlyMap<number, number>): number {
    const wanted = new Map(records.map((record) => [record.id, this.#wanted(record)]));
    return [...counts].reduce((sum, [id, count]) => sum + Math.max(0, count - (wanted.get(id) ?? 1)), 0);
  }

  #wanted({ partition, offset }: Omit<ClientRecord, "at">): number {
    const among = (ranges: readonly OffsetRange[]): number =>
      ranges.filter((range) => range.partition === partition && range.from <= offset && offset < range.to).length;
    return 1 + among(this.readAgain) - among(this.passedOver);
  }

  async #rowsNow(): Promise<{ counts: Map<number, number>; arrivals: Arrivals }> {
    const rows = await this.#server.query<{ id: string; n: string; at: string }>(
      `SELECT id, toString(count()) AS n, toString(toUnixTimestamp64Milli(min(at))) AS at FROM ${this.table} GROUP BY id`,
    );
    return {
      counts: new Map(rows.map(({ id, n }) => [Number(id), Number(n)])),
      arrivals: new Map(rows.map(({ id, at }) => [Number(id), Number(at)])),
    };
  }

  #paramsNow(): ConnectionParams {
    return this.#cluster.connectionParams(this.plan.protocol, this.plan.mechanism);
  }

  async #write(xSluice: Record<string, unknown>): Promise<void> {
    await this.#place.write(`${this.pipeline_id}.yaml`, this.#file({ ...this.plan.xSluice, ...xSluice }));
  }

  #file(xSluice: Record<string, unknown>): string {
    const { port } = new URL(this.#server.url);
    return `version: v3
pipeline_id: ${this.pipeline_id}
sources:
  - type: kafka
    source_id: events
    topic: ${this.topic}
    schema_fields: [{ name: id, type: int }]
    connection_params: ${JSON.stringify(this.#params)}
sink:
  type: clickhouse
  connection_params:
    { host: 127.0.0.1, port: "9000", http_port: "${port}", database: default, username: ${this.#server.username}, password: "\${env:SLUICE_SECRET_CLICKHOUSE}" }
  table: ${this.table}
  mapping:
    - { name: id, column_name: id, column_type: Int64 }
  max_batch_size: 1000
  max_delay_time: 50ms
x-sluice: ${JSON.stringify(xSluice)}
`;
  }
}

function arrivalsOf(records: readonly ClientRecord[]): Arrivals {
  const arrivals = new Map<number, number>();
  for (const { id, at } of records) if (!arrivals.has(id)) arrivals.set(id, at);
  return arrivals;
}
