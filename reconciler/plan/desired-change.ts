import { highest, normalise } from "../../schemas/index.ts";
import type { Effect } from "../../schemas/index.ts";
import type { ActualPipeline, ActualState, Underway } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { wishOf } from "../desired/wish.ts";
import { route } from "./calls.ts";
import type { Call } from "./calls.ts";
import type { Cause, Change, ChangeKind } from "./change.ts";
import { differences } from "./differences.ts";
import type { Difference } from "./differences.ts";
import { inPlace } from "./takeover.ts";

/** What is to be done for a pipeline that a valid file describes. */
export function desiredChange(desired: DesiredPipeline, actual: ActualState): Change {
  const { pipeline_id } = desired;
  const present = actual.pipelines.get(pipeline_id);
  if (desired.directives.suspend) return idle(desired, "Suspended", "x-sluice.suspend is true: it is left as it is");
  const isOurs = Object.hasOwn(actual.owned, pipeline_id);
  const underway = actual.busy.get(pipeline_id);
  if (underway !== undefined) return meanwhile(desired, present, isOurs, underway);
  return present === undefined ? creation(desired) : changeOf(desired, present, isOurs);
}

/** A change under way is carried to its end, unless it still waits for a stop and the file asks for something else since. */
function meanwhile(
  desired: DesiredPipeline,
  present: ActualPipeline | undefined,
  isOurs: boolean,
  { wish, isStopping }: Underway,
): Change {
  const inProgress = idle(desired, "InProgress", "an earlier change is still being carried out");
  if (present === undefined || !isStopping || wish === wishOf(desired)) return inProgress;
  const stopped: ActualPipeline = { ...present, status: "Stopped", ...(wish === undefined && { intake: "closed" }) };
  return inPlace(changeOf(desired, stopped, isOurs)) ?? inProgress;
}

function changeOf(desired: DesiredPipeline, present: ActualPipeline, isOurs: boolean): Change {
  const found = differences(present, { config: normalise(desired.document, present.config), options: desired.options });
  const refused = found.find(({ effect }) => effect === "refuse");
  if (!isOurs && found.length > 0) return notAdopted(desired, found);
  if (refused !== undefined) return immutable(desired, found, refused);
  return edition(desired, present, found);
}

function creation(desired: DesiredPipeline): Change {
  const { state } = desired.directives;
  const then: Call[] = state === "Running" ? [] : [state === "Stopped" ? "stop" : "terminate"];
  const reason = state === "Running" ? "it is new" : `it is new, and x-sluice.state is ${state}`;
  return { ...idle(desired, "New", reason), kind: "create", calls: ["create", ...then] };
}

/** The edit and the state wished for are reached in one way. */
function edition(desired: DesiredPipeline, present: ActualPipeline, found: Difference[]): Change {
  const edit = found.some(({ effect }) => effect !== "hot");
  const standing = { status: present.status, isShut: present.intake === "closed" };
  const way = route(standing, desired.directives.state, edit, hotCalls(found));
  const what = { fields: fieldsOf(found), effect: highestOf(found) };
  if (way === "wait") {
    const reason = `it is ${present.status}: this is carried out when that has ended`;
    return { ...idle(desired, "InTransition", reason), ...what };
  }
  if (way.length > 0) {
    const cause: Cause = found.length > 0 ? "Changed" : "StateWished";
    const kind = kindOf(way, found);
    return { ...idle(desired, cause, reasonOf(found, present, desired)), ...what, kind, calls: way };
  }
  return idle(desired, "InSync", `it is as its file says, ${present.status}`);
}

function hotCalls(found: Difference[]): Call[] {
  const calls = found.flatMap(({ at, effect }): Call[] => {
    if (effect !== "hot") return [];
    if (at[0] === "name") return ["rename"];
    return [at[0] === "metadata" ? "tag" : "configure"];
  });
  return [...new Set(calls)];
}

function kindOf(calls: Call[], found: Difference[]): ChangeKind {
  if (found.length > 0) return calls.length === 1 && calls[0] === "rename" ? "rename" : "update";
  const last = calls.at(-1);
  return last === "stop" || last === "terminate" ? last : "resume";
}

function reasonOf(found: Difference[], present: ActualPipeline, { directives }: DesiredPipeline): string {
  const shut = present.intake === "closed" ? " and takes no events, as its file was gone" : "";
  const state = `it is ${present.status}${shut}, x-sluice.state is ${directives.state}`;
  if (found.length === 0) return present.failure === undefined ? state : `${state}; ${present.failure}`;
  return present.status === directives.state ? summary(found) : `${summary(found)}; ${state}`;
}

function summary([first, ...others]: Difference[]): string {
  return `${first?.path}${others.length === 0 ? "" : ` and ${others.length} more`} changed`;
}

function immutable(desired: DesiredPipeline, found: Difference[], refused: Difference): Change {
  const values = `${JSON.stringify(refused.from)} to ${JSON.stringify(refused.to)}`;
  const reason =
    `${refused.path} cannot change after creation, and was changed from ${values}: the pipeline runs on unchanged. ` +
    `Ways out: put the old value back; or give the new config to a new pipeline with another pipeline_id`;
  return refusal(desired, "ImmutableField", reason, found, refused);
}

function notAdopted(desired: DesiredPipeline, found: Difference[]): Change {
  const reason =
    `a pipeline with this pipeline_id is there already and was not made from this source; ${summary(found)}: it runs on ` +
    `unchanged. Ways out: make the file say what runs, and change it in a later commit; or choose another pipeline_id`;
  return refusal(desired, "NotAdopted", reason, found, found[0]);
}

function refusal(desired: DesiredPipeline, cause: Cause, reason: string, found: Difference[], at?: Difference): Change {
  const change = { kind: "refuse", ...desired.place(at?.at ?? []), fields: fieldsOf(found) } as const;
  return { ...idle(desired, cause, reason), ...change, effect: highestOf(found) };
}

/** A change that makes no call. */
export function idle(desired: DesiredPipeline, cause: Cause, reason: string): Change {
  const { file, line, column } = desired.place([]);
  const change = { pipeline_id: desired.pipeline_id, kind: "no-op", cause, effect: "none", reason } as const;
  return { ...change, file, line, column, fields: [], calls: [], after: [] };
}

function fieldsOf(found: Difference[]): Change["fields"] {
  return found.map(({ at: _at, ...field }) => field);
}

function highestOf(found: Difference[]): Effect {
  return highest(found.map(({ effect }) => effect));
}
