import type { Path } from "../../../schemas/index.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import type { Place } from "../../language/problem.ts";
import type { Action, Change, NoOp, Refusal } from "../change.ts";
import type { Reason } from "../reason.ts";
import { fieldsOf } from "./differences.ts";
import type { Difference } from "./differences.ts";

/** No field changes, no call is made, and nothing is waited for. */
export function nothing(): { effect: "none"; events: "same"; fields: []; calls: []; after: [] } {
  return { effect: "none", events: "same", fields: [], calls: [], after: [] };
}

/** What a change says that is not carried out: what it would do, and no call. */
export function undone({
  effect,
  events,
  fields,
  cautions,
  missing_secret,
}: Action): Pick<Action, "effect" | "events" | "fields" | "cautions" | "missing_secret"> & { calls: []; after: [] } {
  return {
    effect,
    events,
    fields,
    calls: [],
    after: [],
    ...(cautions !== undefined && { cautions }),
    ...(missing_secret !== undefined && { missing_secret }),
  };
}

/** The part that all changes of a pipeline with a file have in common. */
export function about(desired: DesiredPipeline): ReturnType<typeof nothing> & Place & Pick<Change, "pipeline_id"> {
  const { file, line, column } = desired.place([]);
  return { pipeline_id: desired.pipeline_id, file, line, column, ...nothing() };
}

/** Nothing is done. */
export function noOp(desired: DesiredPipeline, cause: NoOp["cause"], why: Reason): NoOp {
  return { ...about(desired), kind: "no-op", cause, why };
}

/** A change that waits for a person; its place is the field that is refused. */
export function refusal(
  desired: DesiredPipeline,
  cause: Refusal["cause"],
  why: Reason,
  found: Difference[] = [],
  at: Path = found[0]?.at ?? [],
): Refusal {
  const place = desired.place(at);
  return { ...about(desired), ...place, ...fieldsOf(found), kind: "refuse", cause, why };
}

/**
 * A change that replaces one under way, which still waits for a stop: it is planned for a Stopped pipeline and begins
 * when the stop has ended. Undefined where it makes no call: the change under way is then completed, because a pipeline
 * must not stay stopped for an edit that is never made.
 */
export function inPlace(next: Change): Action | undefined {
  if (next.kind !== "no-op" && next.kind !== "refuse")
    return { ...next, replaces: true, why: { code: "Replaces", facts: { of: next.why } } };
  if (next.kind === "refuse" || next.cause !== "InSync") return undefined;
  const why: Reason = { code: "Replaces", facts: { of: { code: "StopsAfterAll", facts: {} } } };
  return { ...next, kind: "stop", cause: "StateWished", replaces: true, why };
}
