import type { KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import type { SourceKind } from "../../core/source-kind.ts";
import { byConnection } from "./connections.ts";
import { kafkaPartition } from "./positions/feed.ts";

/** Topics of Kafka, a source for each, read by a consumer group. The sides of a join may be in two clusters. */
export const kafka = {
  types: ["kafka"],
  receiver: "ingestor",
  isPushed: false,
  hasAccessToken: false,
  hasConsumerGroup: true,
  origin: {
    name: "topic",
    key: "topic",
    mayChange: true,
    of: ({ topic }) => topic,
    ofFeed: (feed) => kafkaPartition(feed)?.topic,
  },
  fieldsOf: ({ schema_fields }) => schema_fields,
  declaredFieldsOf: ({ schema_fields }) => schema_fields,
  obstacleOf: connectionObstacle,
} as const satisfies SourceKind<KafkaSourceConfig>;

function connectionObstacle(sources: readonly KafkaSourceConfig[], isJoin: boolean): string | undefined {
  const connected = byConnection(sources);
  if (connected.length > 1 && !isJoin) return "one connection to Kafka for all sources";
  // Events are told apart by their topic.
  const topics = new Set(sources.map(({ topic }) => topic));
  if (connected.length > topics.size)
    return "topics with different names where the sides of a join have two connections";
  if (!sources.some(({ connection_params }) => connection_params.mechanism === "GSSAPI")) return undefined;
  return "another mechanism than GSSAPI, for which this version has no client";
}
