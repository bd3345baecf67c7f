import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change, NoOp, Plan, WantedState } from "../plan/change.ts";
import { nothing, plan } from "../plan/decide/index.ts";
import type { Reason } from "../plan/reason.ts";
import { ownHold, stopOf } from "./hold.ts";
import type { Hold, HoldsState, StopHold } from "./hold.ts";

/**
 * The plan without changes of the pipelines that an operator suspended, as if their files suspended them; they are not
 * deleted either if their files are removed. Pipelines that an operator stopped are stopped, as if their files said so.
 */
export function planWithHolds(
  actual: ActualState,
  wanted: WantedState,
  holds: HoldsState,
): { plan: Plan; pipelines: DesiredPipeline[] } {
  const stopped = wanted.pipelines.map((one) => asStopped(one, holds));
  const pipelines = stopped.map((one) => asSuspended(one, holds));
  const { changes, ...rest } = plan(actual, { ...wanted, pipelines });
  const held = changes.map((change) => {
    const stop = stopOf(holds, change.pipeline_id);
    return stop === undefined ? leftAlone(change, ownHold(holds, change.pipeline_id)) : stoppedBy(stop, change);
  });
  return { plan: { ...rest, changes: held }, pipelines: stopped };
}

function asStopped(desired: DesiredPipeline, holds: HoldsState): DesiredPipeline {
  if (stopOf(holds, desired.pipeline_id) === undefined || desired.directives.state !== "Running") return desired;
  return { ...desired, directives: { ...desired.directives, state: "Stopped" } };
}

/** The plan with no other change than stops by an operator; undefined where there are none. */
export function onlyStops({ changes, ...rest }: Plan): Plan | undefined {
  if (!changes.some(isStop)) return undefined;
  const left = changes.map((change): Change => {
    if (isStop(change) || change.kind === "no-op" || change.kind === "refuse") return change;
    const { pipeline_id, file, why, after } = change;
    return {
      pipeline_id,
      ...(file !== undefined && { file }),
      why,
      kind: "no-op",
      cause: "Suspended",
      ...nothing(),
      after,
    };
  });
  return { ...rest, changes: left };
}

function isStop({ kind, why }: Change): boolean {
  return kind === "stop" && why.code === "StoppedByOperator";
}

/** A stop is stronger: it is carried out also for a pipeline that is suspended. */
function asSuspended(desired: DesiredPipeline, holds: HoldsState): DesiredPipeline {
  const { pipeline_id } = desired;
  if (ownHold(holds, pipeline_id) === undefined || stopOf(holds, pipeline_id) !== undefined) return desired;
  return { ...desired, directives: { ...desired.directives, suspend: true } };
}

/** Says who stopped it, in place of the state of a file that does not say so. */
function stoppedBy({ since, until, by, reason }: StopHold, change: Change): Change {
  const facts = { since, until, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const why = { code: "StoppedByOperator", facts } as const;
  if (change.kind === "stop") return { ...change, why };
  if (change.kind !== "no-op" || change.cause !== "InSync") return change;
  return { ...change, cause: "StoppedByOperator", why };
}

/** Changes that the plan makes despite a suspension stay. */
function leftAlone(change: Change, hold: Hold | undefined): Change {
  if (hold === undefined) return change;
  if (change.kind === "no-op" && change.cause === "Suspended") {
    return suspendedBy(hold, change, change.why.code === "SuspendedByFile" ? change.why.facts.waits : undefined);
  }
  if (change.kind !== "delete") return change;
  const { replaces: _replaces, irreversible: _irreversible, ...rest } = change;
  return suspendedBy(hold, { ...rest, effect: "none", fields: [] }, change.why);
}

/** Says who suspended it, and why the change that `waits` would be made. */
function suspendedBy(
  { since, by, reason }: Hold,
  change: Omit<NoOp, "kind" | "cause" | "calls">,
  waits: Reason | undefined,
): NoOp {
  const { pipeline_id } = change;
  const suspension = { since, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const facts = { pipeline_id, ...suspension, ...(waits !== undefined && { waits }) };
  return { ...change, kind: "no-op", cause: "Suspended", why: { code: "SuspendedByOperator", facts }, calls: [] };
}
