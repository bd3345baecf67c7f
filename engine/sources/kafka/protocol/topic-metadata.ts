import { FieldReader } from "./field-reader.ts";
import { RequestWriter } from "./request-writer.ts";

/** The version of Metadata requests that is used here, the first whose answer has topic ids. */
export const topicMetadataVersion = 10;

/** The metadata of a topic. */
export interface TopicMetadata {
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
  /** As Kafka's tools print it: base64url of 16 bytes. Absent where the topics of the cluster have no ids. */
  id?: string;
}

/** The body of a Metadata request of version 10 for these topics, after the request header. */
export function topicMetadataRequest(topics: readonly string[]): Buffer {
  const writer = new RequestWriter().noTags();
  writer.list(topics, (topic) => writer.uuid().text(topic).noTags());
  // Do not create missing topics, do not return authorized operations.
  return writer.int8(0).int8(0).int8(0).noTags().bytes;
}

/** Decodes the response, without its length and correlation id: topics by their names. Throws `Unreadable`. */
export function decodeTopicMetadata(payload: Buffer): Map<string, TopicMetadata> {
  const reader = new FieldReader("metadata response", payload);
  reader.tags("head");
  reader.int32("throttle time");
  reader.compactList("brokers", () => readBroker(reader));
  reader.compactText("cluster id");
  reader.int32("controller id");
  const topics = reader.compactList("topics", () => readTopic(reader));
  reader.int32("authorized operations");
  reader.tags("tags");
  reader.end();
  return new Map(topics);
}

function readBroker(reader: FieldReader): void {
  reader.int32("node id");
  reader.compactText("host");
  reader.int32("port");
  reader.compactText("rack");
  reader.tags("broker");
}

function readTopic(reader: FieldReader): [string, TopicMetadata] {
  const errorCode = reader.int16("error code");
  const name = reader.compactText("topic") ?? "";
  const id = reader.uuid("topic id");
  reader.int8("is internal");
  reader.compactList("partitions", () => readPartition(reader));
  reader.int32("authorized operations");
  reader.tags("topic");
  return [name, { errorCode, ...(id === undefined ? {} : { id }) }];
}

function readPartition(reader: FieldReader): void {
  reader.int16("error code");
  reader.int32("partition");
  reader.int32("leader");
  reader.int32("leader epoch");
  for (const field of ["replicas", "in-sync replicas", "offline replicas"]) {
    reader.compactList(field, () => reader.int32(field));
  }
  reader.tags("partition");
}
