import type { Call } from "../plan/calls.ts";
import type { ChangeKind, HindranceCause } from "../plan/change.ts";

/**
 * What became of a change.
 *
 * - `applied`: every call was made.
 * - `failed`: a call failed; the pipeline is where that left it, and it is tried again at `next_attempt`.
 * - `waiting`: it failed before, and it is not yet time to try again; or the pipeline is not where the plan found it.
 * - `blocked`: a dependency's change was not applied.
 * - `held`: a pipeline that is to end still holds something; it ends by itself when that is gone.
 * - `refused`: trying again cannot help before a person has changed something.
 * - `replaced`: a newer revision asked for something else while it waited for a stop.
 * - `suspended`: an operator suspended the pipeline before the first call.
 * - `under way`: it was begun and goes on beside the next turns.
 */
export type OutcomeResult =
  "applied" | "failed" | "waiting" | "blocked" | "held" | "refused" | "replaced" | "suspended" | "under way";

export interface Outcome {
  pipeline_id: string;
  kind: ChangeKind;
  result: OutcomeResult;
  /** Why it was not applied. */
  message?: string;
  /** What holds it, where it is `held`; `InTransition` where it only waits for the engine. */
  cause?: HindranceCause | "InTransition";
  /** The call that failed. */
  call?: Call;
  /** ISO 8601, UTC. */
  next_attempt?: string;
}
