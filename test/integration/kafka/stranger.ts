import type { Consumer } from "kafkajs";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";

/** A member of a consumer group that is no Sluice: a plain client. */
export class Stranger {
  readonly #consumer: Consumer;
  readonly seen: number[] = [];
  /** The partitions that it holds. */
  partitions: number[] = [];

  private constructor(consumer: Consumer) {
    this.#consumer = consumer;
  }

  /** Joins and reads; `commits` says whether it commits what it has read. Resolves when it has partitions. */
  static async join(kafka: TestKafka, groupId: string, topic: string, commits: boolean): Promise<Stranger> {
    const consumer = kafka
      .client()
      .consumer({ groupId, sessionTimeout: 2_000, heartbeatInterval: 200, maxWaitTimeInMs: 50 });
    const stranger = new Stranger(consumer);
    const joined = new Promise<void>((resolve) => {
      consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
        stranger.partitions = payload.memberAssignment[topic] ?? [];
        if (stranger.partitions.length > 0) resolve();
      });
    });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: commits,
      eachBatch: async (payload) => {
        for (const { value, offset } of payload.batch.messages) {
          stranger.seen.push((JSON.parse(String(value)) as { id: number }).id);
          payload.resolveOffset(offset);
        }
        if (commits) await payload.commitOffsetsIfNecessary();
      },
    });
    await joined;
    return stranger;
  }

  /** Resolves when it has seen so many events. */
  async sees(count: number): Promise<void> {
    while (this.seen.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  leave(): Promise<void> {
    return this.#consumer.disconnect();
  }
}
