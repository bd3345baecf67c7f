import type Broker from "kafkajs/src/broker/index.js";
import { FieldReader } from "../protocol/field-reader.ts";
import { RequestWriter } from "../protocol/request-writer.ts";
import type { CommitPlace, JoinRequest, MemberId, MemberName } from "./client.ts";
import { byTopic, type OwnRequest, speaks } from "./requests.ts";

/** The requests of a static member (KIP-345), which kafkajs writes without the instance id. */
export const staticRequests = {
  join: { name: "JoinGroup", key: 11, version: 5 },
  sync: { name: "SyncGroup", key: 14, version: 3 },
  heartbeat: { name: "Heartbeat", key: 12, version: 3 },
  leave: { name: "LeaveGroup", key: 13, version: 3 },
  commit: { name: "OffsetCommit", key: 8, version: 7 },
} as const satisfies Record<string, OwnRequest>;

/** Whether a broker knows static members (Kafka 2.3). */
export function knowsStaticMembers(broker: Broker): boolean {
  return Object.values(staticRequests).every((request) => speaks(broker, request));
}

/** The member ids that brokers give to static members begin with their instance ids. */
export function isOfInstance(instanceId: string, memberId: string): boolean {
  return memberId.startsWith(`${instanceId}-`);
}

/** A JoinGroup response. */
export interface JoinAnswer {
  /** Kafka's error code; 0 if there is none. */
  errorCode: number;
  generation: number;
  leader: string;
  memberId: string;
  /** All of them for the leader, who shares out; none for others. */
  members: { memberId: string }[];
}

export function joinBody(groupId: string, request: JoinRequest): Buffer {
  const { memberId, instanceId, sessionTimeout, rebalanceTimeout, protocol, metadata } = request;
  const writer = classic().text(groupId).int32(sessionTimeout).int32(rebalanceTimeout);
  writer.text(memberId).text(instanceId ?? null);
  return writer.text("consumer").list([protocol], (name) => writer.text(name).binary(metadata)).bytes;
}

export function syncBody(groupId: string, id: MemberId, assignments: ReadonlyMap<string, Buffer>): Buffer {
  const writer = identified(groupId, id);
  return writer.list([...assignments], ([memberId, share]) => writer.text(memberId).binary(share)).bytes;
}

export function heartbeatBody(groupId: string, id: MemberId): Buffer {
  return identified(groupId, id).bytes;
}

export function leaveBody(groupId: string, member: MemberName): Buffer {
  const writer = classic().text(groupId);
  return writer.list([member], ({ memberId, instanceId }) => writer.text(memberId).text(instanceId ?? null)).bytes;
}

export function commitBody(groupId: string, id: MemberId, places: readonly CommitPlace[]): Buffer {
  const writer = identified(groupId, id);
  const topics = byTopic(places, (place) => place);
  return writer.list(topics, ({ topic, partitions }) => {
    writer.text(topic).list(partitions, ({ partition, offset, metadata }) => {
      writer.int32(partition).int64(offset).int32(noEpoch).text(metadata);
    });
  }).bytes;
}

/** Throws `Unreadable`, as the others do. */
export function decodeJoin(payload: Buffer): JoinAnswer {
  const { reader, errorCode } = begun("join response", payload);
  const generation = reader.int32("generation");
  reader.nullableText("protocol");
  const leader = reader.nullableText("leader") ?? "";
  const memberId = reader.nullableText("member") ?? "";
  const members = reader.list("members", () => {
    const member = { memberId: reader.text("member") };
    reader.nullableText("instance");
    reader.bytes("metadata");
    return member;
  });
  reader.end();
  return { errorCode, generation, leader, memberId, members };
}

export function decodeSync(payload: Buffer): { errorCode: number; assignment: Buffer } {
  const { reader, errorCode } = begun("sync response", payload);
  const assignment = reader.bytes("assignment");
  reader.end();
  return { errorCode, assignment };
}

export function decodeHeartbeat(payload: Buffer): { errorCode: number } {
  const { reader, errorCode } = begun("heartbeat response", payload);
  reader.end();
  return { errorCode };
}

/** With the error of the one member, where the response has none. */
export function decodeLeave(payload: Buffer): { errorCode: number } {
  const { reader, errorCode } = begun("leave response", payload);
  const codes = reader.list("members", () => {
    reader.nullableText("member");
    reader.nullableText("instance");
    return reader.int16("error code");
  });
  reader.end();
  return { errorCode: errorCode || (codes[0] ?? 0) };
}

/** With the first error of a partition. */
export function decodeCommit(payload: Buffer): { errorCode: number } {
  const reader = new FieldReader("commit response", payload);
  reader.int32("throttle time");
  const topics = reader.list("topics", () => {
    reader.text("topic");
    return reader.list("partitions", () => {
      reader.int32("partition");
      return reader.int16("error code");
    });
  });
  reader.end();
  return { errorCode: topics.flat().find((code) => code !== 0) ?? 0 };
}

/** As tools commit, and consumers do not: what is committed names its run in place of the leadership. */
const noEpoch = -1;

function classic(): RequestWriter {
  return new RequestWriter({ isFlexible: false });
}

function identified(groupId: string, { generation, memberId, instanceId }: MemberId): RequestWriter {
  return classic()
    .text(groupId)
    .int32(generation)
    .text(memberId)
    .text(instanceId ?? null);
}

function begun(subject: string, payload: Buffer): { reader: FieldReader; errorCode: number } {
  const reader = new FieldReader(subject, payload);
  reader.int32("throttle time");
  return { reader, errorCode: reader.int16("error code") };
}
