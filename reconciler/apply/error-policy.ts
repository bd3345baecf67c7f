import { EngineError } from "../../engine/index.ts";
import type { ErrorCode } from "../../engine/index.ts";

/**
 * What a call that failed means for the next try.
 *
 * - `stalling`: this config can never work; it is not tried again before somebody changes it.
 * - `waiting`: the pipeline is not where the plan found it, and is looked at again soon. Nothing is wrong.
 * - `generic`: it is tried again, less and less often. A secret that is missing may come, a disk may be emptied.
 */
export type ErrorPolicy = "stalling" | "waiting" | "generic";

const policies: Partial<Record<ErrorCode, ErrorPolicy>> = {
  IMMUTABLE_FIELD: "stalling",
  NOT_SUPPORTED: "stalling",
  PIPELINE_NOT_FOUND: "waiting",
  PIPELINE_EXISTS: "waiting",
  PIPELINE_ALREADY_IN_STATE: "waiting",
  PIPELINE_IN_TRANSITION: "waiting",
  INVALID_STATUS_TRANSITION: "waiting",
  PIPELINE_NOT_STOPPED_FOR_EDIT: "waiting",
};

export function policyOf(error: unknown): ErrorPolicy {
  return (error instanceof EngineError ? policies[error.code] : undefined) ?? "generic";
}
