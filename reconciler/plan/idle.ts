import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Cause, Change } from "./change.ts";

/** A change that makes no call. */
export function idle(desired: DesiredPipeline, cause: Cause, reason: string): Change {
  const { pipeline_id } = desired;
  const { file, line, column } = desired.place([]);
  const nothing = { fields: [], calls: [], after: [] };
  return { pipeline_id, kind: "no-op", cause, effect: "none", reason, file, line, column, ...nothing };
}
