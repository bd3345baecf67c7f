import type { Feed } from "../../../core/positions.ts";

/** What a group has committed for a partition. */
export interface Committed {
  /** The next offset to read. */
  offset: number;
  metadata: string;
  /** Whether it names the leadership of what was read, as consumers do, and tools that move a group do not. */
  isByConsumer: boolean;
}

/** The offsets that a partition has. */
export interface Ends {
  /** The first offset that is there, and the one after the last that may be read. */
  low: number;
  high: number;
}

/** The state of a partition at the broker and in the group. */
export interface PartitionState {
  feed: Feed;
  /** Absent where no broker says it now, such as without a leader. Then `missing` says why. */
  ends?: Ends;
  missing?: Error;
  /** Absent where the group has no committed offset. */
  committed?: Committed;
}

export interface GroupState {
  /** Id of the cluster. */
  cluster: string;
  /** In the order of the topics, and of their numbers. */
  partitions: PartitionState[];
  /** Client ids of the live members; undefined where they cannot be read. */
  members: string[] | undefined;
  /** By topic; brokers before Kafka 2.8 have no topic ids. */
  topicIds: ReadonlyMap<string, string>;
}
