import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import type { Failure } from "./sink.ts";
import type { DeadLetterState } from "./dead-letter.ts";
import type { StreamState } from "./stream.ts";
import type { Status } from "./lifecycle.ts";

/** A pipeline as the engine holds it. Secrets are the references of the file, never values. */
export interface PipelineView {
  pipeline_id: string;
  config: PipelineConfig;
  options: EngineOptions;
  status: Status;
  /** Why it is `Failed`; absent otherwise. */
  failure?: string;
  /** `closed`: it is about to be deleted, and takes no event any more. */
  intake?: "closed";
  /** Counts the edits of `config`, from 1. */
  revision: number;
  /** ISO 8601, UTC. */
  created_at: string;
  updated_at: string;
}

/** Why a running pipeline waits. It goes on by itself when the reason is gone. */
export interface Pause {
  class: Failure["class"] | "disk" | "probe" | "uncertain" | "lost" | "storage" | "source" | "owner";
  /** ISO 8601, UTC. */
  since: string;
  text: string;
  /** What a person can do about it. */
  way_out: string;
}

/** What can be said about a pipeline without touching it. */
export interface PipelineHealth {
  pipeline_id: string;
  pipeline_name: string;
  overall_status: Status;
  failure?: string;
  paused?: Pause;
  /** The target cannot drop repeated inserts: why, and the statement that mends it. */
  at_least_once?: string;
  stream: StreamState;
  /** Batches that are prepared and not yet committed. */
  pending_batches: number;
  dead_letters: DeadLetterState;
  /** What dedup remembers; absent without dedup. */
  keys?: KeysHeld;
  /** Of a pipeline that reads from Kafka, once it reads. */
  source?: SourceLag;
  /** Client ids of members of its consumer group that are no Sluice: their partitions are not read here. */
  strangers?: string[];
  /** Events and rows since the process started. */
  counters: PipelineCounters;
  created_at: string;
  updated_at: string;
}

/** How far a pipeline that reads from Kafka is behind its topics, all together. */
export interface SourceLag {
  /** Partitions that it reads. */
  partitions: number;
  /**
   * Offsets between what is final and the ends of the topics, of those partitions; before it is a member of its group, of
   * all. Some may hold no event. Absent until the ends are known.
   */
  lag?: number;
  /** Offsets that are final here and that the consumer group does not know of: another reader would read them again. */
  unsaid: number;
}

/** Keys of the dedup window, and the bytes that they take in memory and on disk. */
export interface KeysHeld {
  keys: number;
  memory: number;
  storage: number;
}

/** Since the process started. */
export interface PipelineCounters {
  events_read: number;
  events_filtered: number;
  /** Dropped by dedup. */
  duplicates_dropped: number;
  /** Of those: drops that waited until what they repeat was in the table. */
  drops_waited: number;
  /** Drops that waited, and were no repeats after all. */
  drops_judged_again: number;
  /** Removed because they were older than `max_age`, never written. */
  events_aged_out: number;
  rows_written: number;
  dead_lettered: number;
  /** Batches taken from the journal after a restart. */
  batches_replayed: number;
  /** Batches that a later revision made again. */
  batches_reprepared: number;
  /** Batches that were perhaps written, longer ago than the target remembers. */
  batches_uncertain: number;
  /** Batches that were written to their table but not to a materialized view behind it. */
  view_errors_ignored: number;
  /** Batches whose token a table knew, or may know, without their rows, and that were sent as new ones. */
  tokens_without_rows: number;
  /** Events of batches under way that were gone from the source, or given up as perhaps written. */
  events_skipped: number;
  /** Events of batches under way that a compaction of their topic has replaced. */
  events_compacted: number;
  /** Positions that were to be read and are not in the source. */
  positions_skipped: number;
  /** Partitions whose log ended before what was to be read, and that were read on from its end. */
  logs_cut: number;
  /** Topics that were deleted and created again, and that are read from then on. */
  topics_recreated: number;
  /** Partitions that a person has moved the consumer group in. */
  positions_moved: number;
  /** Offsets that a member of the group has committed that is no Sluice. */
  strangers_commits: number;
  /** Times that the process stood still, after which the owner of the consumer group was asked for before any insert. */
  owner_checks: number;
  /** Inserts sent again with the token of an earlier attempt. */
  inserts_repeated: number;
  /** Rows that the server refused and that were taken out of their batch. */
  rows_excluded: number;
}
