import type { Event } from "./batch.ts";
import type { Rejection } from "./dead-letter.ts";

/**
 * What the server said to an insert.
 *
 * - `ok`: everything is in, or was in already.
 * - `refused`: nothing was written, for sure.
 * - `unknown`: anything else, timeouts and resets included; only the same token can heal it.
 *
 * `failure` says what kind of trouble it is, and so what happens next: `transient` is tried again, `row` names a bad
 * row, everything else pauses the pipeline until somebody mends the setup; a pause tries again by itself too.
 */
export type Answer = { kind: "ok" } | { kind: "refused" | "unknown"; failure: Failure };

export interface Failure {
  class: "transient" | "row" | "partitions" | "view" | "setup";
  /** ClickHouse's code, such as 60; undefined where the network failed before an answer. */
  code?: number;
  /** ClickHouse's name of the code, such as `UNKNOWN_TABLE`; `network_io` without a code. A metric label. */
  name: string;
  /** One sentence for a person. Never holds a secret. */
  text: string;
  /** For class `row`, when the server named it: index into the rows of the block, from 0. */
  row?: number;
}

/** Rows ready to be sent: encoded bytes, one entry of `events` per row, in order. */
export interface Block {
  /** The events that became rows. `events[i]` is row `i`. */
  events: readonly Event[];
  /** The insert's body, in the format that the sink sends. */
  body: Buffer;
  rejected: Rejection[];
}

/**
 * Where rows go. One object per pipeline start; the pipeline alone calls it.
 */
export interface Sink {
  /**
   * Connects, creates a missing table when asked to, and finds out whether the target can deduplicate. Called again,
   * with back-off, while its answer is not ok.
   */
  open(signal: AbortSignal): Promise<Answer>;
  /** Why the target cannot drop a repeated insert, with the statement that mends it; undefined if it can. Known after `open`. */
  readonly atLeastOnce: string | undefined;
  /** Turns events into rows. Pure. Events whose values do not fit their columns come back as rejections. */
  encode(events: readonly Event[]): Block;
  /** Inserts a block as one insert with `token`. Never throws for what the server or the network does. */
  insert(block: Block, token: string, signal: AbortSignal): Promise<Answer>;
  /** Releases connections. Safe to call twice. */
  close(): Promise<void>;
}
