import { FieldReader } from "./field-reader.ts";
import { RequestWriter } from "./request-writer.ts";

/** The version of Metadata requests that is written here: the first whose answer has topic ids (Kafka 2.8). */
export const metadataVersion = 10;

/**
 * The most partitions of a topic that is read: a whole cluster has few more. Each of them takes work in the thread of its pipeline,
 * which other pipelines share.
 */
export const mostPartitions = 10_000;

/** The name of a list of partitions that may be too long. */
export function partitionsOf(topic: string): string {
  return `partitions of topic ${topic}`;
}

/** Where a broker listens, as its cluster names it. */
export interface NodeAddress {
  node: number;
  host: string;
  port: number;
}

/** What a broker knows of its cluster. */
export interface ClusterMetadata {
  /** Absent where the broker does not say. */
  clusterId?: string;
  nodes: NodeAddress[];
  /** By their names. */
  topics: Map<string, TopicMetadata>;
}

/** The metadata of a topic. */
export interface TopicMetadata {
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
  /** As Kafka's tools print it: base64url of 16 bytes. Absent where the topics of the cluster have no ids. */
  id?: string;
  partitions: PartitionMetadata[];
}

export interface PartitionMetadata {
  partition: number;
  /** The node that leads it; -1 where none does. */
  leader: number;
  /** Counts its elections; -1 where the broker does not say. */
  epoch: number;
  /** The nodes that have its log and are there, also those that are not in sync. */
  replicas: number[];
}

/** The body of a Metadata request of version 10 for these topics, after the request header. */
export function metadataBody(topics: readonly string[]): Buffer {
  const writer = new RequestWriter().noTags();
  writer.list(topics, (topic) => writer.uuid().text(topic).noTags());
  // Do not create missing topics, do not return authorized operations.
  return writer.int8(0).int8(0).int8(0).noTags().bytes;
}

/** Decodes the response, without its length and correlation id. Throws `Unreadable`. */
export function decodeMetadata(payload: Buffer): ClusterMetadata {
  const reader = new FieldReader("metadata response", payload);
  reader.tags("head");
  reader.int32("throttle time");
  const nodes = reader.compactList("brokers", () => readBroker(reader));
  const clusterId = reader.compactText("cluster id");
  reader.int32("controller id");
  const topics = new Map(reader.compactList("topics", () => readTopic(reader)));
  reader.int32("authorized operations");
  reader.tags("tags");
  reader.end();
  return { nodes, topics, ...(clusterId !== undefined && { clusterId }) };
}

// The properties are in the order of the protocol.
function readBroker(reader: FieldReader): NodeAddress {
  const address = {
    node: reader.int32("node id"),
    host: reader.compactText("host") ?? "",
    port: reader.int32("port"),
  };
  reader.compactText("rack");
  reader.tags("broker");
  return address;
}

function readTopic(reader: FieldReader): [string, TopicMetadata] {
  const errorCode = reader.int16("error code");
  const name = reader.compactText("topic") ?? "";
  const id = reader.uuid("topic id");
  reader.int8("is internal");
  const partitions = reader.compactList(partitionsOf(name), () => readPartition(reader), mostPartitions);
  reader.int32("authorized operations");
  reader.tags("topic");
  return [name, { errorCode, partitions, ...(id !== undefined && { id }) }];
}

function readPartition(reader: FieldReader): PartitionMetadata {
  // A partition without a leader has an error code, and one whose replicas lack some too: the leader says what counts.
  reader.int16("error code");
  const found = {
    partition: reader.int32("partition"),
    leader: reader.int32("leader"),
    epoch: reader.int32("leader epoch"),
  };
  const [all, , offline] = ["replicas", "in-sync replicas", "offline replicas"].map((field) => {
    return reader.compactList(field, () => reader.int32(field));
  });
  reader.tags("partition");
  return { ...found, replicas: withoutOffline(all!, offline!) };
}

/** The replicas that are there. */
export function withoutOffline(all: readonly number[], offline: readonly number[]): number[] {
  const isOffline = new Set(offline);
  return all.filter((node) => !isOffline.has(node));
}
