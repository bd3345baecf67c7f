import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change, NoOp, Plan, WantedState } from "../plan/change.ts";
import { plan } from "../plan/decide/index.ts";
import { ownHold } from "./hold.ts";
import type { Hold, HoldsState } from "./hold.ts";

/**
 * The plan without changes of the pipelines that an operator suspended, as if their files suspended them; they are not
 * deleted either if their files are removed.
 */
export function planWithHolds(actual: ActualState, wanted: WantedState, holds: HoldsState): Plan {
  const pipelines = wanted.pipelines.map((one) => suspended(one, holds));
  const { changes, ...rest } = plan(actual, { ...wanted, pipelines });
  return { ...rest, changes: changes.map((change) => leftAlone(change, ownHold(holds, change.pipeline_id))) };
}

function suspended(desired: DesiredPipeline, holds: HoldsState): DesiredPipeline {
  if (ownHold(holds, desired.pipeline_id) === undefined) return desired;
  return { ...desired, directives: { ...desired.directives, suspend: true } };
}

/** Changes that the plan makes despite a suspension stay. */
function leftAlone(change: Change, hold: Hold | undefined): Change {
  if (hold === undefined) return change;
  if (change.kind === "no-op" && change.cause === "Suspended") return suspendedBy(hold, change);
  if (change.kind !== "delete") return change;
  const { replaces: _replaces, irreversible: _irreversible, ...rest } = change;
  return suspendedBy(hold, rest);
}

/** Says who suspended it. */
function suspendedBy({ since, by, reason }: Hold, change: Omit<NoOp, "kind" | "cause" | "calls">): NoOp {
  const { pipeline_id } = change;
  const facts = { pipeline_id, since, ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const why = { code: "SuspendedByOperator", facts } as const;
  return { ...change, kind: "no-op", cause: "Suspended", effect: "none", why, fields: [], calls: [] };
}
