import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { type Cause, type Change, doesSomething, isStopByOperator, placeOf } from "../plan/change.ts";
import type { NoOp, Plan, WantedState } from "../plan/change.ts";
import { nothing, plan, withInterrupted } from "../plan/decide/index.ts";
import type { Reason } from "../plan/reason.ts";
import { ownHold, stateIn, stopFor, suspendedId } from "./hold.ts";
import type { Hold, HoldsState, StopHold } from "./hold.ts";

/**
 * The plan without changes of the pipelines that an operator suspended, as if their files suspended them; they are not
 * deleted either if their files are removed. A pipeline that an operator stopped is stopped first, whatever else would be
 * done or keeps it from being done; the plans after that are those of a pipeline whose file asks for `Stopped`.
 */
export function planWithHolds(
  actual: ActualState,
  wanted: WantedState,
  holds: HoldsState,
): { plan: Plan; pipelines: DesiredPipeline[] } {
  const namedOf = ({ pipeline_id }: DesiredPipeline): Pick<Change, "pipeline_id" | "moved_from"> =>
    actual.pipelines.get(pipeline_id) ?? { pipeline_id };
  const stopped = wanted.pipelines.map((one) => asStopped(one, stopFor(holds, namedOf(one))));
  const pipelines = stopped.map((one) => asSuspended(one, ownHold(holds, suspendedId(holds, namedOf(one)))));
  const { changes, ...rest } = plan(actual, { ...wanted, pipelines });
  const held = changes.map((change) => {
    const { pipeline_id } = change;
    const id = suspendedId(holds, change);
    const stop = stopFor(holds, change);
    if (stop !== undefined && isToStop(stop, pipeline_id, actual)) return stopFirst(stop, change);
    const left = leftAlone(change, id, ownHold(holds, id));
    return stop === undefined ? left : stoppedBy(stop, left);
  });
  return { plan: { ...rest, changes: held }, pipelines: stopped };
}

function asStopped(desired: DesiredPipeline, stop: StopHold | undefined): DesiredPipeline {
  const { state } = desired.directives;
  if (stop === undefined || state === "Terminated" || state === stateIn(stop)) return desired;
  return { ...desired, directives: { ...desired.directives, state: stateIn(stop) } };
}

/** Whether it runs, or holds what a termination drops, is one of ours, and no change of it is under way. */
function isToStop(stop: StopHold, pipeline_id: string, { pipelines, owned, busy }: ActualState): boolean {
  const isFree = Object.hasOwn(owned, pipeline_id) && !busy.has(pipeline_id);
  const status = pipelines.get(pipeline_id)?.status;
  const isAtRest = status === "Stopped" || status === "Failed";
  return isFree && (status === "Running" || (stop.way === "terminate" && isAtRest));
}

/**
 * The plan while everything is suspended: with no other change than stops by an operator, and repairs of what an end of
 * the process interrupted. Undefined where there are none.
 */
export function whileSuspended({ changes, ...rest }: Plan, actual: ActualState): Plan | undefined {
  const left = changes.map((change): Change => {
    if (!doesSomething(change) || isStopByOperator(change) || change.cause === "Interrupted") return change;
    const { pipeline_id, moved_from, file, why, after } = change;
    const suspended: NoOp = {
      pipeline_id,
      ...(moved_from !== undefined && { moved_from }),
      ...(file !== undefined && { file }),
      why,
      kind: "no-op",
      cause: "Suspended",
      ...nothing(),
      after,
    };
    return withInterrupted(suspended, actual);
  });
  return left.some(doesSomething) ? { ...rest, changes: left } : undefined;
}

function asSuspended(desired: DesiredPipeline, hold: Hold | undefined): DesiredPipeline {
  if (hold === undefined) return desired;
  return { ...desired, directives: { ...desired.directives, suspend: true } };
}

/**
 * The plan in which each pipeline whose stop by an operator is over runs again, where nothing else is done about it: what
 * holds its change back, such as a file that cannot be used, an approval or another source, holds back no more than that.
 * For the whole plan, when all that is held back is known.
 */
export function withStopsOver(
  { changes, ...rest }: Plan,
  actual: ActualState,
  pipelines: readonly DesiredPipeline[],
  holds: HoldsState,
): Plan {
  const states = new Map(pipelines.map((one) => [one.pipeline_id, one.directives.state]));
  const isToRun = (change: Change): boolean => {
    const { pipeline_id: id } = change;
    const isHeld = (stopFor(holds, change) ?? ownHold(holds, suspendedId(holds, change))) !== undefined;
    return !isHeld && (states.get(id) ?? "Running") === "Running" && isToRunAgain(change, actual);
  };
  return { ...rest, changes: changes.map((change) => (isToRun(change) ? afterStop(change) : change)) };
}

