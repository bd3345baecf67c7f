import type { BatchRecord } from "../core/journal.ts";
import type { Failure } from "../core/sink.ts";
import type { Status } from "../lifecycle.ts";
import type { Pause } from "../view.ts";

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
  insertFailed(event: { pipeline_id: string; rows: number; failure: Failure; unknown: boolean }): void;
  insertRepeated(event: { pipeline_id: string; batch: number }): void;
  paused(event: { pipeline_id: string; pause: Pause }): void;
  wentOn(event: { pipeline_id: string; class: Pause["class"]; seconds: number }): void;
  atLeastOnce(event: { pipeline_id: string; reason: string }): void;
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
