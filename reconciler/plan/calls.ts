import type { Status } from "../../engine/index.ts";
import type { WishedState } from "../desired/desired-state.ts";

/** The lifecycle calls of the engine, as a plan announces them and the apply makes them. */
export const lifecycleCalls = [
  "create",
  "stop",
  "terminate",
  "resume",
  "update",
  "configure",
  "rename",
  "tag",
  "delete",
] as const;

export type Call = (typeof lifecycleCalls)[number];

/** Calls after which a pipeline does not run with the values of secrets that it ran with. */
export const renewing: ReadonlySet<Call> = new Set<Call>([
  "configure",
  "resume",
  "create",
  "stop",
  "terminate",
  "delete",
]);

/** Calls to make in order, or that nothing can be done before the engine has ended what it is doing. */
export type Route = Call[] | "wait";

/** Where a pipeline stands. `isShut`: it refuses new events since its deletion began, and takes them again when resumed. */
export interface Standing {
  status: Status;
  isShut: boolean;
}

/**
 * The way to `wished` for a pipeline that exists, through an edit if there is one. `hot` are calls that work in every
 * status. A pipeline that must be edited at rest carries the hot changes along in the edit.
 */
export function route({ status, isShut }: Standing, wished: WishedState, edit: boolean, hot: Call[]): Route {
  const update: Call[] = edit ? ["update"] : hot;
  if (wished === "Running") return toRunning(status, edit || isShut, update);
  if (wished === "Stopped") return toStopped(status, isShut, update);
  if (status === "Terminating") return "wait";
  return status === "Terminated" ? update : ["terminate", ...update];
}

function toRunning(status: Status, throughRest: boolean, update: Call[]): Route {
  switch (status) {
    case "Running":
      return throughRest ? ["stop", ...update, "resume"] : update;
    case "Stopped":
    case "Terminated":
    case "Failed":
      return [...update, "resume"];
    case "Created":
    case "Resuming":
      return update.length === 0 ? [] : "wait";
    default:
      return "wait";
  }
}

/** A failed pipeline processes nothing, so it may stay what it is. A terminated one has no stream that could buffer. */
function toStopped(status: Status, isShut: boolean, update: Call[]): Route {
  const open: Call[] = isShut ? ["resume", "stop"] : [];
  switch (status) {
    case "Running":
      return ["stop", ...update, ...open];
    case "Stopped":
    case "Failed":
      return [...update, ...open];
    case "Terminated":
      return [...update, "resume", "stop"];
    default:
      return "wait";
  }
}

/** Why a pipeline ends: its file is gone, or it is made anew, because a change of it is one that no pipeline can take. */
export type Ending = "prune" | "recreate";

/**
 * The way to the end: it refuses new events from the first call on, and what it has accepted is written, and told where
 * it was read from, before it is deleted. A terminated one whose file is gone has been told to let go of all that.
 */
export function routeToEnd({ status, isShut }: Standing, isSettled: boolean, ending: Ending): Route {
  switch (status) {
    case "Running":
      return ["stop", "delete"];
    case "Stopped":
      if (!isSettled) return ["resume", "stop", "delete"];
      return isShut ? ["delete"] : ["stop", "delete"];
    case "Failed":
      return isShut ? ["delete"] : ["stop", "delete"];
    case "Terminated":
      return ending === "recreate" && !isSettled ? ["resume", "stop", "delete"] : ["delete"];
    default:
      return "wait";
  }
}

/** Whether a deletion follows: a pipeline that is stopped, or resumed, on its way there takes no event any more. */
export function endsLater(calls: readonly Call[], index: number): boolean {
  return calls.includes("delete", index);
}