/** Causes for which a pipeline is left as it is, and was left running before an operator stopped it. */
const leftRunning: ReadonlySet<Cause> = new Set<Cause>([
  "InvalidFile",
  "PruneDisabled",
  "PruneHeld",
  "Suspended",
  "FolderChanging",
]);
/** Refusals that are about a deletion which has begun. */
const ended: ReadonlySet<Cause> = new Set<Cause>(["EventsHeld", "GroupBehind", "DeadLettersHeld"]);

/** Whether an operator stopped it, and nothing is done about that. */
function isToRunAgain({ pipeline_id, kind, cause }: Change, { pipelines, owned, busy }: ActualState): boolean {
  const entry = Object.hasOwn(owned, pipeline_id) ? owned[pipeline_id] : undefined;
  const wasStopped = entry?.stopped === true && entry.ending !== true && !busy.has(pipeline_id);
  const status = pipelines.get(pipeline_id)?.status;
  if (!wasStopped || (status !== "Stopped" && status !== "Terminated")) return false;
  return kind === "refuse" ? !ended.has(cause) : kind === "no-op" && leftRunning.has(cause);
}

function afterStop(change: Change): Change {
  const why = { code: "StopOver", facts: { of: change.why } } as const;
  return { ...placeOf(change), ...nothing(), kind: "resume", cause: "StateWished", why, calls: ["resume"] };
}

/** The stop alone; the next plan has the rest of the change. */
function stopFirst(stop: StopHold, change: Change): Change {
  const { missing_secret } = change;
  return {
    ...placeOf(change),
    ...(missing_secret !== undefined && { missing_secret }),
    ...nothing(),
    kind: stop.way ?? "stop",
    cause: "StateWished",
    why: whyStopped(stop),
    calls: [stop.way ?? "stop"],
  };
}

/**
 * Says who stopped it, in place of the state of a file that does not say so. An end for which it would have to run waits
 * for the end of the stop.
 */
function stoppedBy(stop: StopHold, change: Change): Change {
  const why = whyStopped(stop);
  if (change.kind === "stop" || change.kind === "terminate") return { ...change, why };
  if (change.kind === "no-op" && change.cause === "InSync") return { ...change, cause: "StoppedByOperator", why };
  const isEnd = change.kind === "delete" || change.kind === "recreate";
  const runsForIt = isEnd
    ? change.calls.includes("resume")
    : change.kind === "resume" && change.cause === "Interrupted";
  if (!runsForIt) return change;
  const waiting = { ...why, facts: { ...why.facts, waits: change.why } };
  return { ...placeOf(change), ...nothing(), kind: "no-op", cause: "StoppedByOperator", why: waiting };
}

/** Who stopped it, why and until when. */
export function whyStopped(stop: StopHold): Extract<Reason, { code: "StoppedByOperator" }> {
  const { until, way } = stop;
  return { code: "StoppedByOperator", facts: { ...asked(stop), until, ...(way !== undefined && { way }) } };
}

/** Changes that the plan makes despite a suspension stay. */
function leftAlone(change: Change, pipeline_id: string, hold: Hold | undefined): Change {
  if (hold === undefined) return change;
  if (change.kind === "no-op" && change.cause === "Suspended") {
    return suspendedBy(
      hold,
      pipeline_id,
      change,
      change.why.code === "SuspendedByFile" ? change.why.facts.waits : undefined,
    );
  }
  if (change.kind !== "delete") return change;
  const { replaces: _replaces, irreversible: _irreversible, ...rest } = change;
  return suspendedBy(hold, pipeline_id, { ...rest, effect: "none", events: "same", fields: [] }, change.why);
}

/** Says who suspended it, and why the change that `waits` would be made. */
function suspendedBy(
  hold: Hold,
  pipeline_id: string,
  change: Omit<NoOp, "kind" | "cause" | "calls">,
  waits: Reason | undefined,
): NoOp {
  const facts = { pipeline_id, ...asked(hold), ...(waits !== undefined && { waits }) };
  return { ...change, kind: "no-op", cause: "Suspended", why: { code: "SuspendedByOperator", facts }, calls: [] };
}

/** Since when a hold is there, who asked for it, and why. */
function asked({ since, by, reason }: Hold): Hold {
  return { since, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
}
