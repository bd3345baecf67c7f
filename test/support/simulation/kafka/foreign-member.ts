import type { ClusterState, CoordinatedGroup } from "./cluster.ts";
import { codes } from "./codes.ts";
import type { MemberIdentity } from "./group-protocol.ts";
import { AnswerWriter } from "./wire.ts";

export interface ForeignMemberOptions {
  /** As other members see it: that of a Sluice tells its data dir and run. */
  clientId: string;
  topics: readonly string[];
  /** Milliseconds. */
  sessionTimeout?: number;
  heartbeat?: number;
  /** Whether it comes by the consumer protocol of KIP-848. */
  isConsumer?: boolean;
}

/**
 * A member of a group that is no client of this process: another Sluice, or a tool. It takes part in rebalances and shares
 * partitions out where it leads, one after the other over all members; it reads nothing, and commits what it is asked to.
 */
export class ForeignMember {
  readonly #options: Required<ForeignMemberOptions>;
  readonly #cluster: ClusterState;
  readonly #of: CoordinatedGroup;
  #memberId = "";
  #generation = -1;
  #isLive = true;

  constructor(cluster: ClusterState, groupId: string, options: ForeignMemberOptions) {
    this.#cluster = cluster;
    this.#of = cluster.group(groupId);
    this.#options = { sessionTimeout: 30_000, heartbeat: 3_000, isConsumer: false, ...options };
    this.#of.group.isConsumer ||= this.#options.isConsumer;
    void this.#live();
  }

  /**
   * Commits the next offset of a partition as a member; with the election of what it read, unless its client `isOld`. Returns
   * whether the coordinator took it.
   */
  commit(topic: string, partition: number, offset: number, { metadata = "", isOld = false } = {}): boolean {
    if (this.#of.group.mayCommit(this.#identity) !== codes.NONE) return false;
    const epoch = isOld ? -1 : (this.#cluster.partition(topic, partition)?.epoch ?? 0);
    this.#of.offsets.set(`${topic}/${partition}`, { offset, metadata, epoch });
    return true;
  }

  /** Leaves the group. */
  leave(): void {
    this.#isLive = false;
    this.#of.group.leave(this.#memberId);
  }

  /** Says nothing any more: it expires when its session ends. */
  die(): void {
    this.#isLive = false;
  }

  get #identity(): MemberIdentity {
    return { memberId: this.#memberId, generation: this.#generation };
  }

  async #live(): Promise<void> {
    const { heartbeat } = this.#options;
    while (this.#isLive) {
      const isMember = this.#of.group.heartbeat(this.#identity) === codes.NONE;
      if (!isMember) await this.#join();
      if (this.#isLive) await new Promise((resolve) => setTimeout(resolve, heartbeat));
    }
  }

  async #join(): Promise<void> {
    const { group } = this.#of;
    const { clientId, sessionTimeout, topics } = this.#options;
    const write = new AnswerWriter().int16(1);
    write.list(topics, (topic) => write.text(topic)).bytes(Buffer.alloc(0));
    const protocols = [{ name: "RoundRobinAssigner", metadata: write.end() }];
    const times = { sessionTimeout, rebalanceTimeout: 60_000 };
    const request = { memberId: this.#memberId, clientId, ...times, protocolType: "consumer", protocols };
    const joined = await group.join(request);
    this.#memberId = joined.memberId;
    if (joined.code === codes.MEMBER_ID_REQUIRED && this.#isLive) return this.#join();
    if (joined.code !== codes.NONE || !this.#isLive) return;
    this.#generation = joined.generation;
    const members = joined.members.map(({ memberId }) => memberId);
    await group.sync(this.#identity, this.#share(members));
  }

  #share(members: readonly string[]): Map<string, Buffer> {
    const places = this.#options.topics.flatMap((topic) =>
      (this.#cluster.topics.get(topic)?.partitions ?? []).map(({ number }) => ({ topic, number })),
    );
    return new Map(
      members.map((memberId, at) => {
        const own = places.filter((_, place) => place % members.length === at);
        const write = new AnswerWriter().int16(1);
        write.list(this.#options.topics, (topic) => {
          const numbers = own.filter((one) => one.topic === topic).map(({ number }) => number);
          write.text(topic).list(numbers, (number) => write.int32(number));
        });
        return [memberId, write.bytes(Buffer.alloc(0)).end()] as const;
      }),
    );
  }
}
