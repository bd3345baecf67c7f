import type { Feed } from "../../../core/positions.ts";

/** What a group has committed for a partition. */
export interface Committed {
  /** The next offset to read. */
  offset: number;
  metadata: string | null;
}

/** The state of a partition at the broker and in the group. */
export interface PartitionState {
  feed: Feed;
  /** The first offset that is there, and the one after the last that may be read. */
  low: number;
  high: number;
  /** Absent where the group has no committed offset. */
  committed?: Committed;
}

export interface GroupState {
  /** Id of the cluster. */
  cluster: string;
  /** In the order of the topics, and of their numbers. */
  partitions: PartitionState[];
  /** Client ids of the live members. */
  members: string[];
  /** By topic; brokers before Kafka 2.8 have no topic ids. */
  topicIds: ReadonlyMap<string, string>;
}
