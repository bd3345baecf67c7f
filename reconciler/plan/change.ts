import type { Effect } from "../../schemas/index.ts";
import type { DesiredState } from "../desired/desired-state.ts";
import type { SkippedFile } from "../git/revision.ts";
import type { Call } from "./calls.ts";
import type { FieldChange } from "./differences.ts";
import type { Drift } from "./drift.ts";

/** What happens to a pipeline. `refuse` and `no-op` make no call; a refusal waits for a person. */
export type ChangeKind =
  "create" | "update" | "rename" | "recreate" | "stop" | "resume" | "terminate" | "delete" | "refuse" | "no-op";

/**
 * Why, in one word: the reason of conditions and a metric label.
 *
 * - Calls are made: `New`, `Changed`, `Adopted`, `Drifted`, `StateWished`, `FileRemoved`, `SecretChanged`, and `Interrupted`
 *   where a pipeline is put back that a change has left behind.
 * - Nothing to do: `InSync`, `Suspended`, `DriftIgnored`, `PruneDisabled`, `NotOwned` (somebody else's); `Drifted` too, where
 *   that is only reported, or put back later.
 * - Later, by itself: `InTransition`, `InProgress`, `DependencyNotReady`, `PruneHeld`.
 * - Refused until a person changes something: the others. `InvalidFile` leaves a running pipeline at its last good file.
 *   `EventsHeld`, `GroupBehind` and `DeadLettersHeld` keep a pipeline whose end has begun until what it holds is gone,
 *   and its consumer group has been told how far it came.
 */
export type Cause =
  | "New"
  | "Changed"
  | "Adopted"
  | "Drifted"
  | "StateWished"
  | "FileRemoved"
  | "SecretChanged"
  | "Interrupted"
  | "InSync"
  | "Suspended"
  | "DriftIgnored"
  | "PruneDisabled"
  | "NotOwned"
  | "InTransition"
  | "InProgress"
  | "DependencyNotReady"
  | "PruneHeld"
  | "InvalidFile"
  | "DuplicateId"
  | "ImmutableField"
  | "IdChanged"
  | "NotAdopted"
  | "DriftFight"
  | "EmptySource"
  | "DeletionBudget"
  | "EventsHeld"
  | "GroupBehind"
  | "DeadLettersHeld";

/** What Git wants, and what could not be read of it. */
export interface WantedState extends Pick<DesiredState, "pipelines" | "refused"> {
  skipped: readonly SkippedFile[];
}

/** What is to be done with one pipeline, and why. Holds no secret. */
export interface Change {
  pipeline_id: string;
  kind: ChangeKind;
  cause: Cause;
  /** The highest class of its fields. */
  effect: Effect;
  /** One sentence for a person; of a refusal, with the ways out. */
  reason: string;
  /** Where the reason is written: the field of a refusal, else the pipeline. Absent where no file is left. */
  file?: string;
  line?: number;
  column?: number;
  fields: FieldChange[];
  /** Lifecycle calls, in order. */
  calls: Call[];
  /** What is planned and is perhaps not meant; a person should look at it. Absent where there is nothing of that kind. */
  warnings?: string[];
  /** What was changed through the engine while the file stayed as it is. Absent where nothing was, or nobody minds. */
  drift?: Drift;
  /** Why a secret of the pipeline has no value any more. It runs on with the one that it has. */
  missing_secret?: string;
  /** What a recreation throws away. It does not go through with more than that. */
  loses?: { dead_letters: number };
  /** It takes the place of a change under way, when the stop that this one waits for has ended. */
  replaces?: true;
  /** Pipelines whose changes of this plan come first. */
  after: string[];
}

/** Changes in the order in which they are begun: dependencies first, deletions last, else by pipeline_id. */
export interface Plan {
  changes: Change[];
}

/** Whether the plan does anything at all. */
export function hasCalls(plan: Plan): boolean {
  return plan.changes.some(doesSomething);
}

/** Whether the engine is called for it, or a change under way is ended early. */
export function doesSomething({ calls, replaces }: Change): boolean {
  return calls.length > 0 || replaces === true;
}
