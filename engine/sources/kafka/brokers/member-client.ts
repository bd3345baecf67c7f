import type Broker from "kafkajs/src/broker/index.js";
import type { RequestName } from "kafkajs/src/protocol/requests/index.js";
import type { CommitPlace, Joined, JoinRequest, MemberClient, MemberId, MemberName } from "./client.ts";
import type { Coordinator } from "./coordinator.ts";
import { memberIdsOf } from "./group-requests.ts";
import { ask, askOwn, brokerError, byTopic, longestAnswer, type OwnRequest } from "./requests.ts";
import * as member from "./static-member.ts";

/** The error code for a join without an id: the broker gives one, with which the member joins again. */
const idRequired = 79;
/** The error code of a broker that knows static members, in a cluster that does not yet. */
const unsupportedVersion = 35;
/** How much longer than a rebalance its answers may take, in milliseconds. */
const onTheWay = 5_000;

/** As kafkajs reads a JoinGroup response. */
interface JoinAnswer {
  errorCode: number;
  generationId: number;
  leaderId: string;
  memberId: string;
  members: { memberId: string; memberMetadata: Buffer }[];
}

/**
 * What a member of a group asks of the coordinator, in the classic protocol: a static one by requests that are written here, and
 * any other by those of kafkajs.
 */
export class KafkajsMemberClient implements MemberClient {
  readonly #coordinator: Coordinator;
  readonly #groupId: string;
  /** Milliseconds for an answer that does not wait for other members. */
  readonly #answerTime: number;

  constructor(coordinator: Coordinator, groupId: string, answerTime: number) {
    this.#coordinator = coordinator;
    this.#groupId = groupId;
    this.#answerTime = answerTime;
  }

