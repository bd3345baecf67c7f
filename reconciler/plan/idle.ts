import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Cause, Change } from "./change.ts";

/** A change that makes no call. */
export function idle(desired: DesiredPipeline, cause: Cause, reason: string): Change {
  const { file, line, column } = desired.place([]);
  const change = { pipeline_id: desired.pipeline_id, kind: "no-op", cause, effect: "none", reason } as const;
  return { ...change, file, line, column, fields: [], calls: [], after: [] };
}
