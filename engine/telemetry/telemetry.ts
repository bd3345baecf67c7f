import type { Receiver } from "../core/dead-letter.ts";
import type { BatchRecord } from "../core/journal.ts";
import type { Signal } from "../core/push.ts";
import type { Failure } from "../core/sink.ts";
import type { RequestRefusal } from "../core/refusals.ts";
import type { Status } from "../core/pipeline-view.ts";
import type { JoinHeld, KeysHeld, SourceLag } from "../core/counters.ts";
import type { Pause } from "../core/pause.ts";

/**
 * What happens in a pipeline, one function per event: the implementation logs it and counts it, in one place.
 * Components call these and never touch a logger or a metric. All arguments are plain data, so that a call can cross
 * from a thread to the process that owns log and metrics.
 */
export interface Telemetry {
  statusChanged(event: { pipeline_id: string; from: Status | undefined; to: Status; reason?: string }): void;
  /** The components of a pipeline started, in their order. */
  started(event: { pipeline_id: string; components: string[] }): void;
  eventAccepted(event: { pipeline_id: string; bytes: number }): void;
  /** A request to a webhook was refused; `message` is what it was answered. */
  eventRefused(event: RequestRefusal & { pipeline_id: string; status: number }): void;
  /** A request for the OTLP receiver was answered; `refusal` says why it was not stored. */
  exportAnswered(event: ExportEvent): void;
  /** A request to the OTLP receiver was refused that is no export, or could not be read. */
  noExportRefused(event: RequestRefusal): void;
  /**
   * A batch was read: `ingested` of its `count` events, with their `bytes`, were received by the ingestor, as those of OTLP are
   * counted with their requests. `seconds`: what reading and checking them took.
   */
  eventsRead(event: { pipeline_id: string; count: number; bytes: number; ingested: number; seconds: number }): void;
  /** Events older than `max_age` were removed and never written. */
  agedOut(event: { pipeline_id: string; count: number }): void;
  /** Dead letters older than `dead_letters_max_age` were removed. */
  lettersExpired(event: { pipeline_id: string; count: number }): void;
  /** The table of a pipeline was missing, and was created as its file asks for. */
  tablesCreated(event: { pipeline_id: string; count: number }): void;
  /** Records of a topic with a null value were settled without a row. */
  tombstonesSkipped(event: { pipeline_id: string; count: number }): void;
  transformed(event: TransformedEvent): void;
  /**
   * The rows of a batch were made of so many events and `bytes`, as they came to the sink. `mapping`: the seconds that the
   * mapping to columns took, of the `seconds` that all took.
   */
  prepared(event: { pipeline_id: string; events: number; bytes: number; mapping: number; seconds: number }): void;
  inserted(event: { pipeline_id: string; rows: number; bytes: number; seconds: number }): void;
  batchCommitted(event: BatchRecord): void;
  batchReplayed(event: { pipeline_id: string; batch: number; rows: number }): void;
  batchReprepared(event: { pipeline_id: string; batch: number; from: number; to: number }): void;
  /**
   * A batch may be in the target, and the target may no longer recognise a repeat of it; `choice` is the option
   * `on_uncertain`.
   */
  batchUncertain(event: {
    pipeline_id: string;
    batch: number;
    rows: number;
    choice: "insert" | "skip" | "pause";
  }): void;
  /** Events of a pending batch are gone from the source; it goes on without them. */
  rangeSkipped(event: { pipeline_id: string; batch: number; positions: string; count: number }): void;
  /** Compaction removed events of a pending batch from the topic; it goes on without them. */
  eventsCompacted(event: { pipeline_id: string; batch: number; count: number }): void;
  /** The next positions to read are not in the source; they are skipped. */
  positionsSkipped(event: { pipeline_id: string; topic: string; partition: number; from: number; to: number }): void;
  /** The log of a partition ended at `to`, before the next offset to read; reading goes on there. */
  logCut(event: { pipeline_id: string; topic: string; partition: number; from: number; to: number }): void;
  /**
   * A topic was deleted and created again, as its id shows; the new topic is read. `hasDedup`: keys of the former topic
   * still count.
   */
  topicRecreated(event: { pipeline_id: string; topic: string; from: string; to: string; hasDedup: boolean }): void;
  /** A partition is read again from `to` on, as the options ask for. */
  rewound(event: { pipeline_id: string; topic: string; partition: number; from: number; to: number }): void;
  /** The options ask for a rewind, and nothing before the next offsets of what is read is there to be read again. */
  rewoundNothing(event: { pipeline_id: string; asked: string }): void;
  /** A person has moved the consumer group; reading goes on there. `hasDedup`: events that are read again are dropped as repeats. */
  positionMoved(event: {
    pipeline_id: string;
    topic: string;
    partition: number;
    from: number;
    to: number;
    hasDedup: boolean;
  }): void;
  /** Another application has committed an offset in the consumer group; it is ignored. */
  foreignCommit(event: { pipeline_id: string; topic: string; partition: number; offset: number; local: number }): void;
  /** Members of the consumer group that are other applications, at each change: their partitions are not read here. */
  foreignMembers(event: { pipeline_id: string; members: string[] }): void;
  /** The consumer group was taken over from another run; batches that it may have read were given up. */
  takenOver(event: { pipeline_id: string; run: string; batches: number; rows: number }): void;
  /** This process or its machine was frozen for so long that the group may have given its partitions to others. */
  wasFrozen(event: { pipeline_id: string }): void;
  /** The partitions that the group has given to this pipeline, by their topics. */
  assigned(event: { pipeline_id: string; partitions: Record<string, number[]> }): void;
  /** Client quotas of brokers have kept a pipeline from reading for so many more seconds. */
  throttled(event: { pipeline_id: string; seconds: number }): void;
  /** A fetch has brought bytes: from the leaders of partitions, and from other replicas. */
  fetched(event: { pipeline_id: string; leader: number; follower: number }): void;
  /** The lag of the pipeline. */
  lag(event: { pipeline_id: string } & SourceLag): void;
  /** Deferred duplicates of a batch are settled: the number of confirmed duplicates, and of released events. */
  dropsWaited(event: { pipeline_id: string; batch: number; repeats: number; again: number }): void;
  /** The table does not hold a batch whose answer was lost, or that the server confirmed as a repeat: it gets a new token. */
  tokenWithoutRows(event: { pipeline_id: string; batch: number; rows: number }): void;
  /** The rows are in the table and in all views but the one that failed. */
  viewErrorIgnored(event: { pipeline_id: string; batch: number; rows: number }): void;
  /** The wall clock jumped by more than an hour, `by` so many milliseconds: the jump is `held`, or taken after an hour. */
  clockStepped(event: { pipeline_id: string; held: boolean; by: number }): void;
  /** The number and size of the keys that dedup remembers. */
  keysHeld(event: { pipeline_id: string } & KeysHeld): void;
  /** What a join has done since the last report, and what it holds now. */
  joined(event: { pipeline_id: string } & JoinReport): void;
  /** Keys, windows or sides of a join have changed: the events that it had buffered are forgotten. */
  joinForgot(event: { pipeline_id: string; events: number }): void;
  insertFailed(event: { pipeline_id: string; rows: number; failure: Failure; unknown: boolean }): void;
  insertRepeated(event: { pipeline_id: string; batch: number; rows: number }): void;
  paused(event: { pipeline_id: string; pause: Pause }): void;
  pauseEnded(event: { pipeline_id: string; class: Pause["class"]; seconds: number }): void;
  /**
   * Reported at each change of whether the target can drop a repeated insert: `reason` says why not, and how to mend
   * it.
   */
  atLeastOnce(event: { pipeline_id: string; reason?: string }): void;
  /** Reported at each change of the settings of the target's user that may change rows: `remark` names them. */
  profileRemark(event: { pipeline_id: string; remark?: string }): void;
  /** The buffer is full, or has room again after `seconds`; `component` takes the events, by default the `ingestor`. */
  backpressure(event: { pipeline_id: string; component?: Receiver; active: boolean; seconds: number }): void;
  threadDied(event: { pipelines: string[]; error: string }): void;
  /** A connection of OTLP over gRPC was closed. */
  grpcNotLoaded(event: { error: string }): void;
}

