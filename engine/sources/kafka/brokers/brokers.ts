import type { Kafka } from "kafkajs";
import type { Feed } from "../../../core/positions.ts";
import { kafkaPartition, placeText } from "../positions/feed.ts";
import {
  decodeEpochEnds,
  type EpochEnd,
  type EpochPlace,
  epochEndsBody,
  epochEndsRequest,
} from "../protocol/epoch-ends.ts";
import {
  decodeFetchById,
  decodeFetchResponse,
  type FetchById,
  fetchByIdRequest,
  fetchByIdVersion,
  type FetchedPartition,
} from "../protocol/fetch.ts";
import { grouped } from "../protocol/grouped.ts";
import type { ClusterMetadata, TopicMetadata } from "../protocol/metadata.ts";
import type {
  CommittedPartition,
  FetchPlace,
  FetchRequest,
  GroupMembers,
  KafkaClient,
  Leader,
  MemberClient,
  OffsetAt,
  TopicPartition,
} from "./client.ts";
import { Coordinator } from "./coordinator.ts";
import { kafkajs } from "./kafkajs.ts";
import { committedOf, membersOf } from "./group-requests.ts";
import { KafkajsMemberClient } from "./member-client.ts";
import { askLeaders } from "./leaders.ts";
import { metadataOf, newest } from "./metadata.ts";
import { Nodes } from "./nodes.ts";
import { ask, askOwn, brokerError, byTopic, requestOf, sendRequest, speaks } from "./requests.ts";
import type { KafkaSettings } from "./settings.ts";
import { Throttling } from "./throttling.ts";

const readCommitted = 1;
/** The error code for a fetch at an offset that is not, or no longer, in the partition. */
export const outOfRange = 1;
/** The error code for a fetch by an unknown topic id: the topic was deleted, or the broker does not know it yet. */
export const unknownTopicId = 100;
const unknownTopic = 3;

/** What was said last of a topic. */
interface KnownTopic {
  metadata: TopicMetadata;
  /** By the monotonic clock, in milliseconds. */
  at: number;
}

/**
 * Reads from the brokers of a cluster, on the connections of kafkajs: fetches any range outside of a consumer group, and asks
 * about groups without being a member. What kafkajs cannot write or read is written and read here.
 */
export class Brokers implements KafkaClient {
  readonly #nodes: Nodes;
  readonly #settings: KafkaSettings;
  /** Of its fetches. */
  readonly throttling = new Throttling();
  readonly #topics = new Map<string, KnownTopic>();
  readonly #coordinators = new Map<string, Coordinator>();
  #refreshing: Promise<void> | undefined;

  constructor(kafka: Kafka, settings: KafkaSettings) {
    this.#nodes = new Nodes(kafka);
    this.#settings = settings;
  }

  async connect(): Promise<void> {
    await this.#nodes.any();
  }

  async cluster(topics: readonly string[]): Promise<string> {
    const { clusterId } = await this.#ask(topics);
    if (clusterId === undefined) throw new Error("expected a broker that names its cluster, found none");
    return clusterId;
  }

