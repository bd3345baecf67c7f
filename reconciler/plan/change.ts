import type { Effect, EventEffect } from "../../schemas/index.ts";
import type { DesiredState } from "../desired/desired-state.ts";
import type { SkippedFile } from "../git/revision.ts";
import type { Call } from "./calls.ts";
import type { Loss } from "./loss.ts";
import type { Caution, Reason } from "./reason.ts";

/**
 * The planned change of one pipeline, and its reason. `refuse` and `no-op` make no call; a refusal waits for a person.
 * Holds no secret.
 */
export type Change = Creation | Edit | Recreation | StateChange | Deletion | Refusal | NoOp;

export type ChangeKind = Change["kind"];

/** A change that is carried out. */
export type Action = Creation | Edit | Recreation | StateChange | Deletion;

export interface Creation extends Acting {
  kind: "create";
}

/** Fields change; with `rename` only the name, while the pipeline runs. */
export interface Edit extends Acting {
  kind: "update" | "rename";
}

/** The pipeline is deleted, and created as its file says. */
export interface Recreation extends Acting {
  kind: "recreate";
  /** What is lost. The recreation stops if it would lose more. */
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
  /** It replaces a change under way, after the stop of that change has ended. */
  replaces?: true;
  /** What the inverse of this plan does not restore. Absent where it restores everything. */
  irreversible?: Loss[];
}

interface Common {
  pipeline_id: string;
  /** The id that the engine has it by until it is moved; absent where it is not to be moved. */
  moved_from?: string;
  /** The reason in one word of a closed set. */
  cause: Cause;
  why: Reason;
  /** The highest effect of its fields: which calls they need. */
  effect: Effect;
  /** The highest of its fields: what becomes of events from then on. */
  events: EventEffect;
  /** The place in the file: the field of a refusal, else the pipeline. Absent where there is no file. */
  file?: string;
  line?: number;
  column?: number;
  fields: FieldChange[];
  /** Planned effects that are perhaps not intended. Absent where there are none. */
  cautions?: Caution[];
  /**
   * Fields that were changed through the engine and not in the file. Absent where there are none, or drift is ignored.
   */
  drift?: Drift;
  /** Why a secret of the pipeline no longer has a value. The pipeline runs on with the old value. */
  missing_secret?: string;
  /** Pipelines whose changes in this plan are made first. */
  after: string[];
}

/**
 * Why, in one word: the reason of conditions and a metric label.
 *
 * - Calls are made (`ActingCause`): `Interrupted` where a half-done change is undone or completed, `Inverted` where a
 *   plan is undone.
 * - Nothing to do: `InSync`, `Suspended`, `StoppedByOperator`, `DriftIgnored`, `PruneDisabled`, `NotOwned` (not created from this source);
 *   `Drifted` too, where it is only reported, or corrected later.
 * - Later, by itself: `InTransition`, `InProgress`, `DependencyNotReady`, `PruneHeld`, `FolderChanging`.
 * - Refused until a person changes something (`RefusalCause`). `InvalidFile` leaves a running pipeline at its last good
 *   file. The hindrances `EventsHeld`, `GroupBehind` and `DeadLettersHeld` keep a pipeline whose deletion has begun
 *   until its events are written, its offsets committed and its dead letters taken out.
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
  | "StoppedByOperator"
  | "NotOwned"
  | "InTransition"
  | "InProgress"
  | "DependencyNotReady"
  | "PruneHeld"
  | "FolderChanging"
  | "InvalidFile";

export type RefusalCause =
  | "InvalidFile"
  | "DuplicateId"
  | "ImmutableField"
  | "IdChanged"
  | "NotMoved"
  | "NotAdopted"
  | "DriftFight"
  | "EmptySource"
  | "DeletionBudget"
  | "SourceChanged"
  | "NotApproved"
  | HindranceCause;

/** What blocks the deletion of a pipeline after it has begun. */
export type HindranceCause = "EventsHeld" | "GroupBehind" | "DeadLettersHeld";

/** One field that differs between the engine and the file. Safe to show: secrets are replaced. */
export interface FieldChange {
  /** Such as `transforms[filter].config.expression`: entries of a list are named by what tells them apart. */
  path: string;
  /** Which calls it needs. */
  effect: Effect;
  /** What becomes of events from then on. */
  events: EventEffect;
  /** Absent where the engine has no such field. */
  from?: unknown;
  /** Absent where the file has no such field. */
  to?: unknown;
  /** The variables in the file's value. Absent where there are none. */
  variables?: string[];
  /** The values are secrets and look alike here. */
  secret?: true;
}

/** What is done about a drift: `wait` corrects it later, `fight` corrects it no more. */
export type Stance = "correct" | "wait" | "report" | "fight";

/** Fields that were changed in the engine and not in the file. */
export interface Drift {
  /** Paths of the fields, `x-sluice.state` where it was stopped, started or deleted. */
  fields: string[];
  stance: Stance;
  /** Corrections of the same fields within the last hour; for a fight, within the hour before it. */
  times: number;
  /** When it is corrected, where that waits: milliseconds since the epoch. */
  next?: number;
}

/** The desired state, and the files that could not be read. */
export interface WantedState extends Pick<DesiredState, "pipelines" | "refused"> {
  skipped: readonly UnreadFile[];
}

/** A file that was not read. */
export interface UnreadFile extends Omit<SkippedFile, "reason"> {
  /** Absent where it is gone, and was not read of an earlier revision. */
  reason?: string;
  /** Pipelines that may have moved there: it came, or changed, as their files went. Absent where there are none. */
  mayHold?: readonly string[];
}

/** Changes in the order in which they begin: dependencies first, deletions last, else by pipeline_id. */
export interface Plan {
  changes: Change[];
}

/** Of which pipeline a change is, and where that is written. */
export function placeOf({
  pipeline_id,
  moved_from,
  file,
  line,
  column,
}: Change): Pick<Change, "pipeline_id" | "moved_from" | "file" | "line" | "column"> {
  return {
    pipeline_id,
    ...(moved_from !== undefined && { moved_from }),
    ...(file !== undefined && { file }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
}

/** Whether a change is the stop, or the termination, that an operator asked for. */
export function isStopByOperator({ kind, why }: Change): boolean {
  return (kind === "stop" || kind === "terminate") && why.code === "StoppedByOperator";
}

/** Whether a change of this pipeline waits for the end of its suspension, or of its stop by an operator. */
export function waitsForResume({ why }: Change): boolean {
  if (why.code === "SuspendedByFile" || why.code === "SuspendedByOperator" || why.code === "StoppedByOperator")
    return why.facts.waits !== undefined;
  return false;
}

/** Whether it waits until a plain folder has stood still. */
export function waitsForFolder({ why }: Change): boolean {
  return (why.code === "RunsAgain" ? why.facts.of : why).code === "FolderChanging";
}

/** Whether the plan does anything at all. */
export function hasCalls(plan: Plan): boolean {
  return plan.changes.some(doesSomething);
}

/** Whether it replaces a change under way. */
export function isReplacing(change: Change): boolean {
  return doesSomething(change) && change.replaces === true;
}

/** Whether it calls the engine, or ends a change under way early. */
export function doesSomething(change: Change): change is Action {
  return change.kind !== "refuse" && change.kind !== "no-op";
}
