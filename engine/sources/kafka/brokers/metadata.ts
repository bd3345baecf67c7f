import type Broker from "kafkajs/src/broker/index.js";
import {
  decodeMetadata,
  type ClusterMetadata,
  metadataBody,
  metadataVersion,
  mostPartitions,
  partitionsOf,
  type TopicMetadata,
  withoutOffline,
} from "../protocol/metadata.ts";
import { kafkajs } from "./kafkajs.ts";
import { Unreadable } from "../protocol/unreadable.ts";
import { ask, askOwn, speaks } from "./requests.ts";

/** How long a broker may take to say who leads what, in milliseconds: another one is asked then. */
const answerTime = 5_000;

/** As kafkajs reads a Metadata response. */
interface KafkajsMetadata {
  brokers: { nodeId: number; host: string; port: number }[];
  clusterId?: string | null;
  topicMetadata: {
    topicErrorCode: number;
    topic: string;
    partitionMetadata: { partitionId: number; leader: number; replicas: number[]; offlineReplicas?: number[] }[];
  }[];
}

/** What a broker knows of the cluster, with these topics. */
export async function metadataOf(broker: Broker, topics: readonly string[]): Promise<ClusterMetadata> {
  const own = { name: "Metadata", key: kafkajs().apiKeys.Metadata, version: metadataVersion };
  const limit = { requestTimeout: answerTime };
  if (speaks(broker, own)) return askOwn(broker, own, metadataBody(topics), decodeMetadata, limit);
  const fields = { topics, allowAutoTopicCreation: false };
  const { brokers, clusterId, topicMetadata } = await ask<KafkajsMetadata>(broker, "Metadata", fields, limit);
  return {
    ...(typeof clusterId === "string" && { clusterId }),
    nodes: brokers.map(({ nodeId: node, host, port }) => ({ node, host, port })),
    topics: new Map(
      topicMetadata.map(({ topic, topicErrorCode: errorCode, partitionMetadata }) => {
        const { length } = partitionMetadata;
        if (length > mostPartitions) {
          throw new Unreadable(`${partitionsOf(topic)}: expected at most ${mostPartitions}, found ${length}`);
        }
        const partitions = partitionMetadata.map(({ partitionId: partition, leader, ...of }) => {
          const replicas = withoutOffline(of.replicas, of.offlineReplicas ?? []);
          return { partition, leader, epoch: -1, replicas };
        });
        return [topic, { errorCode, partitions }];
      }),
    ),
  };
}

/** What is newest of a topic, by its elections: a broker may lag behind another one that was asked before. */
export function newest(known: TopicMetadata | undefined, said: TopicMetadata): TopicMetadata {
  if (known === undefined || known.id !== said.id || said.errorCode !== 0) return said;
  const before = new Map(known.partitions.map((one) => [one.partition, one]));
  const partitions = said.partitions.map((one) => {
    const of = before.get(one.partition);
    return of !== undefined && of.epoch > one.epoch ? of : one;
  });
  return { ...said, partitions };
}
