import type Broker from "kafkajs/src/broker/index.js";
import type { RequestName } from "kafkajs/src/protocol/requests/index.js";
import type { CommitPlace, Joined, JoinRequest, MemberClient, MemberId } from "./client.ts";
import type { Coordinator } from "./coordinator.ts";
import { ask, brokerError, byTopic } from "./requests.ts";

/** The error code for a join without an id: the broker gives one, with which the member joins again. */
const idRequired = 79;

/** As kafkajs reads a JoinGroup response. */
interface JoinAnswer {
  errorCode: number;
  generationId: number;
  leaderId: string;
  memberId: string;
  members: { memberId: string; memberMetadata: Buffer }[];
}

/** What a member of a group asks of the coordinator, in the classic protocol. */
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

  async join({ memberId, sessionTimeout, rebalanceTimeout, protocol, metadata }: JoinRequest): Promise<Joined> {
    const times = { sessionTimeout, rebalanceTimeout };
    const groupProtocols = [{ name: protocol, metadata }];
    const fields = { ...times, memberId, protocolType: "consumer", groupProtocols };
    return this.#coordinator.ask(async (broker) => {
      const answer = await this.#ask<JoinAnswer>(broker, "JoinGroup", fields, {});
      if (answer.errorCode === idRequired) return { kind: "again", memberId: answer.memberId };
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
      const { memberId: own, generationId: generation, leaderId, members } = answer;
      return { kind: "joined", id: { memberId: own, generation }, others: own === leaderId ? members : undefined };
    });
  }

  async sync({ memberId, generation }: MemberId, assignments: ReadonlyMap<string, Buffer>): Promise<Buffer> {
    const groupAssignment = Array.from(assignments, ([id, memberAssignment]) => ({ memberId: id, memberAssignment }));
    const fields = { memberId, generationId: generation, groupAssignment };
    const { memberAssignment } = await this.#checked<{ errorCode: number; memberAssignment: Buffer }>(
      "SyncGroup",
      fields,
      {},
    );
    return memberAssignment;
  }

  async heartbeat({ memberId, generation }: MemberId): Promise<void> {
    await this.#checked("Heartbeat", { memberId, groupGenerationId: generation });
  }

  async commit({ memberId, generation }: MemberId, places: readonly CommitPlace[]): Promise<void> {
    const topics = byTopic(places, ({ partition, offset, metadata }) => ({
      partition,
      offset: String(offset),
      metadata,
    }));
    const fields = { memberId, groupGenerationId: generation, topics };
    await this.#coordinator.ask(async (broker) => {
      const { responses } = await this.#ask<Committed>(broker, "OffsetCommit", fields);
      const failed = responses.flatMap(({ partitions }) => partitions).find(({ errorCode }) => errorCode !== 0);
      if (failed !== undefined) throw brokerError(failed.errorCode);
    });
  }

  async leave(memberId: string): Promise<void> {
    await this.#checked("LeaveGroup", { memberId });
  }

  #checked<Answer extends { errorCode: number }>(name: RequestName, fields: object, limit?: object): Promise<Answer> {
    return this.#coordinator.ask(async (broker) => {
      const answer = await this.#ask<Answer>(broker, name, fields, limit);
      if (answer.errorCode !== 0) throw brokerError(answer.errorCode);
      return answer;
    });
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

/** As kafkajs reads an OffsetCommit response. */
interface Committed {
  responses: { partitions: { errorCode: number }[] }[];
}