  join(request: JoinRequest): Promise<Joined> {
    return this.#coordinator.ask(async (broker) => {
      const { instanceId } = request;
      const joined = isStatic(request, broker) ? await this.#joinAs(instanceId!, request, broker) : undefined;
      return joined ?? this.#join(request, broker);
    });
  }

  async #join(request: JoinRequest, broker: Broker): Promise<Joined> {
    const { memberId, sessionTimeout, rebalanceTimeout, protocol, metadata } = request;
    const times = { sessionTimeout, rebalanceTimeout };
    const groupProtocols = [{ name: protocol, metadata }];
    const fields = { ...times, memberId, protocolType: "consumer", groupProtocols };
    const answer = await this.#ask<JoinAnswer>(broker, "JoinGroup", fields, {});
    const hasReplaced = false;
    if (answer.errorCode === idRequired) return { kind: "again", member: { memberId: answer.memberId }, hasReplaced };
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
    const { memberId: own, generationId: generation, leaderId, members } = answer;
    const others = own === leaderId ? members : undefined;
    return { kind: "joined", id: { memberId: own, generation }, others, hasReplaced };
  }

  /** As a static member; undefined where its cluster knows none. */
  async #joinAs(instanceId: string, request: JoinRequest, broker: Broker): Promise<Joined | undefined> {
    const isNew = request.memberId === "";
    const ids = isNew ? await memberIdsOf(broker, this.#groupId) : [];
    const limit = { requestTimeout: Math.max(longestAnswer, request.rebalanceTimeout + onTheWay) };
    const body = member.joinBody(this.#groupId, request);
    const answer = await askOwn(broker, member.staticRequests.join, body, member.decodeJoin, limit);
    if (answer.errorCode === unsupportedVersion) return undefined;
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
    const { memberId, generation, leader, members } = answer;
    const hasReplaced = ids.some((id) => member.isOfInstance(instanceId, id));
    const leads = leader === memberId && members.length > 0;
    // In a stable group it has the place of one that led it, and what that had shared out: nobody shares out anew, whatever is
    // subscribed to by now, before the leader joins again (KIP-814).
    if (isNew && !leads && member.isOfInstance(instanceId, leader)) {
      return { kind: "again", member: { memberId, instanceId }, hasReplaced: true };
    }
    const others = leads ? members : undefined;
    return { kind: "joined", id: { memberId, instanceId, generation }, others, hasReplaced };
  }

  sync(id: MemberId, assignments: ReadonlyMap<string, Buffer>): Promise<Buffer> {
    return this.#coordinator.ask(async (broker) => {
      if (isStatic(id, broker)) {
        const body = member.syncBody(this.#groupId, id, assignments);
        const { sync } = member.staticRequests;
        return (await this.#askOwn(broker, sync, body, member.decodeSync, longestAnswer)).assignment;
      }
      const { memberId, generation: generationId } = id;
      const shares = Array.from(assignments, ([of, memberAssignment]) => ({ memberId: of, memberAssignment }));
      const fields = { memberId, generationId, groupAssignment: shares };
      return (await this.#checked<{ errorCode: number; memberAssignment: Buffer }>(broker, "SyncGroup", fields, {}))
        .memberAssignment;
    });
  }

  async heartbeat(id: MemberId): Promise<void> {
    const { memberId, generation: groupGenerationId } = id;
    await this.#coordinator.ask((broker) => {
      if (!isStatic(id, broker)) return this.#checked(broker, "Heartbeat", { memberId, groupGenerationId });
      const body = member.heartbeatBody(this.#groupId, id);
      return this.#askOwn(broker, member.staticRequests.heartbeat, body, member.decodeHeartbeat);
    });
  }

  async commit(id: MemberId, places: readonly CommitPlace[]): Promise<void> {
    await this.#coordinator.ask(async (broker) => {
      if (!isStatic(id, broker)) return this.#commit(id, places, broker);
      const body = member.commitBody(this.#groupId, id, places);
      await this.#askOwn(broker, member.staticRequests.commit, body, member.decodeCommit);
    });
  }

  async #commit({ memberId, generation }: MemberId, places: readonly CommitPlace[], broker: Broker): Promise<void> {
    const topics = byTopic(places, ({ partition, offset, metadata }) => ({
      partition,
      offset: String(offset),
      metadata,
    }));
    const fields = { memberId, groupGenerationId: generation, topics };
    const { responses } = await this.#ask<Committed>(broker, "OffsetCommit", fields);
    const failed = responses.flatMap(({ partitions }) => partitions).find(({ errorCode }) => errorCode !== 0);
    if (failed !== undefined) throw brokerError(failed.errorCode);
  }

  async leave(left: MemberName): Promise<void> {
    const { memberId } = left;
    await this.#coordinator.ask(async (broker) => {
      if (isStatic(left, broker)) {
        const body = member.leaveBody(this.#groupId, left);
        await this.#askOwn(broker, member.staticRequests.leave, body, member.decodeLeave);
      } else if (memberId !== "") await this.#checked(broker, "LeaveGroup", { memberId });
    });
  }

  async #checked<Answer extends { errorCode: number }>(
    broker: Broker,
    name: RequestName,
    fields: object,
    limit?: object,
  ): Promise<Answer> {
    const answer = await this.#ask<Answer>(broker, name, fields, limit);
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
    return answer;
  }

  async #askOwn<Answer extends { errorCode: number }>(
    broker: Broker,
    request: OwnRequest,
    body: Buffer,
    decode: (bytes: Buffer) => Answer,
    requestTimeout = this.#answerTime,
  ): Promise<Answer> {
    const answer = await askOwn(broker, request, body, decode, { requestTimeout });
    if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
    return answer;
  }

  #ask<Answer>(
    broker: Broker,
    name: RequestName,
    fields: object,
    limit: object = { requestTimeout: this.#answerTime },
  ): Promise<Answer> {
    return ask<Answer>(broker, name, { groupId: this.#groupId, ...fields }, limit);
  }
}

/** Also of a static member a broker that knows none is asked as of any other. */
function isStatic({ instanceId }: MemberName, broker: Broker): boolean {
  return instanceId !== undefined && member.knowsStaticMembers(broker);
}

/** As kafkajs reads an OffsetCommit response. */
interface Committed {
  responses: { partitions: { errorCode: number }[] }[];
}
