import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change, Plan, WantedState } from "../plan/change.ts";
import { plan } from "../plan/plan.ts";
import { ownHold, describeHold } from "./hold.ts";
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

/** Replaces a change of a suspended pipeline with one that says who suspended it. Other kinds of changes stay. */
function leftAlone(change: Change, hold: Hold | undefined): Change {
  const { pipeline_id, cause, kind } = change;
  if (hold === undefined || (cause !== "Suspended" && kind !== "delete")) return change;
  const { replaces: _replaces, warnings: _warnings, loses: _loses, ...rest } = change;
  const reason = `suspended ${describeHold(hold)}; it is left as it is until "sluice resume ${pipeline_id}"`;
  return { ...rest, kind: "no-op", cause: "Suspended", effect: "none", reason, fields: [], calls: [] };
}
