import { jitter } from "../../engine/language.ts";
import type { NotRead } from "../actual/inventory.ts";
import type { Outcome } from "../apply/outcome.ts";
import type { DesiredPipeline, DesiredState } from "../desired/desired-state.ts";
import type { Revision } from "../git/revision.ts";
import type { SourceChange } from "../holds/source-change.ts";
import { type Plan, waitsForFolder, waitsForResume } from "../plan/change.ts";

/** What caused a turn: the interval, the end of a back-off or of a slow change, the folder, a push, or a person. */
export type Trigger = "start" | "poll" | "retry" | "change" | "webhook" | "manual";

/** One turn of the reconciler: each step adds its result. The result of a failed step is absent. */
export interface Turn {
  readonly trigger: Trigger;
  readonly started: Date;
  /** The same by the monotonic clock, in milliseconds. */
  readonly began: number;
  /** The newest request for a turn that was made before this one began. */
  readonly requestedAt?: string;
  /** The same when the fetch began whose result it has. Absent where it has none. */
  readSince?: string;
  /** The source is still being read: this turn has the revision before. */
  isFetching?: true;
  /** The newest one; the last good one if `fetchError` is present. */
  revision?: Revision;
  fetchError?: Error;
  desired?: DesiredState;
  plan?: Plan;
  /** What of the plan is carried out while everything is suspended; absent where nothing is. */
  whileSuspended?: Plan;
  /** What is wished of each pipeline: by its file, and by an operator who stopped it. */
  pipelines?: readonly DesiredPipeline[];
  /** Pipelines that were suspended when the plan was made. */
  suspended?: ReadonlySet<string>;
  /** Another source than before: the plan waits for an approval. */
  sourceChange?: SourceChange;
  /** What is not read of the revision, as it is remembered where its source is followed. */
  notRead?: NotRead;
  outcomes?: Outcome[];
  /** The error of the step that ended the turn. It changed no running pipeline. */
  error?: Error;
}

export type TurnResult = "success" | "incomplete" | "error";

/** Whether everything matches Git at the end of this turn. */
export function resultOf(turn: Turn): TurnResult {
  if (turn.error !== undefined || turn.fetchError !== undefined || turn.plan === undefined) return "error";
  const isComplete = turn.isFetching !== true && turn.revision?.settling?.changing === undefined;
  return isSettled(turn) && isComplete ? "success" : "incomplete";
}

/** Whether everything matches the revision of this turn, which is the newest or the last good one. */
export function isSettled({ error, plan, desired, outcomes = [] }: Turn): boolean {
  if (error !== undefined || plan === undefined) return false;
  const applied = new Set(outcomes.filter(({ result }) => result === "applied").map(({ pipeline_id }) => pipeline_id));
  const settled = plan.changes.every(
    (change) =>
      applied.has(change.pipeline_id) ||
      (settledCauses.has(change.cause) && !waitsForResume(change)) ||
      (change.cause === "Drifted" && change.drift?.stance === "report"),
  );
  return settled && desired?.refused.length === 0;
}

const settledCauses: ReadonlySet<string> = new Set([
  "InSync",
  "Suspended",
  "StoppedByOperator",
  "DriftIgnored",
  "PruneDisabled",
  "NotOwned",
]);

/** The pause is a random share of the interval between these two, so that many processes do not poll at once. */
const spread = [0.95, 1.05] as const;

/** Milliseconds after which a pipeline in transition is looked at again. */
const transitionWait = 5_000;

/** The interval, a little shorter or longer. Milliseconds. */
export function jittered(interval: number): number {
  return jitter(interval, spread);
}

/** Milliseconds until a failed change, or one that waits for the engine or the folder, is tried again. */
export function untilRetry({ plan: made, revision, outcomes = [] }: Turn): number {
  const times = outcomes.flatMap(({ next_attempt }) => (next_attempt === undefined ? [] : [Date.parse(next_attempt)]));
  const waits = made?.changes.some(({ cause }) => cause === "InTransition") ? [transitionWait] : [];
  const drifts = made?.changes.flatMap(({ drift }) => drift?.next ?? []) ?? [];
  if (revision?.settling !== undefined && made?.changes.some(waitsForFolder) === true)
    waits.push(Math.ceil(revision.settling.at - performance.now()));
  const changing = revision?.settling?.changing;
  if (changing !== undefined) waits.push(Math.ceil(changing.at - performance.now()));
  return Math.max(0, Math.min(...[...times, ...drifts].map((time) => time - Date.now()), ...waits));
}
