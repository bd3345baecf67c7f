import { isDeepStrictEqual } from "node:util";
import type { KafkaSourceConfig } from "../../../schemas/pipeline.ts";
import type { SourceKind } from "../../core/source-kind.ts";
import { kafkaPartition } from "./positions/feed.ts";

/** Topics of one Kafka cluster, a source for each, read by one consumer group. */
export const kafka = {
  types: ["kafka"],
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
  requiredFieldsOf: ({ schema_fields }) => schema_fields,
  obstacleOf: connectionObstacle,
} as const satisfies SourceKind<KafkaSourceConfig>;

function connectionObstacle(sources: readonly KafkaSourceConfig[]): string | undefined {
  const [connection, ...connections] = sources.map(connectionOf);
  if (connections.some((other) => !isDeepStrictEqual(other, connection))) {
    return "one connection to Kafka for all sources";
  }
  if (connection?.["mechanism"] !== "GSSAPI") return undefined;
  return "another mechanism than GSSAPI, for which this version has no client";
}

/** Leaves out members that mean the same as their absence. */
function connectionOf({ connection_params }: KafkaSourceConfig): Record<string, unknown> {
  const members = Object.entries(connection_params);
  return Object.fromEntries(members.filter(([, value]) => value !== "" && value !== false && value !== undefined));
}
