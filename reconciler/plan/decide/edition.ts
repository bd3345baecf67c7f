import { isPushed } from "../../../engine/language.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { route } from "../calls.ts";
import type { Call } from "../calls.ts";
import type { Change, Edit, StateChange } from "../change.ts";
import type { Reason, StateDifference, Unwritten } from "../reason.ts";
import { about, noOp } from "./changes.ts";
import { fieldsOf } from "./differences.ts";
import type { Difference } from "./differences.ts";
import { unwrittenOf } from "./ending.ts";
import { namesOf, rereading, topicsOf } from "./kafka.ts";
import { callsOf, moveReason } from "./moved.ts";

/** The change of mutable fields and of the status: one list of calls for both. */
export function edition(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): Change {
  const edit = found.some(({ effect }) => effect !== "hot");
  const { status } = present;
  const standing = { status, isShut: present.intake === "closed" };
  const way = callsOf(route(standing, desired.directives.state, edit, hotCalls(found)), present);
  if (way === "wait")
    return { ...noOp(desired, "InTransition", { code: "InTransition", facts: { status } }), ...fieldsOf(found) };
  if (way.length === 0) return noOp(desired, "InSync", { code: "InSync", facts: { status } });
  return found.length > 0 ? edited(desired, present, found, way) : moved(desired, present, way);
}

function edited(desired: DesiredPipeline, present: ActualPipeline, found: Difference[], calls: Call[]): Edit {
  const facts = {
    paths: found.map(({ path }) => path),
    reading: rereading(present, desired),
    ...(present.status !== desired.directives.state && { state: stateDifference(desired, present) }),
    writes: drained(present, calls),
    ...addedColumns(desired, present),
    isDrifted: false,
  };
  const { moved_from } = present;
  const paths = facts.paths.filter((path) => moved_from === undefined || path !== "pipeline_id");
  const why = { code: "Edited", facts: { ...facts, paths } } as const;
  return {
    ...about(desired),
    ...fieldsOf(found),
    kind: editKind(calls),
    cause: "Changed",
    why: moved_from === undefined ? why : moveReason(desired, present, why),
    calls,
  };
}

function addedColumns({ config, options }: DesiredPipeline, present: ActualPipeline): { adds?: string[] } {
  if (options.alter_table !== true) return {};
  const before = new Set(present.config.sink.mapping.map(({ column_name }) => column_name));
  const adds = config.sink.mapping.map(({ column_name }) => column_name).filter((name) => !before.has(name));
  return adds.length === 0 ? {} : { adds };
}

/** The events that an edit drains. A stop does not wait for a pause: events held then stay after the edit. */
function drained(present: ActualPipeline, calls: Call[]): Unwritten {
  const isDrained = calls.includes("stop") && calls.includes("resume") && present.paused === undefined;
  return isDrained ? unwrittenOf(present) : { held: 0, pending_batches: 0 };
}

function moved(desired: DesiredPipeline, present: ActualPipeline, calls: Call[]): StateChange {
  const { failure } = present;
  const facts = { ...stateDifference(desired, present), ...(failure !== undefined && { failure }) };
  const why: Reason = { code: "StateDiffers", facts };
  return {
    ...about(desired),
    kind: stateKind(calls),
    cause: "StateWished",
    why,
    calls,
  };
}

export function editKind(calls: readonly Call[]): Edit["kind"] {
  return calls.length === 1 && calls[0] === "rename" ? "rename" : "update";
}

export function stateKind(calls: readonly Call[]): StateChange["kind"] {
  const last = calls.at(-1);
  return last === "stop" || last === "terminate" ? last : "resume";
}

/** The calls that differences of class `hot` need. */
export function hotCalls(found: Difference[]): Call[] {
  const calls = found.flatMap(({ at, effect }): Call[] => {
    if (effect !== "hot") return [];
    if (at[0] === "name") return ["rename"];
    return [at[0] === "metadata" ? "tag" : "configure"];
  });
  return [...new Set(calls)];
}

function stateDifference({ directives }: DesiredPipeline, present: ActualPipeline): StateDifference {
  const { status, intake, config } = present;
  const leaves = leftBy(directives.state, present);
  return {
    status,
    wish: directives.state,
    ...(intake !== undefined && { ending: isPushed(config) ? "refuses" : "reads" }),
    ...(leaves !== undefined && { leaves }),
  };
}

/** What leaving the status Running does to events that are not written yet. */
function leftBy(wish: StateDifference["wish"], present: ActualPipeline): StateDifference["leaves"] {
  const { status, config, held, lag = 0 } = present;
  if (status !== "Running" || wish === "Running") return undefined;
  if (!isPushed(config)) return lag === 0 ? undefined : { way: "unread", topics: namesOf(topicsOf(config)), lag };
  const { max_age } = config.resources.nats.stream;
  if (wish === "Stopped") return { way: "written", writes: unwrittenOf(present), max_age };
  return held === 0 ? undefined : { way: "dropped", held };
}
