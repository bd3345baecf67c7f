import type { Consumer } from "kafkajs";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";

/** A member of a group by kafkajs, whose way of sharing partitions is Sluice's own: the two get on in a classic group. */
export class KafkajsMember {
  readonly #consumer: Consumer;
  #assigned: readonly number[] = [];

  private constructor(consumer: Consumer) {
    this.#consumer = consumer;
  }

  /** Resolves when it reads. */
  static async start(kafka: TestKafka, group: string, topic: string, commits: boolean): Promise<KafkajsMember> {
    const times = { sessionTimeout: 6_000, heartbeatInterval: 1_000 };
    const consumer = kafka.client().consumer({ groupId: group, ...times });
    const member = new KafkajsMember(consumer);
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      member.#assigned = payload.memberAssignment[topic] ?? [];
    });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ autoCommit: commits, autoCommitInterval: 300, eachBatch: async () => undefined });
    return member;
  }

  /** Partitions that it was given last. */
  get assigned(): readonly number[] {
    return this.#assigned;
  }

  /** It leaves its group. */
  end(): Promise<void> {
    return this.#consumer.disconnect();
  }
}
