import type { Feed } from "../../../core/positions.ts";

/** A partition of a topic of one cluster: another cluster with a topic of the same name is another feed. */
export interface KafkaPartition {
  cluster: string;
  topic: string;
  partition: number;
  /** Of a topic that was created again: its id. */
  id?: string;
}

/** The feed of a partition. Neither cluster ids, topics nor topic ids hold a slash. */
export function kafkaFeed({ cluster, topic, partition, id }: KafkaPartition): Feed {
  return `${cluster}/${topic}/${partition}${id === undefined ? "" : `/${id}`}`;
}

/** A feed as text for operators, without its cluster; one that is no partition as it is. */
export function partitionText(feed: Feed): string {
  const found = kafkaPartition(feed);
  return found === undefined ? feed : placeText(found);
}

/** A partition as text for operators. */
export function placeText({ topic, partition }: Pick<KafkaPartition, "topic" | "partition">): string {
  return `partition ${partition} of topic ${topic}`;
}

/** The partition that a feed names; undefined where it is not a Kafka feed. */
export function kafkaPartition(feed: Feed): KafkaPartition | undefined {
  const [cluster, topic, partition, id, ...rest] = feed.split("/");
  if (cluster === undefined || topic === undefined || partition === undefined || rest.length > 0) return undefined;
  if (!/^\d+$/.test(partition)) return undefined;
  return { cluster, topic, partition: Number(partition), ...(id === undefined ? {} : { id }) };
}

/** The fields that name a partition in telemetry. */
export function partitionOf(feed: Feed): { topic: string; partition: number } {
  const { topic, partition } = kafkaPartition(feed)!;
  return { topic, partition };
}
