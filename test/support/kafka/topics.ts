import { setTimeout as sleep } from "node:timers/promises";
import kafkajs, { type Admin, type ITopicConfig } from "kafkajs";

/** Runs `use` on an administrator's connection of its own: a broker that was restarted in between does no harm. */
export type WithAdmin = <T>(use: (admin: Admin) => Promise<T>) => Promise<T>;

export interface NewTopic {
  /** 1 by default. */
  partitions?: number;
  /** Of each partition; 1 by default. */
  replicas?: number;
  /** The brokers of each partition, its preferred leader first; instead of the numbers. */
  assignment?: readonly (readonly number[])[];
  config?: Record<string, string>;
}

/**
 * The configuration of a topic that the broker compacts at once. Records that were written by a later call, by their
 * timestamps, begin a segment of their own, and all but the last segment are cleaned.
 */
export const compacted = {
  "cleanup.policy": "compact",
  "segment.ms": "1",
  "min.cleanable.dirty.ratio": "0.01",
  "delete.retention.ms": "0",
};

/** The topics of a broker. */
export class KafkaTopics {
  readonly #withAdmin: WithAdmin;

  constructor(withAdmin: WithAdmin) {
    this.#withAdmin = withAdmin;
  }

  /** Resolves when every partition takes requests. */
  async create(topic: string, wish: NewTopic = {}): Promise<void> {
    const { assignment, partitions = assignment?.length ?? 1, replicas = 1, config = {} } = wish;
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    const wanted = { topic, ...placement(assignment, partitions, replicas), configEntries };
    await this.#withAdmin(async (admin) => {
      const isNew = await whereAllowed(() => admin.createTopics({ topics: [wanted], waitForLeaders: false }));
      if (!isNew) throw new Error(`topic ${topic} is there already; take a name of its own for every test`);
      await takesRequests(admin, topic, partitions);
    });
  }

  /** Resolves when it is gone: one that is created under its name before that may be taken for it. */
  async delete(topic: string): Promise<void> {
    await this.#withAdmin(async (admin) => {
      await admin.deleteTopics({ topics: [topic] });
      while ((await admin.listTopics()).includes(topic)) await sleep(lookMs);
    });
  }

  /** @param total how many there are to be, the old ones included. */
  async addPartitions(topic: string, total: number): Promise<void> {
    await this.#withAdmin(async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic, count: total }] });
      await takesRequests(admin, topic, total);
    });
  }

  /** Replaces what was set at the topic, such as `retention.ms`. */
  async configure(topic: string, config: Record<string, string>): Promise<void> {
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries };
    await this.#withAdmin((admin) => admin.alterConfigs({ validateOnly: false, resources: [resource] }));
  }

  /** Removes what is before offset `before`, as retention does. */
  async deleteRecords(topic: string, partition: number, before: number): Promise<void> {
    await this.#withAdmin(async (admin) => {
      // The client finds the leader only of a topic that it has asked about.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] });
    });
  }

  /** By partition: the first offset that is kept. */
  async startOffsets(topic: string): Promise<number[]> {
    return this.#offsets(topic, "low");
  }

  /** By partition: the offset that the next record gets, or the first one of a transaction that is not ended. */
  async endOffsets(topic: string): Promise<number[]> {
    return this.#offsets(topic, "high");
  }

  async #offsets(topic: string, end: "low" | "high"): Promise<number[]> {
    const found = await this.#withAdmin((admin) => admin.fetchTopicOffsets(topic));
    return found.toSorted((a, b) => a.partition - b.partition).map((partition) => Number(partition[end]));
  }
}

const lookMs = 10;

/** Brokers refuse numbers beside an assignment. */
function placement(
  assignment: NewTopic["assignment"],
  partitions: number,
  replicas: number,
): Pick<ITopicConfig, "numPartitions" | "replicationFactor" | "replicaAssignment"> {
  if (assignment === undefined) return { numPartitions: partitions, replicationFactor: replicas };
  const replicaAssignment = assignment.map((brokers, partition) => ({ partition, replicas: [...brokers] }));
  return { numPartitions: -1, replicationFactor: -1, replicaAssignment };
}

/** Tries again while the controller has shut its only broker out, which is the one reason to refuse one replica. */
async function whereAllowed<T>(create: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await create();
    } catch (error) {
      const { errors = [] } = error as { errors?: { type?: string }[] };
      if (!errors.some(({ type }) => type === "INVALID_REPLICATION_FACTOR")) throw error;
      await sleep(lookMs);
    }
  }
}

/**
 * Resolves when the leaders of all partitions answer. Metadata name them some moments before they take requests. Until then
 * a request that some of them refuse is sent again as a whole by a producer that is not idempotent: what the others took is
 * there twice.
 */
async function takesRequests(admin: Admin, topic: string, partitions: number): Promise<void> {
  const answering = (): Promise<number> =>
    admin.fetchTopicOffsets(topic).then((offsets) => offsets.length, ignoreRetriable);
  while ((await answering()) < partitions) await sleep(lookMs);
}

function ignoreRetriable(error: unknown): number {
  if (error instanceof kafkajs.KafkaJSError && error.retriable) return 0;
  throw error;
}
