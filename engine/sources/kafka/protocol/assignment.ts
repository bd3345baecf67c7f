import { FieldReader } from "./field-reader.ts";
import { Unreadable } from "./unreadable.ts";

/** The partitions of a member, by topic. */
export type Assignment = Readonly<Record<string, number[]>>;

const version = 0;
const headBytes = 2;

/** What a member subscribes to, as the consumer protocol of groups has it; with `userData`, which others see. */
export function subscriptionBytes(topics: readonly string[], userData = ""): Buffer {
  const own = Buffer.from(userData);
  return Buffer.concat([int16(version), int32(topics.length), ...topics.map(text), int32(own.length), own]);
}

/** The user data of a subscription of any version; empty where there is none, or it is no subscription. */
export function subscribedUserData(bytes: Buffer): string {
  if (bytes.length < headBytes) return "";
  const reader = new FieldReader("subscription", bytes);
  try {
    reader.int16("version");
    reader.list("topics", () => reader.text("topic"));
    return reader.bytes("user data").toString();
  } catch (error) {
    if (error instanceof Unreadable) return "";
    throw error;
  }
}

/** The partitions of a member, as the consumer protocol of groups has it. */
export function assignmentBytes(assignment: Assignment): Buffer {
  const topics = Object.entries(assignment).map(([topic, partitions]) =>
    Buffer.concat([text(topic), int32(partitions.length), ...partitions.map(int32)]),
  );
  return Buffer.concat([int16(version), int32(topics.length), ...topics, int32(0)]);
}

/** Decodes an assignment of any version; what is behind the partitions is left out. Throws `Unreadable`. */
export function decodeAssignment(bytes: Buffer): Assignment {
  // Who is left out by the leader gets no bytes at all.
  if (bytes.length < headBytes) return {};
  const reader = new FieldReader("assignment", bytes);
  reader.int16("version");
  const topics = reader.list("topics", () => {
    return [reader.text("topic"), reader.list("partitions", () => reader.int32("partition"))] as const;
  });
  return Object.fromEntries(topics);
}

/**
 * Shares the partitions out over the members, one after the other, in the order of the topics and of the ids: as kafkajs
 * does, so that members of an earlier version, and other clients of kafkajs, may lead the group or follow.
 */
export function sharedOut(
  members: readonly string[],
  topics: readonly { topic: string; partitions: readonly number[] }[],
): Map<string, Assignment> {
  const sorted = members.toSorted();
  const shares = new Map<string, Record<string, number[]>>(sorted.map((member) => [member, {}]));
  const all = topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })));
  for (const [index, { topic, partition }] of all.entries()) {
    const share = shares.get(sorted[index % sorted.length]!)!;
    (share[topic] ??= []).push(partition);
  }
  return shares;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}
