import { EngineError } from "./errors.ts";
import type { Status } from "./pipeline-view.ts";

/** A lifecycle call that changes the status, and the status that it leads to first. */
const requests = { stop: "Stopping", terminate: "Terminating", resume: "Resuming" } as const;
export type Request = keyof typeof requests;

/** From a status to the statuses that may follow. The whole state machine: everything else is derived from it. */
export const transitions: Readonly<Record<Status, readonly Status[]>> = {
  Created: ["Running", "Terminating", "Failed"],
  Running: ["Stopping", "Terminating", "Failed"],
  Resuming: ["Running", "Terminating", "Failed"],
  Stopping: ["Stopped", "Terminating", "Failed"],
  Stopped: ["Resuming", "Terminating", "Failed"],
  Terminating: ["Terminated", "Failed"],
  Terminated: ["Resuming", "Failed"],
  Failed: ["Resuming", "Terminating"],
};

const transitional: readonly Status[] = ["Resuming", "Stopping", "Terminating"];
const editable: readonly Status[] = ["Stopped", "Terminated", "Failed"];

/** Statuses in which a pipeline may be edited or deleted. */
export function isAtRest(status: Status): boolean {
  return editable.includes(status);
}

/** Statuses from which a restarted process carries a pipeline on to `Running`. */
export function shouldRun(status: Status): boolean {
  return status === "Created" || status === "Running" || status === "Resuming";
}

/**
 * The status that `request` leads to from `current`.
 * Throws PIPELINE_ALREADY_IN_STATE, PIPELINE_IN_TRANSITION or INVALID_STATUS_TRANSITION, in this order of checks.
 */
export function requested(pipeline_id: string, current: Status, request: Request): Status {
  const wanted = requests[request];
  const valid = transitions[current];
  const details = {
    pipeline_id,
    current_status: current,
    requested_status: wanted,
    valid_transitions: valid,
  };
  if (current === wanted) {
    throw new EngineError("PIPELINE_ALREADY_IN_STATE", `pipeline ${pipeline_id} is already ${current}`, { details });
  }
  if (transitional.includes(current) && request !== "terminate") {
    throw new EngineError(
      "PIPELINE_IN_TRANSITION",
      `pipeline ${pipeline_id} is ${current}: wait until that has ended, then ${request} it`,
      { details },
    );
  }
  if (!valid.includes(wanted)) {
    throw new EngineError(
      "INVALID_STATUS_TRANSITION",
      `pipeline ${pipeline_id} is ${current}: it cannot go to ${wanted}, only to ${valid.join(", ")}`,
      { details },
    );
  }
  return wanted;
}
