import type { Admin, Kafka } from "kafkajs";
import type { Feed } from "../../../core/positions.ts";
import type { Brokers } from "../brokers/brokers.ts";
import { kafkaFeed } from "../positions/feed.ts";
import { TopicFailure } from "../brokers/failures.ts";
import type { Committed, GroupState } from "../positions/group-state.ts";

interface TopicEnds {
  topic: string;
  offsets: { partition: number; low: string; high: string }[];
}

/** Reads topics and a consumer group without being a member of it. */
export class Group {
  readonly #admin: Admin;
  readonly #brokers: Brokers;
  readonly #groupId: string;
  readonly #topics: readonly string[];
  #isConnected = false;

  constructor(kafka: Kafka, brokers: Brokers, groupId: string, topics: readonly string[]) {
    this.#admin = kafka.admin();
    this.#brokers = brokers;
    this.#groupId = groupId;
    this.#topics = topics;
  }

  /** Feeds have the names that they have where no topic id is known. Throws what kafkajs throws. */
  async read(): Promise<GroupState> {
    await this.#connect();
    // The topics first: kafkajs asks for all topics as long as it knows none, and fails where one has no leader.
    const ends: TopicEnds[] = [];
    const before = new Map<string, string>();
    for (const topic of this.#topics) {
      for (const [name, id] of await this.topicIds([topic])) before.set(name, id);
      ends.push({ topic, offsets: await this.#ends(topic) });
    }
    const topicIds = await this.topicIds();
    for (const [topic, id] of before) {
      if (topicIds.get(topic) !== id)
        throw new Error(`topic ${topic}: it was created again while its offsets were read`);
    }
    const cluster = await this.#brokers.clusterId(this.#topics[0]!);
    const [committed, members] = await Promise.all([this.#committed(cluster), this.#members()]);
    const partitions = ends.flatMap(({ topic, offsets }) =>
      offsets.map(({ partition, low, high }) => {
        const feed = kafkaFeed({ cluster, topic, partition });
        const own = committed.get(feed);
        return { feed, low: Number(low), high: Number(high), ...(own === undefined ? {} : { committed: own }) };
      }),
    );
    return { cluster, partitions, members, topicIds };
  }

  /**
   * The first offset of each partition with a timestamp at or after a time (ms since the epoch); the end if there is
   * none.
   */
  async offsetsSince(cluster: string, topic: string, time: number): Promise<Map<Feed, number>> {
    await this.#connect();
    const found = await this.#admin.fetchTopicOffsetsByTimestamp(topic, time);
    return new Map(found.map(({ partition, offset }) => [kafkaFeed({ cluster, topic, partition }), Number(offset)]));
  }

  /** By topic, as the brokers name them now. Throws what kafkajs throws. */
  async topicIds(topics: readonly string[] = this.#topics): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const topic of topics) {
      const ids = await this.#brokers.topicIds([topic]).catch((error: unknown) => this.#ofTopic(topic, error));
      for (const [name, id] of ids) found.set(name, id);
    }
    return found;
  }

  async close(): Promise<void> {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    await this.#admin.disconnect();
  }

  /** By partition number. Where there are several topics, a failure names its topic. */
  async #ends(topic: string): Promise<TopicEnds["offsets"]> {
    try {
      const found = await this.#admin.fetchTopicOffsets(topic);
      return found.toSorted((a, b) => a.partition - b.partition);
    } catch (error) {
      return this.#ofTopic(topic, error);
    }
  }

  #ofTopic(topic: string, error: unknown): never {
    throw this.#topics.length === 1 ? error : new TopicFailure(topic, error);
  }

  async #committed(cluster: string): Promise<Map<Feed, Committed>> {
    const topics = await this.#admin.fetchOffsets({ groupId: this.#groupId, topics: [...this.#topics] });
    const found = new Map<Feed, Committed>();
    for (const { topic, partitions } of topics) {
      for (const { partition, offset, metadata } of partitions) {
        if (Number(offset) < 0) continue;
        found.set(kafkaFeed({ cluster, topic, partition }), { offset: Number(offset), metadata });
      }
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
