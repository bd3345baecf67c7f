import { type Change, doesSomething, type FieldChange } from "./change.ts";

/**
 * How grave a change is, from the least: nothing is done; something is; a pipeline that runs is stopped for it, or left
 * stopped; other events become rows, or other rows come of them; something is lost that no rollback restores; a pipeline
 * is deleted, recreated or terminated; the change is refused. What becomes of events counts before what is stopped.
 */
export const levels = ["none", "change", "restart", "rows", "forget", "delete", "refuse"] as const;
export type Level = (typeof levels)[number];

export function levelOf(change: Change): Level {
  if (change.kind === "refuse" || change.cause === "InvalidFile") return "refuse";
  if (!doesSomething(change)) return "none";
  const { kind, calls, events } = change;
  if (kind === "delete" || kind === "recreate" || calls.includes("terminate")) return "delete";
  if (events === "forget" || (change.irreversible ?? []).length > 0) return "forget";
  if (events === "rows") return "rows";
  return kind !== "create" && calls.includes("stop") ? "restart" : "change";
}

/** How grave the change of a field is by itself, where its pipeline runs. */
export function levelOfField({ effect, events }: Pick<FieldChange, "effect" | "events">): Level {
  if (effect === "refuse") return "refuse";
  if (events !== "same") return events;
  return effect === "hot" ? "change" : effect;
}

/** The gravest level of a preview; an error of a file is a refusal. */
export function gravest(changes: readonly { level: Level }[], errors: readonly unknown[]): Level {
  const found = changes.map(({ level }) => level);
  return highest(errors.length > 0 ? [...found, "refuse"] : found);
}

function highest(found: readonly Level[]): Level {
  return levels[Math.max(0, ...found.map((level) => levels.indexOf(level)))] ?? "none";
}

/** Whether a level is `limit` or graver; nothing is as grave as `none`, which is no limit. */
export function isAsGrave(level: Level, limit: Level): boolean {
  return limit !== "none" && levels.indexOf(level) >= levels.indexOf(limit);
}
