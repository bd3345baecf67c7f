import type { Change, Plan } from "./change.ts";

/**
 * What a plan says to a person, as data: two plans are the same news if and only if these are deeply equal. What is as its
 * file says only counts.
 */
export function newsOfPlan({ changes }: Plan): unknown {
  const open = changes.filter(({ cause }) => cause !== "InSync");
  return [changes.length - open.length, open.map(newsOfChange)];
}

/** What is not printed is left out, and so are figures of losses, which grow by themselves. */
function newsOfChange(change: Change): unknown {
  const { pipeline_id, kind, cause, why, effect, calls, after, fields, cautions } = change;
  const isPlaced = kind === "refuse" || cause === "InvalidFile";
  const place = isPlaced ? [change.file, change.line, change.column] : [];
  return [pipeline_id, kind, kind === "update" ? effect : "", why, calls, after, fields, cautions, place];
}

/** What keeps a pipeline from being as its file says; undefined where nothing does that a person should know. */
export function newsOfBlockage({ kind, cause, why }: Change): unknown {
  if (kind !== "refuse" && cause !== "PruneHeld" && cause !== "InvalidFile") return undefined;
  // What it holds grows less meanwhile, which is no other refusal.
  return cause === "EventsHeld" || cause === "GroupBehind" ? [cause] : [cause, why];
}
