/** A transaction of a producer that is still open: what comes behind its first offset is not read until it ends. */
export interface OpenTransaction {
  /** Where its brokers are; of a pipeline that reads several clusters. */
  cluster?: string;
  topic: string;
  partition: number;
  /** Its first offset. */
  offset: number;
  /** When this process has seen it first. ISO 8601, UTC. */
  since: string;
}

/** A broker that has kept a client waiting for a considerable part of the last minute, by a client quota. */
export interface ThrottlingBroker {
  /** Where it is; of a pipeline that reads several clusters. */
  cluster?: string;
  /** The number of its node. */
  broker: number;
  /** Seconds of the last minute. */
  seconds: number;
}

/** The lag of one partition. */
export interface PartitionLag {
  /** Where its brokers are; of a pipeline that reads several clusters. */
  cluster?: string;
  topic: string;
  partition: number;
  /** Offsets; absent until its end is known. */
  lag?: number;
  /** As that of the pipeline. */
  lag_seconds?: number;
}

/** The lag of a pipeline that reads from Kafka, over all its topics. */
export interface SourceLag {
  /** Partitions that it reads. */
  partitions: number;
  /**
   * Offsets between what is final and the ends of the topics: in its partitions, or in all of them before it has joined
   * its group. Some may hold no event. Absent until the ends are known.
   */
  lag?: number;
  /**
   * Seconds since the oldest event was written that is not final; of one that was not fetched yet, since the one before it, so
   * that it is not older. By the clocks of who wrote them. 0 without a lag; absent where it is not known of a partition that lags.
   */
  lag_seconds?: number;
  /** Of each partition, those with the largest lag first, at most 1000. */
  by_partition?: PartitionLag[];
  /** Offsets that are final here and not yet committed to the consumer group: another reader would read them again. */
  uncommitted: number;
  /**
   * Offsets that open transactions hold back: those after the last that may be read. They are no part of the lag. Absent
   * until the brokers have said it of all partitions.
   */
  held_back?: number;
  /** The transactions that have been open for longer than a minute, the oldest first, at most 20; absent for none. */
  open_transactions?: OpenTransaction[];
  /** Brokers that keep it from reading by a client quota, at most 20; absent for none. */
  throttled_by?: ThrottlingBroker[];
}

/** Keys that dedup remembers, and the bytes that they take in memory and on disk. */
export interface KeysHeld {
  keys: number;
  memory: number;
  storage: number;
}

/** Events that a side of a join buffers, and their bytes. */
export interface SideHeld {
  events: number;
  bytes: number;
}

/** What a join holds while it runs. */
export interface JoinHeld {
  left: SideHeld;
  right: SideHeld;
  /** Rows that are joined and not in the table yet. */
  waiting: number;
  /** Bytes of the index in memory, and of the files. */
  memory: number;
  storage: number;
}

/** Since the process started. */
export interface PipelineCounters {
  events_read: number;
  events_filtered: number;
  /** Records of a topic with a null value, which were skipped. */
  tombstones_skipped: number;
  /** Dropped by dedup. */
  duplicates_dropped: number;
  /** Of those: duplicates that waited until the original was in the table. */
  drops_waited: number;
  /** Duplicates that waited and were released: the original was rejected. */
  drops_judged_again: number;
  /** Removed because they were older than `max_age`, never written. */
  events_aged_out: number;
  /** Rows that a join has made. */
  rows_joined: number;
  /** Events of a join that left their window without a match. */
  left_unmatched: number;
  right_unmatched: number;
  rows_written: number;
  dead_lettered: number;
  /** Batches taken from the journal after a restart. */
  batches_replayed: number;
  /** Batches that a later revision made again. */
  batches_reprepared: number;
  /** Batches that may be in the table while the target may no longer recognise a repeat. */
  batches_uncertain: number;
  /** Batches that were written to their table but not to a materialized view on it. */
  view_errors_ignored: number;
  /** Batches whose token a table knew, or may know, without their rows, and that were sent with a fresh token. */
  tokens_without_rows: number;
  /** Events of pending batches that were skipped: gone from the source, or perhaps written already. */
  events_skipped: number;
  /** Events of pending batches that a compaction of their topic has replaced. */
  events_compacted: number;
  /** Positions that were to be read and are missing from the source. */
  positions_skipped: number;
  /** Partitions whose log is not the one that was read, and that are read on from where the logs part. */
  logs_cut: number;
  /** Topics that were deleted and created again, and that are read from then on. */
  topics_recreated: number;
  /** Partitions in which a person has moved the offset of the consumer group. */
  positions_moved: number;
  /** Offsets that a foreign member of the consumer group has committed. */
  foreign_commits: number;
  /** Times that the process was paused and then checked, before any insert, which process owns the consumer group. */
  owner_checks: number;
  /** Inserts sent again with the token of an earlier attempt. */
  inserts_repeated: number;
  /** Rows that the server refused and that were taken out of their batch. */
  rows_excluded: number;
  /** Times that its table was missing and was created. */
  tables_created: number;
}

/** The counters of a pipeline that has done nothing yet. */
export function zeroCounters(): PipelineCounters {
  return {
    events_read: 0,
    events_filtered: 0,
    tombstones_skipped: 0,
    tables_created: 0,
    duplicates_dropped: 0,
    drops_waited: 0,
    drops_judged_again: 0,
    batches_reprepared: 0,
    batches_uncertain: 0,
    view_errors_ignored: 0,
    tokens_without_rows: 0,
    events_skipped: 0,
    events_compacted: 0,
    positions_skipped: 0,
    logs_cut: 0,
    topics_recreated: 0,
    positions_moved: 0,
    foreign_commits: 0,
    owner_checks: 0,
    events_aged_out: 0,
    rows_joined: 0,
    left_unmatched: 0,
    right_unmatched: 0,
    rows_written: 0,
    dead_lettered: 0,
    batches_replayed: 0,
    inserts_repeated: 0,
    rows_excluded: 0,
  };
}
