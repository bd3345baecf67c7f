import type { Kafka } from "kafkajs";
import type Encoder from "kafkajs/src/protocol/encoder.js";
import type Connection from "kafkajs/src/network/connection.js";
import type { Feed } from "../../../core/positions.ts";
import { kafkaPartition, partitionText } from "../positions/feed.ts";
import {
  decodeFetchById,
  decodeFetchResponse,
  type FetchById,
  fetchByIdRequest,
  fetchByIdVersion,
  type FetchedPartition,
} from "../protocol/fetch.ts";
import { decodeTopicMetadata, topicMetadataRequest, topicMetadataVersion } from "../protocol/topic-metadata.ts";
import { kafkajs } from "./kafkajs.ts";
import type { KafkaSettings } from "./settings.ts";

/** Where a partition is to be read from. */
export interface FetchPlace {
  topic: string;
  /** Id of the topic, where it is known: another topic of the same name is not read. */
  id?: string;
  partition: number;
  /** The first offset to read. */
  offset: number;
}

/** What one fetch asks for. */
export interface FetchRequest {
  /** The broker fills its answer in this order; places of one topic stand together. */
  places: readonly FetchPlace[];
  /** The most bytes of one partition; a batch that is larger is sent whole. */
  partitionMaxBytes: number;
  /** Milliseconds that the broker waits for `minBytes`. */
  wait: number;
  minBytes: number;
}

interface ProtocolRequest {
  request: { apiVersion: number };
  requestTimeout: number;
}

/** The parts of kafkajs's internal classes that are used here. */
interface Broker {
  isConnected(): boolean;
  connect(): Promise<void>;
  /** The request versions that it supports, by API key; known once it is connected. */
  versions: Readonly<Record<number, { minVersion: number; maxVersion: number }>> | null;
  lookupRequest(key: number, request: unknown): (fields: object) => ProtocolRequest;
  connectionPool: {
    send(request: object): Promise<unknown>;
    map(work: (connection: Connection) => void): void;
  };
}

interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  metadata(of: { topics: string[] }): Promise<{ clusterId: string } | null>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findTopicPartitionMetadata(topic: string): { partitionId: number; leader: number }[];
  fetchTopicsOffset(wanted: object[]): Promise<{ partitions: { offset: string }[] }[]>;
  findBroker(where: { nodeId: number }): Promise<Broker>;
}

const readCommitted = 1;
/** The error code for a fetch at an offset that is not, or no longer, in the partition. */
export const outOfRange = 1;
/** The error code for a fetch by an unknown topic id: the topic was deleted, or the broker does not know it yet. */
export const unknownTopicId = 100;

/**
 * Reads from the brokers of a cluster: fetches any range outside of a consumer group, and decodes the answers itself.
 * Only this file uses parts of kafkajs that it does not export.
 */
export class Brokers {
  readonly #cluster: Cluster;
  readonly #settings: KafkaSettings;
  readonly #topics = new Set<string>();
  /** Each gives up the fetches from a broker, of those that are under way. */
  readonly #fetching = new Set<() => void>();

