import type { Failure } from "./sink.ts";

/** Why a running pipeline waits. It goes on by itself when the reason is gone. */
export interface Pause {
  class: Failure["class"] | "probe" | "uncertain" | "lost" | "storage" | "source" | "owner" | "thread" | "letters";
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
  /** What a person can do about it, where `waysOut` does not know it for all kinds of sources. */
  way_out?: string;
}

/** A transient failure is shown as a pause from this attempt on. */
export const quietAttempts = 3;

/** What a person can do about a pause, unless what fails says it itself. */
export const waysOut: Record<Pause["class"], string> = {
  transient: "it goes on by itself when the server answers again",
  row: "correct the mapping or the table; it goes on by itself when the server takes the rows",
  partitions:
    "use fewer partitions per insert (a smaller max_batch_size, another PARTITION BY) or raise max_partitions_per_insert_block",
  view: "correct or drop the materialized view; the rows in the base table are kept",
  setup: "correct the table, the rights, the login or the mapping; it goes on by itself within a minute",
  disk: "make room on the disk of the data dir, or correct the named cause; it goes on by itself",
  probe: "grant the named right, or correct the mapping or the table; it goes on by itself within a minute",
  uncertain: "set x-sluice.on_uncertain to insert (at least once) or skip (at most once)",
  source: "correct the named cause; it goes on by itself when its events can be read",
  owner:
    'stop the other process; or set x-sluice.take_over to the run that the text names, such as "0a1b2c3d", to go on from its offsets. What that one has written and not committed to the group yet is written again: the rows of about its last tenth of a second',
  lost: "restore the missing events, or set x-sluice.on_lost: skip to go on without them",
  thread:
    "look in the log for what ended the thread, and correct or stop what that names; it is started again by itself",
  letters:
    "read them (sluice dlq list) and correct their cause, then reprocess, consume, discard or purge them; it goes on by itself within a minute",
  storage:
    "it goes on by itself as keys expire; a shorter time_window, or more limits.memory for the transform, makes room sooner",
};

/** Waits between the attempts of one pipeline, and shows a long wait as its pause. */
export interface SourcePause {
  /**
   * Waits with back-off before attempt number `attempt` + 1 (attempts count from 1). Returns early, without an error,
   * when `signal` aborts.
   */
  wait(failure: Waited, attempt: number, signal: AbortSignal): Promise<void>;
  /** An attempt succeeded: the pause is over. */
  leave(): void;
}
