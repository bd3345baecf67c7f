import type { BatchRecord } from "../core/journal.ts";
import type { Signal } from "../core/push.ts";
import type { Failure } from "../core/sink.ts";
import type { Status } from "../core/lifecycle.ts";
import type { KeysHeld, Pause, SourceLag } from "../core/view.ts";

/**
 * What happens in a pipeline, one function per event: the implementation logs it and counts it, in one place.
 * Components call these and never touch a logger or a metric. All arguments are plain data, so that a call can cross
 * from a thread to the process that owns log and metrics.
 */
export interface Telemetry {
  statusChanged(event: { pipeline_id: string; from: Status | undefined; to: Status; reason?: string }): void;
  /** The components of a pipeline start, in their order. */
  started(event: { pipeline_id: string; components: string[] }): void;
  eventAccepted(event: { pipeline_id: string; bytes: number }): void;
  eventRefused(event: { pipeline_id: string; status: number }): void;
  /** A request for the OTLP receiver was answered; `refusal` says why nothing of it was stored. */
  exportAnswered(event: ExportEvent): void;
  eventsRead(event: { pipeline_id: string; count: number; bytes: number }): void;
  /** Events older than `max_age` were removed and never written. */
  agedOut(event: { pipeline_id: string; count: number }): void;
  transformed(event: TransformedEvent): void;
  inserted(event: { pipeline_id: string; rows: number; bytes: number; seconds: number }): void;
  batchCommitted(event: BatchRecord): void;
  batchReplayed(event: { pipeline_id: string; batch: number; rows: number }): void;
  batchReprepared(event: { pipeline_id: string; batch: number; from: number; to: number }): void;
  /** The target may no longer recognise a repeat of a batch that may be in it; `choice` is what the options say. */
  batchUncertain(event: {
    pipeline_id: string;
    batch: number;
    rows: number;
    choice: "insert" | "skip" | "pause";
  }): void;
  /** Events of a batch under way are gone from the source, and it goes on without them. */
  rangeSkipped(event: { pipeline_id: string; batch: number; positions: string; count: number }): void;
  /** Events of a batch under way were replaced by newer ones with their key in a compacted topic; it goes on without them. */
  eventsCompacted(event: { pipeline_id: string; batch: number; count: number }): void;
  /** Positions that were to be read next are not in the source; it goes on behind them. */
  positionsSkipped(event: { pipeline_id: string; topic: string; partition: number; from: number; to: number }): void;
  /** The log of a partition ended at `to`, before what was to be read next, and it goes on there. */
  logCut(event: { pipeline_id: string; topic: string; partition: number; from: number; to: number }): void;
  /** A topic was deleted and created again, by its ids, and the new one is read. `hasDedup`: the keys of the former one count. */
  topicRecreated(event: { pipeline_id: string; topic: string; from: string; to: string; hasDedup: boolean }): void;
  /** A person has moved the consumer group; it is followed. `hasDedup`: events that are read again are dropped as repeats. */
  positionMoved(event: {
    pipeline_id: string;
    topic: string;
    partition: number;
    from: number;
    to: number;
    hasDedup: boolean;
  }): void;
  /** A member that is no Sluice has committed an offset, which counts for nothing. */
  strangerCommitted(event: {
    pipeline_id: string;
    topic: string;
    partition: number;
    offset: number;
    local: number;
  }): void;
  /** Members of the consumer group that are no Sluice, told at each change: their partitions are not read here. */
  strangers(event: { pipeline_id: string; members: string[] }): void;
  /** The place of another run in the consumer group was taken over; batches that it may have read were given up. */
  takenOver(event: { pipeline_id: string; run: string; batches: number; rows: number }): void;
  /** This process or its machine stood still for so long that the group may have given its partitions to others. */
  wasAway(event: { pipeline_id: string }): void;
  /** The partitions that the group has given to this pipeline, by their topics. */
  assigned(event: { pipeline_id: string; partitions: Record<string, number[]> }): void;
  /** How far the pipeline is behind its topics. */
  lag(event: { pipeline_id: string } & SourceLag): void;
  /** Drops of a batch that waited: those that were repeats, and those that were judged again and are none. */
  dropsWaited(event: { pipeline_id: string; batch: number; repeats: number; again: number }): void;
  /** A batch may have been written, or the server took its repeat for written, but nothing is there: it gets a fresh token. */
  tokenAlone(event: { pipeline_id: string; batch: number; rows: number }): void;
  /** The rows are in the table and in all views but the one that failed. */
  viewErrorIgnored(event: { pipeline_id: string; batch: number; rows: number }): void;
  /** The wall clock made a step of more than an hour, by so many milliseconds: it is held, or taken after an hour. */
  clockStepped(event: { pipeline_id: string; held: boolean; by: number }): void;
  /** What dedup remembers now. */
  keysHeld(event: { pipeline_id: string } & KeysHeld): void;
  insertFailed(event: { pipeline_id: string; rows: number; failure: Failure; unknown: boolean }): void;
  insertRepeated(event: { pipeline_id: string; batch: number; rows: number }): void;
  paused(event: { pipeline_id: string; pause: Pause }): void;
  wentOn(event: { pipeline_id: string; class: Pause["class"]; seconds: number }): void;
  /** Whether the target can drop a repeated insert: `reason` says why not, and how to mend it. Told at each change. */
  atLeastOnce(event: { pipeline_id: string; reason?: string }): void;
  /** No more is taken in, or more is again, after so many seconds; `component` is who takes, by default the `ingestor`. */
  backpressure(event: {
    pipeline_id: string;
    component?: "ingestor" | "otlp-receiver";
    active: boolean;
    seconds: number;
  }): void;
  threadDied(event: { pipelines: string[]; error: string }): void;
}

/** The argument of a function. */
export type Told<K extends keyof Telemetry> = Parameters<Telemetry[K]>[0];

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
  /** One of a closed set: a label. */
  refusal?: string;
  seconds: number;
  /** Bytes of the body: over HTTP as it was received, over gRPC decompressed. */
  bytesIn: number;
  /** Bytes and number of the rows that were stored. */
  bytesOut: number;
  records: number;
}
