import type { DeadLetterState } from "./core/dead-letter.ts";
import type { StreamState } from "./core/stream.ts";
import type { Status } from "./core/pipeline-view.ts";
import type { Pause } from "./core/pause.ts";
import type { KeysHeld, PipelineCounters, SourceLag } from "./core/counters.ts";

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
