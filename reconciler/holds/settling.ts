import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Settling } from "../git/revision.ts";
import { type Action, type Change, doesSomething, type NoOp, placeOf, type Plan } from "../plan/change.ts";
import { undone } from "../plan/decide/changes.ts";
import { withInterrupted } from "../plan/decide/index.ts";
import { isAsGrave } from "../plan/level.ts";
import { afterHeld, approvalLevelOf, isExempt } from "./approval.ts";

/**
 * The plan for a folder that may be half of a copy: without changes that nothing brings back, such as the deletion of a
 * pipeline whose file may be on its way. Changes that were begun are completed.
 */
export function withSettling(
  { changes, ...rest }: Plan,
  actual: ActualState,
  pipelines: readonly DesiredPipeline[],
  settling: Settling,
): Plan {
  const wanted = new Map(pipelines.map((one) => [one.pipeline_id, one]));
  const settled = (change: Change): Change =>
    doesSomething(change) && isLasting(change) && !isExempt(change, actual, wanted.get(change.pipeline_id))
      ? withInterrupted(waiting(change, settling), actual)
      : change;
  return { ...rest, changes: afterHeld(changes.map(settled), actual) };
}

/**
 * Whether no later revision brings back what it drops. A creation drops nothing, whatever was lost before it, and half of
 * a file asks for no `Terminated`.
 */
function isLasting(change: Action): boolean {
  return change.kind !== "create" && change.kind !== "terminate" && isAsGrave(approvalLevelOf(change), "forget");
}

function waiting(change: Action, { after, changed }: Settling): NoOp {
  const facts = { of: change.why, after, ...(changed !== undefined && { changed }) };
  return {
    ...placeOf(change),
    kind: "no-op",
    cause: "FolderChanging",
    why: { code: "FolderChanging", facts },
    ...undone(change),
  };
}
