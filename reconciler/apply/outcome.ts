import type { Call } from "../plan/calls.ts";
import type { ChangeKind, HindranceCause } from "../plan/change.ts";

/**
 * The result of a change.
 *
 * - `applied`: every call was made.
 * - `failed`: a call failed; the pipeline stays as that call left it, and the change is tried again at `next_attempt`.
 * - `waiting`: it failed before and its back-off is not over; or the status of the pipeline has changed since the plan.
 * - `blocked`: a dependency's change was not applied.
 * - `held`: the pipeline to be deleted still holds events, offsets or dead letters; it is deleted when it holds none.
 * - `refused`: a person has to change something before it is tried again.
 * - `replaced`: a newer revision asked for something else while it waited for a stop.
 * - `suspended`: an operator suspended the pipeline before the first call.
 * - `under way`: it was begun and continues during the next turns.
 */
export type OutcomeResult =
  "applied" | "failed" | "waiting" | "blocked" | "held" | "refused" | "replaced" | "suspended" | "under way";

export interface Outcome {
  pipeline_id: string;
  kind: ChangeKind;
  result: OutcomeResult;
  /** Why it was not applied. */
  message?: string;
  /**
   * What it waits for, where it is `held`; `InTransition` where it only waits for the engine, and `NotReady` where it was
   * not begun, because the pipeline could not run as its file says.
   */
  cause?: HindranceCause | "InTransition" | "NotReady";
  /** The call that failed. */
  call?: Call;
  /** ISO 8601, UTC. */
  next_attempt?: string;
}
