import { setTimeout as sleep } from "node:timers/promises";
import type { Admin, Kafka } from "kafkajs";
import type { WithAdmin } from "./topics.ts";

export interface GroupOffset {
  topic: string;
  partition: number;
  /** The next one to be read; -1 where nothing is committed. */
  offset: number;
  metadata: string | null;
}

/** The types of kafkajs' errors for what a broker answers that is about to be the coordinator of a group. */
const loading: ReadonlySet<string> = new Set(["NOT_COORDINATOR_FOR_GROUP", "GROUP_LOAD_IN_PROGRESS"]);

/** What consumer groups have committed. */
export class KafkaGroups {
  readonly #withAdmin: WithAdmin;
  readonly #client: () => Kafka;

  constructor(withAdmin: WithAdmin, client: () => Kafka) {
    this.#withAdmin = withAdmin;
    this.#client = client;
  }

  /** Of all topics, or of the one that is named; in the order of topics and partitions. */
  async offsets(groupId: string, topic?: string): Promise<GroupOffset[]> {
    const asked = { groupId, ...(topic !== undefined && { topics: [topic] }) };
    const found = await this.#ofCoordinator((admin) => admin.fetchOffsets(asked));
    return found
      .flatMap((one) => one.partitions.map((at) => ({ topic: one.topic, ...at, offset: Number(at.offset) })))
      .toSorted((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
  }

  /** `Stable`, `Empty` (no member), `Dead` (no such group), or a state of a rebalance. */
  async state(groupId: string): Promise<string> {
    const { groups } = await this.#ofCoordinator((admin) => admin.describeGroups([groupId]));
    return groups[0]?.state ?? "Dead";
  }

  /** Commits for a group that has no member, as an operator or another consumer would. */
  async set(groupId: string, offsets: Omit<GroupOffset, "metadata">[], metadata: string | null = null): Promise<void> {
    const state = await this.state(groupId);
    if (state !== "Empty" && state !== "Dead") throw new Error(`group ${groupId} is ${state}: end its members first`);
    const consumer = this.#client().consumer({ groupId, maxWaitTimeInMs: 10 });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...new Set(offsets.map(({ topic }) => topic))] });
      const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
      await consumer.run({ autoCommit: false, eachBatch: async () => undefined });
      await joined;
      await consumer.commitOffsets(offsets.map((one) => ({ ...one, offset: String(one.offset), metadata })));
    } finally {
      await consumer.disconnect();
    }
  }

  /**
   * The answer of a group's coordinator. A broker that was just named so still loads the group, and says that it is none:
   * it is asked again, as kafkajs does for members and not for these calls.
   */
  async #ofCoordinator<Answer>(ask: (admin: Admin) => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await this.#withAdmin(ask);
      } catch (error) {
        if (!loading.has(String((error as { type?: unknown }).type))) throw error;
        await sleep(100);
      }
    }
  }

  async delete(groupId: string): Promise<void> {
    await this.#withAdmin((admin) => admin.deleteGroups([groupId]));
  }
}
