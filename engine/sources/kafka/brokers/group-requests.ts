import type Broker from "kafkajs/src/broker/index.js";
import {
  committedOffsetsVersion,
  decodeCommittedOffsets,
  type CommittedOffset,
  type CommittedOffsets,
} from "../protocol/committed-offsets.ts";
import { consumerGroupDescribe, consumerGroupBody, decodeConsumerGroup } from "../protocol/consumer-group.ts";
import { subscribedUserData } from "../protocol/assignment.ts";
import type { GroupMembers, TopicPartition } from "./client.ts";
import { coordinatorMoved } from "./coordinator.ts";
import { kafkajs } from "./kafkajs.ts";
import { ask, askOwn, brokerError, byTopic, requestOf, sendRequest, speaks } from "./requests.ts";

const unknownGroup = 69;

/**
 * What a group has committed, by which leadership where the broker says it (Kafka 2.1). Throws the error of a partition: that
 * is no missing offset.
 */
export async function committedOf(
  broker: Broker,
  groupId: string,
  places: readonly TopicPartition[],
): Promise<CommittedOffset[]> {
  const answer = await askCommitted(broker, groupId, places);
  const failed = [answer, ...answer.partitions].find(({ errorCode }) => errorCode !== 0);
  if (failed !== undefined) throw brokerError(failed.errorCode);
  return answer.partitions;
}

async function askCommitted(
  broker: Broker,
  groupId: string,
  places: readonly TopicPartition[],
): Promise<CommittedOffsets> {
  const fields = { groupId, topics: byTopic(places, ({ partition }) => ({ partition })) };
  const own = { key: kafkajs().apiKeys.OffsetFetch, version: committedOffsetsVersion };
  if (speaks(broker, own)) {
    // The request has been the same since version 2.
    const { request } = requestOf(broker, "OffsetFetch", fields);
    return sendRequest(broker, { ...request, apiVersion: committedOffsetsVersion }, decodeCommittedOffsets);
  }
  const { responses, errorCode = 0 } = await ask<FetchedOffsets>(broker, "OffsetFetch", fields);
  const partitions = responses.flatMap(({ topic, partitions: found }) =>
    found.map(({ offset, metadata, ...of }): CommittedOffset => {
      return { ...of, topic, offset: Number(offset), metadata: metadata ?? "", leaderEpoch: -1 };
    }),
  );
  return { errorCode, partitions };
}

/** As kafkajs reads an OffsetFetch response. */
interface FetchedOffsets {
  responses: {
    topic: string;
    partitions: { partition: number; offset: string; metadata: string | null; errorCode: number }[];
  }[];
  errorCode?: number;
}

interface DescribedMember {
  memberId: string;
  clientId: string;
  memberMetadata: Buffer;
}

/** As kafkajs reads a DescribeGroups response. */
interface DescribedGroups {
  groups: { errorCode: number; state: string; members: DescribedMember[] }[];
}

/**
 * The members of a group at its coordinator. Brokers describe a group of another protocol than the classic one, such as the
 * consumer protocol of KIP-848, as one that is `Dead` and has no members.
 */
export async function membersOf(broker: Broker, groupId: string): Promise<GroupMembers> {
  const group = await describe(broker, groupId);
  if (group === undefined) return { unreadable: notDescribed };
  const members = group.members.map(({ clientId, memberMetadata }) => {
    return { clientId, userData: subscribedUserData(memberMetadata) };
  });
  // A broker that does not know the other protocol has no such groups.
  if (group.state !== "Dead" || !speaks(broker, consumerGroupDescribe)) return { members };
  const found = await askOwn(broker, consumerGroupDescribe, consumerGroupBody(groupId), decodeConsumerGroup);
  if (found === undefined) return { unreadable: notDescribed };
  if (found.errorCode === 0) return { members: found.clientIds.map((clientId) => ({ clientId, userData: "" })) };
  if (coordinatorMoved.has(found.errorCode)) throw brokerError(found.errorCode);
  if (found.errorCode === unknownGroup)
    return { unreadable: "no group of a kind that is known has this name", isAbsent: true };
  return { unreadable: found.errorMessage ?? brokerError(found.errorCode).message };
}

/** The ids of the members of a group of the classic protocol. */
export async function memberIdsOf(broker: Broker, groupId: string): Promise<string[]> {
  return (await describe(broker, groupId))?.members.map(({ memberId }) => memberId) ?? [];
}

async function describe(broker: Broker, groupId: string): Promise<DescribedGroups["groups"][0] | undefined> {
  const { groups } = await ask<DescribedGroups>(broker, "DescribeGroups", { groupIds: [groupId] });
  const [group] = groups;
  if (group !== undefined && group.errorCode !== 0) throw brokerError(group.errorCode);
  return group;
}

const notDescribed = "the broker does not describe the group";