  async leaders(topic: string): Promise<ReadonlyMap<number, Leader | undefined>> {
    const known = this.#topics.get(topic);
    if (known === undefined || performance.now() > known.at + this.#settings.metadataMaxAge) await this.#ask([topic]);
    const { errorCode, partitions } = this.#topics.get(topic)!.metadata;
    if (errorCode !== 0) throw brokerError(errorCode);
    return new Map(
      partitions.map(({ partition, leader, epoch, replicas }) => {
        return [partition, leader < 0 ? undefined : { node: leader, epoch, replicas }];
      }),
    );
  }

  refresh(): Promise<void> {
    return (this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined)));
  }

  async topicIds(topics: Iterable<string>): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const topic of topics) {
      const id = await this.#topicId(topic).catch(async (error: unknown) => {
        // The leader may have changed, or be gone.
        await this.refresh().catch(() => undefined);
        throw error;
      });
      if (id !== undefined) found.set(topic, id);
    }
    return found;
  }

  /**
   * By topic ids where all places have one and the broker supports them (Kafka 3.1), else by the names of the topics.
   */
  async fetch(nodeId: number, wanted: FetchRequest): Promise<FetchedPartition[]> {
    const { places, partitionMaxBytes, wait, minBytes, rack: rackId = "" } = wanted;
    const broker = await this.#nodes.node(nodeId);
    const { request, limit } = requestOf(broker, "Fetch", {
      maxWaitTime: wait,
      minBytes,
      maxBytes: this.#settings.fetchMaxBytes,
      isolationLevel: readCommitted,
      topics: byTopic(places, ({ partition, offset, leaderEpoch = -1 }) => {
        return { partition, fetchOffset: String(offset), maxBytes: partitionMaxBytes, currentLeaderEpoch: leaderEpoch };
      }),
      rackId,
    });
    const byId = { name: "Fetch", key: kafkajs().apiKeys.Fetch, version: fetchByIdVersion };
    const names = speaks(broker, byId) ? namesById(places) : undefined;
    const sent =
      names === undefined
        ? sendRequest(broker, request, (bytes) => decodeFetchResponse(bytes, request.apiVersion), limit)
        : askOwn(
            broker,
            byId,
            fetchByIdRequest(this.#byId(wanted)),
            (bytes) => decodeFetchById(bytes, (id) => names.get(id) ?? ""),
            limit,
          );
    const answer = await sent;
    this.throttling.answered(nodeId, answer);
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
    return answer.partitions;
  }

  async epochEnds(nodeId: number, places: readonly EpochPlace[]): Promise<(EpochEnd | undefined)[]> {
    const broker = await this.#nodes.node(nodeId);
    if (!speaks(broker, epochEndsRequest)) return places.map(() => undefined);
    const found = await askOwn(broker, epochEndsRequest, epochEndsBody(places), decodeEpochEnds);
    const ends = new Map(found.map((end) => [placeText(end), end]));
    return places.map((place) => ends.get(placeText(place)));
  }

  async offsets(places: readonly TopicPartition[], at: OffsetAt): Promise<(number | Error)[]> {
    const found = await this.#offsets(places, at);
    const failed = places.filter((_, index) => found[index] instanceof Error);
    if (failed.length === 0) return found;
    // Another one may lead by now.
    await this.refresh().catch(() => undefined);
    const again = await this.#offsets(failed, at);
    return found.map((one) => (one instanceof Error ? again.shift()! : one));
  }

  async committed(groupId: string, places: readonly TopicPartition[]): Promise<CommittedPartition[]> {
    const found = await this.#coordinator(groupId).ask((broker) => committedOf(broker, groupId, places));
    return found
      .filter(({ offset }) => offset >= 0)
      .map(({ topic, partition, offset, metadata, leaderEpoch }) => {
        return { topic, partition, offset, metadata, isByConsumer: leaderEpoch >= 0 };
      });
  }

  members(groupId: string): Promise<GroupMembers> {
    return this.#coordinator(groupId).ask((broker) => membersOf(broker, groupId));
  }

  member(groupId: string): MemberClient {
    // A broker that does not answer for so long is left before the session is over.
    const answerTime = this.#settings.sessionTimeout / 3;
    return new KafkajsMemberClient(this.#coordinator(groupId), groupId, answerTime);
  }

  close(): Promise<void> {
    return this.#nodes.close();
  }

  async #refresh(): Promise<void> {
    await this.#ask([...this.#topics.keys()]);
  }

  #coordinator(groupId: string): Coordinator {
    const coordinator = this.#coordinators.get(groupId) ?? new Coordinator(this.#nodes, groupId);
    this.#coordinators.set(groupId, coordinator);
    return coordinator;
  }

  /** Asks any broker, and learns what it says. */
  async #ask(topics: readonly string[]): Promise<ClusterMetadata> {
    const metadata = await metadataOf(await this.#nodes.any(), topics);
    this.#nodes.learn(metadata.nodes);
    for (const topic of topics) {
      const said = metadata.topics.get(topic) ?? { errorCode: unknownTopic, partitions: [] };
      this.#topics.set(topic, { at: performance.now(), metadata: newest(this.#topics.get(topic)?.metadata, said) });
    }
    return metadata;
  }

  #offsets(places: readonly TopicPartition[], at: OffsetAt): Promise<(number | Error)[]> {
    return askLeaders(this, places, (node, led) => this.#offsetsOf(node, led, at));
  }

  async #offsetsOf(node: number, places: readonly TopicPartition[], at: OffsetAt): Promise<(number | Error)[]> {
    const timestamp = at === "end" ? -1 : at === "first" ? -2 : at;
    const topics = byTopic(places, ({ partition }) => ({ partition, timestamp: String(timestamp) }));
    const fields = { isolationLevel: readCommitted, topics };
    const { responses } = await ask<ListedOffsets>(await this.#nodes.node(node), "ListOffsets", fields);
    const found = new Map(
      responses.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, errorCode, offset }) => [
          placeText({ topic, partition }),
          errorCode === 0 ? Number(offset) : brokerError(errorCode),
        ]),
      ),
    );
    return places.map((place) => found.get(placeText(place)) ?? noAnswer(place));
  }

  /** As a leader of the topic knows it: a broker that lags names the id of a former topic. */
  async #topicId(topic: string): Promise<string | undefined> {
    const leader = [...(await this.leaders(topic)).values()].find((of) => of !== undefined);
    const broker = leader === undefined ? await this.#nodes.any() : await this.#nodes.node(leader.node);
    const { errorCode, id } = (await metadataOf(broker, [topic])).topics.get(topic) ?? { errorCode: unknownTopic };
    if (errorCode !== 0) throw brokerError(errorCode);
    return id;
  }

  #byId({ places, partitionMaxBytes, wait, minBytes, rack = "" }: FetchRequest): FetchById {
    const topics = Array.from(
      grouped(places, ({ id }) => id!),
      ([id, own]) => ({
        id,
        partitions: own.map(({ partition, offset, leaderEpoch = -1 }) => {
          return { partition, offset, leaderEpoch, maxBytes: partitionMaxBytes };
        }),
      }),
    );
    const { fetchMaxBytes: maxBytes } = this.#settings;
    return { wait, minBytes, maxBytes, isolationLevel: readCommitted, rack, topics };
  }
}

/** As kafkajs reads a ListOffsets response. */
interface ListedOffsets {
  responses: { topic: string; partitions: { partition: number; errorCode: number; offset: string }[] }[];
}

/** The names of topics by their ids; undefined where a place has no id. */
function namesById(places: readonly FetchPlace[]): Map<string, string> | undefined {
  const names = new Map<string, string>();
  for (const { topic, id } of places) {
    if (id === undefined) return undefined;
    names.set(id, topic);
  }
  return names;
}

/** The place to read a partition from, of the topic with this id if one is given. */
export function placeAt(feed: Feed, offset: number, id: string | undefined): FetchPlace {
  const { topic, partition } = kafkaPartition(feed)!;
  return { topic, partition, offset, ...(id === undefined ? {} : { id }) };
}

function noAnswer(place: TopicPartition): Error {
  return new Error(`${placeText(place)}: expected its offset, found none in the answer`);
}
