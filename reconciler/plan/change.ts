import type { Effect } from "../../schemas/index.ts";
import type { DesiredState } from "../desired/desired-state.ts";
import type { SkippedFile } from "../git/revision.ts";
import type { Call } from "./calls.ts";
import type { Loss } from "./loss.ts";
import type { Caution, Reason } from "./reason.ts";

/**
 * What is to be done with one pipeline, and why: its kind says which. `refuse` and `no-op` make no call; a refusal waits
 * for a person. Holds no secret.
 */
export type Change = Creation | Edit | Recreation | StateChange | Deletion | Refusal | NoOp;

export type ChangeKind = Change["kind"];

/** A change that is carried out. */
export type Action = Creation | Edit | Recreation | StateChange | Deletion;

export interface Creation extends Acting {
  kind: "create";
}

/** Fields of the pipeline change; of a `rename` only the name, while it runs. */
export interface Edit extends Acting {
  kind: "update" | "rename";
}

/** The pipeline is deleted, and created as its file says. */
export interface Recreation extends Acting {
  kind: "recreate";
  /** What it throws away. It does not go through with more than that. */
  loses: { dead_letters: number };
}

/** Only the status changes. */
export interface StateChange extends Acting {
  kind: "stop" | "resume" | "terminate";
}

export interface Deletion extends Acting {
  kind: "delete";
}

export interface Refusal extends Common {
  kind: "refuse";
  cause: RefusalCause;
  calls: [];
}

export interface NoOp extends Common {
  kind: "no-op";
  cause: IdleCause;
  calls: [];
}

interface Acting extends Common {
  cause: ActingCause;
  /** Lifecycle calls, in order. */
  calls: Call[];
  /** It takes the place of a change under way, when the stop that this one waits for has ended. */
  replaces?: true;
  /** What the inverse of this plan does not bring back. Absent where it brings everything back. */
  irreversible?: Loss[];
}

interface Common {
  pipeline_id: string;
  /** `why` in one word of a closed set. */
  cause: Cause;
  why: Reason;
  /** The highest class of its fields. */
  effect: Effect;
  /** Where the reason is written: the field of a refusal, else the pipeline. Absent where no file is left. */
  file?: string;
  line?: number;
  column?: number;
  fields: FieldChange[];
  /** What is planned and is perhaps not meant; a person should look at it. Absent where there is nothing of that kind. */
  cautions?: Caution[];
  /** What was changed through the engine while the file stayed as it is. Absent where nothing was, or it is ignored. */
  drift?: Drift;
  /** Why a secret of the pipeline has no value any more. It runs on with the one that it has. */
  missing_secret?: string;
  /** Pipelines whose changes of this plan come first. */
  after: string[];
}

/**
 * Why, in one word: the reason of conditions and a metric label.
 *
 * - Calls are made (`ActingCause`): `Interrupted` where a pipeline is put back that a change has left half done, `Inverted`
 *   where a plan is undone.
 * - Nothing to do: `InSync`, `Suspended`, `DriftIgnored`, `PruneDisabled`, `NotOwned` (not made from this source); `Drifted`
 *   too, where that is only reported, or put back later.
 * - Later, by itself: `InTransition`, `InProgress`, `DependencyNotReady`, `PruneHeld`.
 * - Refused until a person changes something (`RefusalCause`). `InvalidFile` leaves a running pipeline at its last good
 *   file. The hindrances `EventsHeld`, `GroupBehind` and `DeadLettersHeld` keep a pipeline whose end has begun until what it
 *   holds is gone, and all its offsets are committed.
 */
export type Cause = ActingCause | IdleCause | RefusalCause;

export type ActingCause =
  | "New"
  | "Changed"
  | "Adopted"
  | "Drifted"
  | "StateWished"
  | "FileRemoved"
  | "SecretChanged"
  | "Interrupted"
  | "Inverted";

export type IdleCause =
  | "InSync"
  | "Suspended"
  | "DriftIgnored"
  | "Drifted"
  | "PruneDisabled"
  | "NotOwned"
  | "InTransition"
  | "InProgress"
  | "DependencyNotReady"
  | "PruneHeld"
  | "InvalidFile";

export type RefusalCause =
  | "InvalidFile"
  | "DuplicateId"
  | "ImmutableField"
  | "IdChanged"
  | "NotAdopted"
  | "DriftFight"
  | "EmptySource"
  | "DeletionBudget"
  | HindranceCause;

/** What keeps a pipeline whose end has begun. */
export type HindranceCause = "EventsHeld" | "GroupBehind" | "DeadLettersHeld";

/** One field that differs between the engine and the file. Safe to show: secrets are replaced. */
export interface FieldChange {
  /** Such as `transforms[filter].config.expression`: entries of a list are named by what tells them apart. */
  path: string;
  effect: Effect;
  /** Absent where the engine has no such field. */
  from?: unknown;
  /** Absent where the file has no such field. */
  to?: unknown;
  /** The values are secrets and look alike here. */
  secret?: true;
}

/** What is done about a drift: `wait` puts it back later, `fight` no more. */
export type Stance = "correct" | "wait" | "report" | "fight";

/** What was changed in the engine while the file stayed as it is. */
export interface Drift {
  /** Paths of the fields, `x-sluice.state` where it was stopped, started or deleted. */
  fields: string[];
  stance: Stance;
  /** Corrections of the same fields within the last hour; of a fight, those that it took. */
  times: number;
  /** When it is corrected, where that waits: milliseconds since the epoch. */
  next?: number;
}

/** What Git wants, and what could not be read of it. */
export interface WantedState extends Pick<DesiredState, "pipelines" | "refused"> {
  skipped: readonly SkippedFile[];
}

/** Changes in the order in which they are begun: dependencies first, deletions last, else by pipeline_id. */
export interface Plan {
  changes: Change[];
}

/** Whether the plan does anything at all. */
export function hasCalls(plan: Plan): boolean {
  return plan.changes.some(doesSomething);
}

/** Whether it takes the place of a change under way. */
export function isReplacing(change: Change): boolean {
  return doesSomething(change) && change.replaces === true;
}

/** Whether the engine is called for it, or a change under way is ended early. */
export function doesSomething(change: Change): change is Action {
  return change.kind !== "refuse" && change.kind !== "no-op";
}
