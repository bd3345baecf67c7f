import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../../engine/index.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import type { Random } from "../../support/random.ts";
import { KafkaLoad } from "../kafka-load.ts";
import { KafkaSubject, type OwnClickHouse } from "../kafka-subject.ts";
import type { KafkaVariant } from "../kafka-variants.ts";
import type { Found, Pace, PowerSubject } from "./subject.ts";

const perSecond = { dense: 500, slow: 10 } as const;

/** A pipeline that reads topics of a broker which lives on, into a table of the embedded ClickHouse. */
export class KafkaPowerSubject implements PowerSubject {
  readonly name: string;
  readonly pipeline_id: string;
  readonly file: string;
  readonly #subject: KafkaSubject;
  readonly #pace: Pace;
  #load: KafkaLoad | undefined;

  private constructor(variant: KafkaVariant, subject: KafkaSubject, pace: Pace) {
    this.name = `Kafka, ${variant.name}`;
    this.pipeline_id = subject.pipeline_id;
    this.file = subject.file();
    this.#subject = subject;
    this.#pace = pace;
  }

  /** `server`: the embedded ClickHouse of the daemon. */
  static async create(
    variant: KafkaVariant,
    kafka: TestKafka,
    server: OwnClickHouse,
    pace: Pace,
    random: Random,
  ): Promise<KafkaPowerSubject> {
    const options = { variant, kafka, server, members: 1, random };
    return new KafkaPowerSubject(variant, await KafkaSubject.create(options), pace);
  }

  begin(): void {
    this.#load = new KafkaLoad(this.#subject, perSecond[this.#pace]);
  }

  async stop(): Promise<void> {
    await this.#load?.stop();
  }

  async giveUp(): Promise<void> {
    await this.stop();
    await this.#subject.remove();
  }

  async isSettled(daemon: Daemon): Promise<boolean> {
    const health = await daemon.get<PipelineHealth>(`/api/v1/pipeline/${this.pipeline_id}/health`);
    const isAtRest = health.pending_batches === 0 && (health.join?.waiting ?? 0) === 0;
    return isAtRest && (await this.#subject.isRead());
  }

  async find(): Promise<Found> {
    const { table, mix } = this.#subject;
    const { count, unique, lost, doubled, strangers, changed } = await table.audit(mix.distinct);
    return {
      accepted: mix.distinct,
      rows: count,
      lost: Math.max(lost.length, mix.distinct - unique),
      doubled: Math.max(doubled.length, count - unique),
      strangers: strangers.length + changed.length,
      named: [lost, doubled, strangers, changed].flat().map(String),
    };
  }
}