  constructor(kafka: Kafka, settings: KafkaSettings) {
    const symbol = Object.getOwnPropertySymbols(kafka).find((one) => String(one).includes("createCluster"));
    if (symbol === undefined)
      throw new Error("kafkajs: expected version 2.2.4, found one without a cluster of its own");
    const create = (kafka as unknown as Record<symbol, (options: object) => Cluster>)[symbol]!;
    this.#settings = settings;
    this.#cluster = create({
      metadataMaxAge: settings.metadataMaxAge,
      allowAutoTopicCreation: false,
      isolationLevel: readCommitted,
    });
  }

  async connect(): Promise<void> {
    await this.#cluster.connect();
  }

  /** The id of the cluster. The request names one topic, because a topic without a leader would make it fail. */
  async clusterId(topic: string): Promise<string> {
    await this.#know(topic);
    const found = await this.#cluster.metadata({ topics: [topic] });
    if (found === null) throw new Error(`topic ${topic}: expected a broker that names its cluster, found none`);
    return found.clusterId;
  }

  /** The node that leads each partition of a topic, without partitions that have no leader at the moment. */
  async leaders(topic: string): Promise<Map<number, number>> {
    await this.#know(topic);
    await this.#cluster.refreshMetadataIfNecessary();
    const partitions = this.#cluster.findTopicPartitionMetadata(topic).filter(({ leader }) => leader >= 0);
    return new Map(partitions.map(({ partitionId, leader }) => [partitionId, leader]));
  }

  /** Reads anew which broker leads which partition, after an error that says that the leader has changed. */
  async refresh(): Promise<void> {
    await this.#cluster.refreshMetadata();
  }

  /** The first offset that a partition still has. */
  earliest(topic: string, partition: number): Promise<number> {
    return this.#offset(topic, partition, true);
  }

  /**
   * The offset after the last that may be read. Throws where the broker became leader just now and does not know it
   * yet.
   */
  end(topic: string, partition: number): Promise<number> {
    return this.#offset(topic, partition, false);
  }

  /**
   * The ids of topics, as the leaders of their partitions know them. Leaves out a topic whose brokers give no ids
   * (before Kafka 2.8).
   */
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
    const { places, partitionMaxBytes, wait, minBytes } = wanted;
    const broker = await this.#connected(nodeId);
    const { apiKeys, requests } = kafkajs();
    const make = broker.lookupRequest(apiKeys.Fetch, requests.Fetch);
    const { request, requestTimeout } = make({
      maxWaitTime: wait,
      minBytes,
      maxBytes: this.#settings.fetchMaxBytes,
      isolationLevel: readCommitted,
      topics: byTopic(places, partitionMaxBytes),
      rackId: "",
    });
    const names = speaks(broker, apiKeys.Fetch, fetchByIdVersion) ? namesById(places) : undefined;
    const giveUp = (): void => rejectRequests(broker);
    this.#fetching.add(giveUp);
    const sent =
      names === undefined
        ? send(broker, request, (bytes) => decodeFetchResponse(bytes, request.apiVersion), requestTimeout)
        : send(
            broker,
            ownRequest("Fetch", fetchByIdVersion, fetchByIdRequest(this.#byId(wanted))),
            (bytes) => decodeFetchById(bytes, (id) => names.get(id) ?? ""),
            requestTimeout,
          );
    const answer = await sent.finally(() => this.#fetching.delete(giveUp));
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
    return answer.partitions;
  }

  /** Gives up the fetches that are under way: kafkajs would wait for their answers. */
  async close(): Promise<void> {
    for (const giveUp of this.#fetching) giveUp();
    await this.#cluster.disconnect();
  }

  async #offset(topic: string, partition: number, fromBeginning: boolean): Promise<number> {
    await this.#know(topic);
    const wanted = { topic, partitions: [{ partition }], fromBeginning };
    const [found] = await this.#cluster.fetchTopicsOffset([wanted]);
    return Number(found!.partitions[0]!.offset);
  }

  async #topicId(topic: string): Promise<string | undefined> {
    const [leader] = (await this.leaders(topic)).values();
    if (leader === undefined) throw new Error(`topic ${topic}: expected a partition with a leader, found none`);
    const broker = await this.#connected(leader);
    if (!speaks(broker, kafkajs().apiKeys.Metadata, topicMetadataVersion)) return undefined;
    const request = ownRequest("Metadata", topicMetadataVersion, topicMetadataRequest([topic]));
    const found = (await send(broker, request, decodeTopicMetadata)).get(topic);
    if (found === undefined) throw new Error(`topic ${topic}: expected its metadata, found none`);
    if (found.errorCode !== 0) throw brokerError(found.errorCode);
    return found.id;
  }

  async #connected(nodeId: number): Promise<Broker> {
    const broker = await this.#cluster.findBroker({ nodeId });
    if (!broker.isConnected()) await broker.connect();
    return broker;
  }

  #byId({ places, partitionMaxBytes, wait, minBytes }: FetchRequest): FetchById {
    const topics = new Map<string, FetchById["topics"][number]["partitions"][number][]>();
    for (const { id, partition, offset } of places) {
      const partitions = topics.get(id!) ?? [];
      topics.set(id!, partitions);
      partitions.push({ partition, offset, maxBytes: partitionMaxBytes });
    }
    const { fetchMaxBytes: maxBytes } = this.#settings;
    const of = Array.from(topics, ([id, partitions]) => ({ id, partitions }));
    return { wait, minBytes, maxBytes, isolationLevel: readCommitted, topics: of };
  }

  async #know(topic: string): Promise<void> {
    if (this.#topics.has(topic)) return;
    await this.#cluster.addTargetTopic(topic);
    this.#topics.add(topic);
  }
}

function rejectRequests({ connectionPool }: Broker): void {
  const error = new Error("the connection to the broker is closed");
  connectionPool.map((connection) => connection.rejectRequests(error));
}

function byTopic(places: readonly FetchPlace[], maxBytes: number): { topic: string; partitions: object[] }[] {
  const topics = new Map<string, object[]>();
  for (const { topic, partition, offset } of places) {
    const partitions = topics.get(topic) ?? [];
    topics.set(topic, partitions);
    partitions.push({ partition, fetchOffset: String(offset), maxBytes });
  }
  return Array.from(topics, ([topic, partitions]) => ({ topic, partitions }));
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

/** Throws while the broker is asked for its versions. */
function speaks({ versions }: Broker, key: number, version: number): boolean {
  if (versions === null) throw new Error("expected a connection to the broker, found one that is being made");
  const offered = versions[key];
  return offered !== undefined && offered.minVersion <= version && version <= offered.maxVersion;
}

/** A request that kafkajs cannot write itself. */
function ownRequest(apiName: "Fetch" | "Metadata", apiVersion: number, body: Buffer): object {
  const encode = (): Promise<Encoder> => {
    const encoder = new (kafkajs().Encoder)();
    encoder.writeBufferInternal(body);
    return Promise.resolve(encoder);
  };
  return { apiKey: kafkajs().apiKeys[apiName], apiVersion, apiName, encode };
}

/**
 * Sends over the broker's authenticated connection, in order; `requestTimeout` in milliseconds, by default the
 * client's.
 */
async function send<T>(
  { connectionPool }: Broker,
  request: object,
  decode: (bytes: Buffer) => T,
  requestTimeout?: number,
): Promise<T> {
  const response = {
    decode: (bytes: Buffer) => Promise.resolve(decode(bytes)),
    parse: (data: unknown) => Promise.resolve(data),
  };
  const timeout = requestTimeout === undefined ? {} : { requestTimeout };
  return (await connectionPool.send({ request, response, ...timeout })) as T;
}

/** The place to read a partition from, of the topic with this id if one is given. */
export function placeAt(feed: Feed, offset: number, id: string | undefined): FetchPlace {
  const { topic, partition } = kafkaPartition(feed)!;
  return { topic, partition, offset, ...(id === undefined ? {} : { id }) };
}

export function noLeader(feed: Feed): Error {
  return new Error(`${partitionText(feed)}: expected a leader, found none`);
}

/** The kafkajs error for the code that a broker answered. */
export function brokerError(code: number): Error {
  return kafkajs().createErrorFromCode(code);
}
