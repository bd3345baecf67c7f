import type { Failure } from "./sink.ts";

/** Why a running pipeline waits. It goes on by itself when the reason is gone. */
export interface Pause {
  class: Failure["class"] | "disk" | "probe" | "uncertain" | "lost" | "storage" | "source" | "owner";
  /** ISO 8601, UTC. */
  since: string;
  text: string;
  /** What a person can do about it. */
  way_out: string;
}

/** What a pipeline waits for. */
export interface Waited {
  class: Pause["class"];
  text: string;
  /** Of the network: no connection was made, or one gave no whole answer. */
  connection?: Failure["connection"];
}

/** A failure that may pass, shorter than this many attempts, is no pause that a person needs to see. */
export const quietAttempts = 3;

/** What a person can do about a pause. */
export const waysOut: Record<Pause["class"], string> = {
  transient: "it goes on by itself when the server answers again",
  row: "correct the mapping or the table; it goes on by itself when the server takes the rows",
  partitions:
    "use fewer partitions per insert (a smaller max_batch_size, another PARTITION BY) or raise max_partitions_per_insert_block",
  view: "mend or drop the materialized view; the rows in the base table are kept",
  setup: "correct the table, the rights, the login or the mapping; it goes on by itself within a minute",
  disk: "make room on the disk of the data dir, or correct what is named; it goes on by itself",
  probe: "grant what is named, or correct the mapping or the table; it goes on by itself within a minute",
  uncertain: "set x-sluice.on_uncertain to insert (at least once) or skip (at most once)",
  source: "correct the brokers, the login, the rights or the topic; it goes on by itself when they answer",
  owner: `stop the other one, or set x-sluice.take_over to its run, such as "0a1b2c3d", to go on from where it stands`,
  lost: "restore what is gone, set x-sluice.on_lost: skip to go on with what is left, or stop the pipeline and move its consumer group to where it is to go on",
  storage:
    "it goes on by itself as keys expire; a shorter time_window, or more limits.memory for the transform, makes room sooner",
};

/** Waits between the attempts of one pipeline, and shows a wait that lasts as its pause. */
export interface SourcePause {
  /**
   * Waits with back-off before attempt number `attempt` + 1 (attempts count from 1). Returns early, without an error,
   * when `signal` aborts.
   */
  wait(failure: Waited, attempt: number, signal: AbortSignal): Promise<void>;
  /** An attempt succeeded: the pause is over. */
  leave(): void;
}
