import type { Admin, Kafka } from "kafkajs";
import type { Brokers } from "./brokers.ts";

/** What a group has committed for a partition. */
export interface Committed {
  /** The next offset to read. */
  offset: number;
  metadata: string | null;
}

/** A partition as the broker and the group know it. */
export interface PartitionStanding {
  partition: number;
  /** The first offset that is there, and the one behind the last that may be read. */
  low: number;
  high: number;
  /** Absent where the group has committed nothing. */
  committed?: Committed;
}

export interface GroupStanding {
  /** Id of the cluster. */
  cluster: string;
  partitions: PartitionStanding[];
  /** Client ids of the live members. */
  members: string[];
}

/** A topic and a consumer group, as anybody sees them who is not a member. */
export class Group {
  readonly #admin: Admin;
  readonly #brokers: Brokers;
  readonly #groupId: string;
  readonly #topic: string;
  #isConnected = false;

  constructor(kafka: Kafka, brokers: Brokers, groupId: string, topic: string) {
    this.#admin = kafka.admin();
    this.#brokers = brokers;
    this.#groupId = groupId;
    this.#topic = topic;
  }

  /** Throws what kafkajs throws. */
  async read(): Promise<GroupStanding> {
    await this.#connect();
    // The topic first: kafkajs asks for all topics as long as it knows of none, and fails where one has no leader.
    const offsets = await this.#admin.fetchTopicOffsets(this.#topic);
    const [cluster, committed, members] = await Promise.all([
      this.#brokers.clusterId(this.#topic),
      this.#committed(),
      this.#members(),
    ]);
    const partitions = offsets.map(({ partition, low, high }) => {
      const own = committed.get(partition);
      return {
        partition,
        low: Number(low),
        high: Number(high),
        ...(own === undefined ? {} : { committed: own }),
      };
    });
    return { cluster, partitions: partitions.toSorted((a, b) => a.partition - b.partition), members };
  }

  /** The first offset of each partition that was written at a time (ms since the epoch) or later; its end if none was. */
  async offsetsSince(time: number): Promise<Map<number, number>> {
    await this.#connect();
    const found = await this.#admin.fetchTopicOffsetsByTimestamp(this.#topic, time);
    return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  async close(): Promise<void> {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    await this.#admin.disconnect();
  }

  async #committed(): Promise<Map<number, Committed>> {
    const [of] = await this.#admin.fetchOffsets({ groupId: this.#groupId, topics: [this.#topic] });
    const found = new Map<number, Committed>();
    for (const { partition, offset, metadata } of of?.partitions ?? []) {
      if (Number(offset) >= 0) found.set(partition, { offset: Number(offset), metadata });
    }
    return found;
  }

  async #members(): Promise<string[]> {
    const { groups } = await this.#admin.describeGroups([this.#groupId]);
    return groups.flatMap(({ members }) => members.map(({ clientId }) => clientId));
  }

  async #connect(): Promise<void> {
    if (this.#isConnected) return;
    await this.#admin.connect();
    this.#isConnected = true;
  }
}
