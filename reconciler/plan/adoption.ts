import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change } from "./change.ts";
import type { Difference } from "./differences.ts";
import { driftedFields } from "./drift.ts";
import { notAdopted } from "./refusals.ts";

/**
 * What is to be done with a pipeline that somebody else made. One that is as its file says is taken over as it runs; one
 * that differs only where the file asks for it, by the change that `planned` gives.
 */
export function adoption(
  desired: DesiredPipeline,
  present: ActualPipeline,
  found: Difference[],
  planned: (desired: DesiredPipeline, present: ActualPipeline, found: Difference[]) => Change,
): Change {
  const change = planned(desired, present, found);
  const fields = driftedFields(desired, present, found);
  if (fields.length === 0) return change;
  if (!desired.directives.adopt) return notAdopted(desired, change, fields, found);
  if (change.calls.length === 0) return change;
  const reason = `it is taken over, as x-sluice.adopt is true: ${change.reason}`;
  return { ...change, cause: "Adopted", reason, fields };
}
