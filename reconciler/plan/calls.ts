import type { Status } from "../../engine/index.ts";
import type { WishedState } from "../desired/desired-state.ts";

/** The lifecycle calls of the engine, in the words of plans. */
export const lifecycleCalls = [
  "create",
  "stop",
  "terminate",
  "resume",
  "update",
  "move",
  "configure",
  "rename",
  "tag",
  "delete",
] as const;

export type Call = (typeof lifecycleCalls)[number];

/** Calls after which a pipeline runs with newly resolved secrets, or does not run. */
export const renewing: ReadonlySet<Call> = new Set<Call>([
  "configure",
  "resume",
  "create",
  "stop",
  "terminate",
  "delete",
]);

/** Calls to make in order, or `wait` while the engine is in a transition. */
export type Route = Call[] | "wait";

/** The status of a pipeline. `isShut`: it refuses new events, because its deletion began, until it is resumed. */
export interface Standing {
  status: Status;
  isShut: boolean;
}

/**
 * The calls that bring an existing pipeline to `wished`, with an edit if there is one. `hot` are calls that work in
 * every status. An edit of a stopped pipeline includes the hot changes.
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

/**
 * A failed pipeline processes nothing, so it need not be stopped. A terminated one has no stream that buffers events.
 */
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

/** Why a pipeline is deleted: its file was removed, or it is recreated for a change of an immutable field. */
export type Ending = "prune" | "recreate";

/**
 * The calls of a deletion: the pipeline refuses new events from the first call on. Before it is deleted, accepted
 * events are written and offsets are committed; not so for a terminated one whose file was removed, since its file
 * dropped them.
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

/** By which id the engine has the pipeline of a change when the call at `index` is made. */
export function idAt(
  { pipeline_id, moved_from, calls }: { pipeline_id: string; moved_from?: string | undefined; calls: readonly Call[] },
  index: number,
): string {
  const moves = calls.indexOf("move");
  return moved_from === undefined || (moves !== -1 && index > moves) ? pipeline_id : moved_from;
}

/** Whether a deletion follows: a pipeline that is stopped or resumed before its deletion takes no events. */
export function endsLater(calls: readonly Call[], index: number): boolean {
  return calls.includes("delete", index);
}
