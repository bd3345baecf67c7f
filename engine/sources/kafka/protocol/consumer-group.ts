import { FieldReader } from "./field-reader.ts";
import { RequestWriter } from "./request-writer.ts";

/** ConsumerGroupDescribe, by which brokers describe a group of the consumer protocol of KIP-848, which Kafka 4 offers. */
export const consumerGroupDescribe = { name: "ConsumerGroupDescribe", key: 69, version: 0 };

/** A group of the consumer protocol. */
export interface ConsumerGroup {
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
  errorMessage?: string;
  /** Of all members, also of those that came by the classic protocol. */
  clientIds: string[];
}

/** The body of the request for one group, after the request header. */
export function consumerGroupBody(groupId: string): Buffer {
  const writer = new RequestWriter().noTags();
  writer.list([groupId], (id) => writer.text(id));
  // Do not return authorized operations.
  return writer.int8(0).noTags().bytes;
}

/** Decodes the response for one group, without its length and correlation id. Throws `Unreadable`. */
export function decodeConsumerGroup(payload: Buffer): ConsumerGroup | undefined {
  const reader = new FieldReader("consumer group response", payload);
  reader.tags("head");
  reader.int32("throttle time");
  const [group] = reader.compactList("groups", () => readGroup(reader));
  reader.tags("tags");
  reader.end();
  return group;
}

function readGroup(reader: FieldReader): ConsumerGroup {
  const errorCode = reader.int16("error code");
  const errorMessage = reader.compactText("error message");
  reader.compactText("group");
  reader.compactText("state");
  reader.int32("group epoch");
  reader.int32("assignment epoch");
  reader.compactText("assignor");
  const clientIds = reader.compactList("members", () => readMember(reader));
  reader.int32("authorized operations");
  reader.tags("group");
  return { errorCode, clientIds, ...(errorMessage !== undefined && { errorMessage }) };
}

/** Its client id. */
function readMember(reader: FieldReader): string {
  for (const field of ["member", "instance", "rack"]) reader.compactText(field);
  reader.int32("member epoch");
  const clientId = reader.compactText("client id") ?? "";
  reader.compactText("client host");
  reader.compactList("topics", () => reader.compactText("topic"));
  reader.compactText("topic regex");
  for (const field of ["assignment", "target assignment"]) {
    reader.compactList(field, () => readAssigned(reader));
    reader.tags(field);
  }
  reader.tags("member");
  return clientId;
}

function readAssigned(reader: FieldReader): void {
  reader.uuid("topic id");
  reader.compactText("topic");
  reader.compactList("partitions", () => reader.int32("partition"));
  reader.tags("topic partitions");
}
