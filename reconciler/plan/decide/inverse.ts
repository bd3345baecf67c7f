import type { Status } from "../../../engine/index.ts";
import { normalise } from "../../../schemas/index.ts";
import type { ActualPipeline, ActualState } from "../../actual/state.ts";
import type { WishedState } from "../../desired/desired-state.ts";
import { route, routeToEnd } from "../calls.ts";
import type { Call, Route } from "../calls.ts";
import { doesSomething } from "../change.ts";
import type { Action, Plan, StateChange, WantedState } from "../change.ts";
import type { Loss } from "../loss.ts";
import type { Reason } from "../reason.ts";
import { nothing } from "./changes.ts";
import { fromCreated } from "./creation.ts";
import { differences, fieldsOf } from "./differences.ts";
import type { Difference, Kept } from "./differences.ts";
import { editKind, hotCalls, stateKind } from "./edition.ts";
import { passedBy } from "./losses.ts";

/** A plan that undoes another one. */
export interface Inverse {
  plan: Plan;
  /** The wanted pipelines of its calls, by pipeline_id. May hold secrets in plain text. */
  restores: ReadonlyMap<string, Restored>;
}

export interface Restored extends Kept {
  pipeline_id: string;
}

/**
 * Undoes the plan that was made for `before` and `wanted`: carried out after it, in its order, it restores the config,
 * the options and the status of each pipeline. Its reasons say what it does not restore (`irreversible` of the plan): a
 * pipeline that had failed is Stopped, and what was lost stays lost. Pipelines that the plan did not change are not in
 * it.
 */
export function invert({ changes }: Plan, before: ActualState, wanted: WantedState): Inverse {
  const inverses = new Map<string, Action>();
  const restores = new Map<string, Restored>();
  for (const change of changes.filter(doesSomething).toReversed()) {
    const { pipeline_id } = change;
    const present = before.pipelines.get(pipeline_id);
    const inverse = inverseOf(change, present, wanted);
    if (inverse !== undefined) inverses.set(pipeline_id, inverse);
    if (present !== undefined) restores.set(pipeline_id, restoredBy(present));
  }
  for (const { pipeline_id, after } of changes)
    if (inverses.has(pipeline_id)) for (const first of after) inverses.get(first)?.after.push(pipeline_id);
  return { plan: { changes: [...inverses.values()] }, restores };
}

function restoredBy({ pipeline_id, config, options }: ActualPipeline): Restored {
  return { pipeline_id, config, options };
}

/** Undefined where the change left nothing to undo. */
function inverseOf(change: Action, present: ActualPipeline | undefined, wanted: WantedState): Action | undefined {
  const now = statusAfter(change.calls, present?.status);
  if (present === undefined) return { ...undone(change, toEnd(now, "prune")), kind: "delete" };
  const state = stateOf(present);
  const lost = passedBy(change, present);
  if (change.kind === "delete") return { ...undone(change, ["create", ...fromCreated(state)], lost), kind: "create" };
  const found = differencesBack(change, present, wanted);
  if (change.kind === "recreate") {
    const calls = [...toEnd(now, "recreate"), "create" as const, ...fromCreated(state)];
    return { ...undone(change, calls, lost, found), kind: "recreate", loses: { dead_letters: 0 } };
  }
  const edit = found.some(({ effect }) => effect !== "hot");
  const calls = callsOf(route({ status: now, isShut: false }, state, edit, hotCalls(found)));
  if (calls.length === 0) return undefined;
  return { ...undone(change, calls, lost, found), kind: found.length > 0 ? editKind(calls) : stateKind(calls) };
}

function undone(
  { pipeline_id, kind, irreversible = [] }: Action,
  calls: Call[],
  lost: Loss[] = [],
  found: Difference[] = [],
): Omit<StateChange, "kind"> {
  const why: Reason = { code: "Undoes", facts: { kind, lost: [...irreversible, ...lost] } };
  return { pipeline_id, ...nothing(), ...fieldsOf(found), cause: "Inverted", why, calls };
}

/** The fields that the change made, with old and new values exchanged. */
function differencesBack({ pipeline_id, kind }: Action, present: ActualPipeline, wanted: WantedState): Difference[] {
  const desired = wanted.pipelines.find((one) => one.pipeline_id === pipeline_id);
  if (desired === undefined || (kind !== "update" && kind !== "rename" && kind !== "recreate")) return [];
  const { document, options } = desired;
  const config = kind === "recreate" ? desired.config : normalise(document, present.config);
  return differences({ config, options }, present);
}

/** The status after these calls, from that of a pipeline that was there; a stop under way has ended by then. */
function statusAfter(calls: readonly Call[], before: Status = "Created"): Status {
  return calls.reduce<Status>((status, call) => ends[call] ?? status, before === "Stopping" ? "Stopped" : before);
}

const ends: Readonly<Partial<Record<Call, Status>>> = {
  create: "Running",
  resume: "Running",
  stop: "Stopped",
  terminate: "Terminated",
};

/** The wishable state nearest to a status: a failed pipeline processes nothing and buffers, as a Stopped one does. */
function stateOf({ status }: ActualPipeline): WishedState {
  if (status === "Terminated" || status === "Terminating") return "Terminated";
  return status === "Stopped" || status === "Stopping" || status === "Failed" ? "Stopped" : "Running";
}

/** Assumes that all events are written; events that arrived since block the deletion. */
function toEnd(status: Status, ending: "prune" | "recreate"): Call[] {
  return callsOf(routeToEnd({ status, isShut: false }, true, ending));
}

/** A change never ends in a transition, so there is no wait. */
function callsOf(way: Route): Call[] {
  return way === "wait" ? [] : way;
}
