import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change, NoOp, Plan, WantedState } from "../plan/change.ts";
import { plan } from "../plan/decide/index.ts";
import { ownHold } from "./hold.ts";
import type { Hold, HoldsState } from "./hold.ts";

/**
 * The plan in which a pipeline that an operator suspended is left alone, as if its file said so; it is not deleted either
 * where its file is gone.
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

/** A change of another kind that the plan makes in spite of a suspension stays. */
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
