import type { BatchRecord } from "../core/journal.ts";
import type { Failure } from "../core/sink.ts";
import type { Status } from "../lifecycle.ts";
import type { KeysHeld, Pause } from "../view.ts";

/**
 * What happens in a pipeline, one function per event: the implementation logs it and counts it, in one place.
 * Components call these and never touch a logger or a metric. All arguments are plain data, so that a call can cross
 * from a thread to the process that owns log and metrics.
 */
export interface Telemetry {
  statusChanged(event: { pipeline_id: string; from: Status | undefined; to: Status; reason?: string }): void;
  eventAccepted(event: { pipeline_id: string; bytes: number }): void;
  eventRefused(event: { pipeline_id: string; status: number }): void;
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
  /** Drops of a batch that waited: those that were repeats, and those that were judged again and are none. */
  dropsWaited(event: { pipeline_id: string; batch: number; repeats: number; again: number }): void;
  /** The server took a repeat for written, but nothing was: the batch is sent with a fresh token. */
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
  backpressure(event: { pipeline_id: string; active: boolean; seconds: number }): void;
  threadDied(event: { pipelines: string[]; error: string }): void;
}

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
