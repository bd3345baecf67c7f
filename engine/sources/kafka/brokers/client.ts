import type { EpochEnd, EpochPlace } from "../protocol/epoch-ends.ts";
import type { FetchedPartition } from "../protocol/fetch.ts";

/** A partition as brokers name it. */
export interface TopicPartition {
  topic: string;
  partition: number;
}

/** Who leads a partition. */
export interface Leader {
  node: number;
  /** Counts the elections of the partition; -1 where brokers do not say (before Kafka 2.8). */
  epoch: number;
  /** The nodes that have the log of the partition and are there. */
  replicas: readonly number[];
}

/** Where a partition is to be read from. */
export interface FetchPlace extends TopicPartition {
  /** Id of the topic, where it is known: another topic of the same name is not read. */
  id?: string;
  /** The leadership in which the broker is asked: one that knows another refuses. */
  leaderEpoch?: number;
  /** The first offset to read. */
  offset: number;
}

/** What one fetch asks for. */
export interface FetchRequest {
  /** The broker fills its answer in this order; places of one topic stand together. */
  places: readonly FetchPlace[];
  /** The most bytes of one partition; a batch that is larger is sent whole. */
  partitionMaxBytes: number;
  /** Milliseconds that the broker waits for `minBytes`. */
  wait: number;
  minBytes: number;
  /** Where this machine is: the leader of a partition may name a replica that is closer. Without it, most leaders do not. */
  rack?: string;
}

/** Which offset of a partition is asked for; a number: the first with a timestamp at or after it, in ms since the epoch. */
export type OffsetAt = "first" | "end" | number;

/** What a group has committed for a partition. */
export interface CommittedPartition extends TopicPartition {
  /** The next offset to read. */
  offset: number;
  metadata: string;
  /** Whether it names the leadership of what was read, as consumers do, and tools that move a group do not. */
  isByConsumer: boolean;
}

/** A member of a group as others see it. */
export interface GroupMember {
  /** Of a static member: that of the first client which had its place. */
  clientId: string;
  /** What its subscription says beside the topics, in a group that is not about to share out; empty where nothing. */
  userData: string;
}

/** The members of a group; or why they cannot be read. `isAbsent`: no group that is known has its name. */
export type GroupMembers = { members: GroupMember[] } | { unreadable: string; isAbsent?: boolean };

/** A member as its group knows it. */
export interface MemberName {
  /** Empty before the group has given one. */
  memberId: string;
  /** Of a static member (KIP-345): who joins with it takes the place of whoever has it, also of one that was killed. */
  instanceId?: string | undefined;
}

/** A member that takes part. */
export interface MemberId extends MemberName {
  /** Counts how often the group has shared its partitions out. */
  generation: number;
}

/** With an instance id it is a static member, where the broker knows such ones (Kafka 2.3). */
export interface JoinRequest extends MemberName {
  /** Milliseconds. */
  sessionTimeout: number;
  rebalanceTimeout: number;
  /** The way to share partitions out that the member knows, and what it subscribes to. */
  protocol: string;
  metadata: Buffer;
}

/** `hasReplaced`: it took the place of another one, which hears so with its next request. */
export type Joined = { hasReplaced: boolean } & (
  | /** It has to join again, by this name. */ { kind: "again"; member: MemberName }
    /** `others`: of the one that shares out: all members. */
  | { kind: "joined"; id: MemberId; others: readonly { memberId: string }[] | undefined }
);

/** An offset to commit. */
export interface CommitPlace extends TopicPartition {
  /** The next offset to read. */
  offset: number;
  metadata: string;
}

/**
 * What a member asks of the coordinator of its group, which is looked up anew after each error. Each method throws the error
 * that the coordinator answers.
 */
export interface MemberClient {
  /** Waits until all members have joined. */
  join(request: JoinRequest): Promise<Joined>;
  /** Waits for the member that shares out. Resolves with what is assigned to this one. */
  sync(id: MemberId, assignments: ReadonlyMap<string, Buffer>): Promise<Buffer>;
  heartbeat(id: MemberId): Promise<void>;
  commit(id: MemberId, places: readonly CommitPlace[]): Promise<void>;
  /** Without a member id: whoever has the instance id, as a join may be under way that brought it one. */
  leave(member: MemberName): Promise<void>;
}

/**
 * What sources ask of the brokers of a cluster. Whatever concerns single partitions is answered by partition: one that has no
 * leader, or whose leader is gone, keeps none of the others from their answers. Each method throws what its client throws.
 */
export interface KafkaClient {
  /** Resolves when a broker has answered. */
  connect(): Promise<void>;
  /** The id of the cluster. Asks anew who leads these topics. */
  cluster(topics: readonly string[]): Promise<string>;
  /** The leaders of a topic's partitions; undefined for those without one. Throws where there is no such topic. */
  leaders(topic: string): Promise<ReadonlyMap<number, Leader | undefined>>;
  /** Asks anew who leads what. */
  refresh(): Promise<void>;
  /** The ids of topics, as their leaders know them. Leaves out a topic whose brokers give no ids (before Kafka 2.8). */
  topicIds(topics: Iterable<string>): Promise<Map<string, string>>;
  fetch(node: number, wanted: FetchRequest): Promise<FetchedPartition[]>;
  /**
   * How far the logs of leaderships go, by the log of this node, in the order of the places; undefined where it does not say
   * (before Kafka 2.8), or leaves one out.
   */
  epochEnds(node: number, places: readonly EpochPlace[]): Promise<(EpochEnd | undefined)[]>;
  /** In the order of the places: an offset, -1 where nothing is at or after the time, or why there is none. */
  offsets(places: readonly TopicPartition[], at: OffsetAt): Promise<(number | Error)[]>;
  /** What a group has committed. */
  committed(groupId: string, places: readonly TopicPartition[]): Promise<CommittedPartition[]>;
  members(groupId: string): Promise<GroupMembers>;
  /** For a member of a group. */
  member(groupId: string): MemberClient;
  /** What is under way is given up. */
  close(): Promise<void>;
}
