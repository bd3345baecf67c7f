import type { RefusedSenders } from "./refusals.ts";
import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import type { DeadLetterState } from "./dead-letter.ts";
import type { BoundedStreamState } from "./stream.ts";
import type { Pause } from "./pause.ts";
import type { JoinHeld, KeysHeld, PipelineCounters, SourceLag } from "./counters.ts";

/**
 * The life of a pipeline. `lifecycle.ts` has the legal changes.
 *
 * - `Created`: stored, not yet running. Leaves by itself.
 * - `Running`: reads, transforms, writes. A pause is still `Running`; health says why it waits.
 * - `Stopping`: reads no more, settles what it has read. `Stopped`: keeps its stream, which goes on buffering.
 * - `Terminating`: ends at once, drops the events that no pending batch names. `Terminated`: its stream is released and
 *   refuses events.
 * - `Resuming`: being started again.
 * - `Failed`: an operation failed in a way that no retry mends.
 */
export type Status =
  "Created" | "Running" | "Stopping" | "Stopped" | "Terminating" | "Terminated" | "Resuming" | "Failed";

/** A pipeline as the engine stores it. Secrets are the references of the file, never values. */
export interface PipelineView {
  pipeline_id: string;
  config: PipelineConfig;
  options: EngineOptions;
  status: Status;
  /** Why it is `Failed`; absent otherwise. */
  failure?: string;
  /** `closed`: it is about to be deleted, and accepts no more events. */
  intake?: "closed";
  /** Counts the edits of `config`, from 1. */
  revision: number;
  /** ISO 8601, UTC. */
  created_at: string;
  updated_at: string;
}

/** State and counters of a pipeline, from the memory of this process. */
export interface PipelineHealth {
  pipeline_id: string;
  pipeline_name: string;
  overall_status: Status;
  failure?: string;
  paused?: Pause;
  /** Why the target cannot drop repeated inserts, with the statement that corrects that; absent if it can. */
  at_least_once?: string;
  /** Settings of the target's user that may change rows, with what they may do; absent for none. */
  profile_remark?: string;
  /** Requests of senders that were refused in the last five minutes for a reason that the operator can change; absent for none. */
  refused_senders?: RefusedSenders;
  /** Absent while it cannot be opened: what it holds is not known then. */
  stream?: BoundedStreamState;
  /**
   * Seconds since the oldest event came that is neither a row nor settled otherwise; 0 where none waits. Of Kafka by the
   * timestamps of the messages (see `lag_seconds`), of rows of a join since they were joined. Absent where it is not known.
   */
  freshness_seconds?: number;
  /** Rows that it has written a second, over the last ten seconds. */
  rows_per_second: number;
  /** Batches that are prepared and not yet committed. */
  pending_batches: number;
  dead_letters: DeadLetterState;
  /** What dedup remembers; absent without dedup. */
  keys?: KeysHeld;
  /** What its join holds; absent without a join. Only the waiting rows are known before it is open. */
  join?: Pick<JoinHeld, "waiting"> & Partial<JoinHeld>;
  /** The consumer group of a pipeline that reads from Kafka. */
  consumer_group?: string;
  /** Of a pipeline that reads from Kafka, once it reads. */
  source?: SourceLag;
  /** Client ids of foreign members of its consumer group, which are not Sluice: their partitions are not read here. */
  foreign_members?: string[];
  /** Events and rows since the process started. */
  counters: PipelineCounters;
  created_at: string;
  updated_at: string;
}
