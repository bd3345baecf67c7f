import type { Status } from "../../engine/index.ts";

/** A lifecycle call of the engine, as a plan announces it and the apply makes it. */
export type Call = "create" | "stop" | "terminate" | "resume" | "update" | "configure" | "rename" | "tag" | "delete";

export type WishedState = "Running" | "Stopped" | "Terminated";

/** Calls to make in order, or that nothing can be done before the engine has ended what it is doing. */
export type Route = Call[] | "wait";

/**
 * The way from `status` to `wished` for a pipeline that exists, through an edit if there is one. `hot` are calls that
 * work in every status. A pipeline that must be edited at rest carries the hot changes along in the edit.
 */
export function route(status: Status, wished: WishedState, edit: boolean, hot: Call[]): Route {
  const update: Call[] = edit ? ["update"] : hot;
  if (wished === "Running") return toRunning(status, edit, update);
  if (wished === "Stopped") return toStopped(status, update);
  if (status === "Terminating") return "wait";
  return status === "Terminated" ? update : ["terminate", ...update];
}

function toRunning(status: Status, edit: boolean, update: Call[]): Route {
  switch (status) {
    case "Running":
      return edit ? ["stop", "update", "resume"] : update;
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
function toStopped(status: Status, update: Call[]): Route {
  switch (status) {
    case "Running":
      return ["stop", ...update];
    case "Stopped":
    case "Failed":
      return update;
    case "Terminated":
      return [...update, "resume", "stop"];
    default:
      return "wait";
  }
}

/** The way to the end. What a stopped pipeline has accepted and not yet written is written first. */
export function routeToDeletion(status: Status, held: number): Route | "undrainable" {
  switch (status) {
    case "Running":
      return ["stop", "delete"];
    case "Stopped":
      return held > 0 ? ["resume", "stop", "delete"] : ["delete"];
    case "Terminated":
      return ["delete"];
    case "Failed":
      return held > 0 ? "undrainable" : ["delete"];
    default:
      return "wait";
  }
}
