import type { Change, Plan } from "./change.ts";
import type { Reason } from "./reason.ts";

/**
 * What a plan reports, as data: a plan is logged again if and only if this is no longer deeply equal. Pipelines that
 * match their files are only counted.
 */
export function newsOfPlan({ changes }: Plan): unknown {
  const open = changes.filter(({ cause }) => cause !== "InSync");
  return [changes.length - open.length, open.map(newsOfChange)];
}

/** Without what is not printed, and without the figures of losses, which grow without a change. */
function newsOfChange(change: Change): unknown {
  const { pipeline_id, kind, cause, why, effect, events, calls, after, fields, cautions } = change;
  const isPlaced = kind === "refuse" || cause === "InvalidFile";
  const place = isPlaced ? [change.file, change.line, change.column] : [];
  return [pipeline_id, kind, kind === "update" ? [effect, events] : [], why, calls, after, fields, cautions, place];
}

/** What keeps a pipeline from matching its file; undefined where there is nothing that a person should know. */
export function newsOfBlockage({ kind, cause, why, fields }: Change): unknown {
  if (kind !== "refuse" && cause !== "PruneHeld" && cause !== "InvalidFile") return undefined;
  // What it holds moves meanwhile, which makes no new refusal.
  if (cause === "EventsHeld" || cause === "GroupBehind") return [cause];
  const { of, ...facts } = why.facts as { of?: Reason | number };
  // So do the figures of what would be done, such as the events that it would write first.
  return typeof of === "object" ? [cause, facts, of.code, fields] : [cause, why];
}
