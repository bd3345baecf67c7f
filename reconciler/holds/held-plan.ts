import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change, Plan, WantedState } from "../plan/change.ts";
import { plan } from "../plan/plan.ts";
import { ownHold, told } from "./holds.ts";
import type { HoldsState } from "./holds.ts";

/** The plan in which a pipeline that an operator suspended is left alone, as if its file said so. */
export function heldPlan(actual: ActualState, wanted: WantedState, holds: HoldsState): Plan {
  const pipelines = wanted.pipelines.map((one) => suspended(one, holds));
  const { changes, ...rest } = plan(actual, { ...wanted, pipelines });
  return { ...rest, changes: changes.map((change) => leftAlone(change, holds)) };
}

function suspended(desired: DesiredPipeline, holds: HoldsState): DesiredPipeline {
  if (ownHold(holds, desired.pipeline_id) === undefined) return desired;
  return { ...desired, directives: { ...desired.directives, suspend: true } };
}

/** Says who suspended it, and keeps one whose file is gone. What does nothing anyway keeps its own reason. */
function leftAlone(change: Change, holds: HoldsState): Change {
  const hold = ownHold(holds, change.pipeline_id);
  const { calls, cause, replaces: _replaces, warnings: _warnings, loses: _loses, ...rest } = change;
  if (hold === undefined || (calls.length === 0 && cause !== "Suspended")) return change;
  const reason = `suspended ${told(hold)}; it is left as it is until "sluice resume ${change.pipeline_id}"`;
  return { ...rest, kind: "no-op", cause: "Suspended", effect: "none", reason, fields: [], calls: [] };
}
