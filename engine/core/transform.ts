import type { Event } from "./batch.ts";
import type { Rejection } from "./dead-letter.ts";

/** What a transform made of the events of a batch: each event it was given is in exactly one of the three. */
export interface TransformResult {
  passed: Event[];
  /** How many were dropped on purpose. */
  dropped: number;
  rejected: Rejection[];
}

/**
 * A step between source and sink. Pure, given the events: the same events give the same result on every replay.
 * Called by the pipeline alone, once per batch and again for each replay.
 */
export interface Transform {
  readonly name: "ingestor" | "filter" | "dedup" | "stateless";
  /** `clock` is the one time of the batch, in milliseconds since the epoch; a replay passes the same. */
  apply(events: readonly Event[], clock: number): TransformResult;
}