/** One report of a join: `rows` and `unmatched` are since the last one. */
export interface JoinReport extends Omit<JoinHeld, "left" | "right"> {
  rows: number;
  /** When the oldest row was made that waits, in milliseconds since the epoch; absent where none does. */
  oldest?: number;
  left: JoinHeld["left"] & { unmatched: number };
  right: JoinHeld["right"] & { unmatched: number };
}

/** The argument of a function. */
export type EventOf<K extends keyof Telemetry> = Parameters<Telemetry[K]>[0];

export interface TransformedEvent {
  pipeline_id: string;
  component: "filter" | "dedup" | "transform";
  passed: number;
  dropped: number;
  rejected: number;
  bytesIn: number;
  bytesOut: number;
  seconds: number;
}

export interface ExportEvent {
  /** `unknown` where no such pipeline takes OTLP. */
  pipeline_id: string;
  signal: Signal;
  transport: "http" | "grpc";
  /** Why it was refused, and what it was answered. */
  refusal?: RequestRefusal;
  seconds: number;
  /** Bytes of the body: over HTTP as it was received, over gRPC decompressed. */
  bytesIn: number;
  /** Bytes and number of the rows that were stored. */
  bytesOut: number;
  records: number;
  /** Data points without a recorded value that were left out of what was stored, and spans that were refused in it. */
  leftOut: number;
  refusedSpans: number;
}
