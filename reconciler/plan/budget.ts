import type { DeletionLimit } from "../actual/state.ts";
import type { SourceDescription } from "../git/revision.ts";

/** Reads `5`, `20%` or `5 or 20%`, for what is followed. Throws RangeError for anything else. */
export function parseDeletionLimit(text: string, kind: SourceDescription["kind"] = "git"): DeletionLimit {
  const found = /^(?:(\d+)|(?:(\d+) or )?(\d{1,2}|100)%)$/.exec(text);
  if (found === null)
    throw new RangeError(`max_deletions: expected such as "5", "20%" or "5 or 20%", found ${JSON.stringify(text)}`);
  const [, alone, first, share] = found;
  const limit = { count: Number(alone ?? first ?? 0), share: Number(share ?? 0) };
  return kind === "dir" && limit.count > 0 && limit.share > 0 ? { ...limit, both: "lesser" } : limit;
}

/** Such as `5 or 20%`. */
export function limitText({ count, share, both }: DeletionLimit): string {
  if (share === 0) return String(count);
  if (count === 0) return `${share}%`;
  return both === "lesser" ? `the lesser of ${count} or ${share}%` : `${count} or ${share}%`;
}

/** How many that is of so many pipelines. */
export function allowed({ count, share, both }: DeletionLimit, of: number): number {
  const part = Math.floor((of * share) / 100);
  return both === "lesser" ? Math.max(1, Math.min(count, part)) : Math.max(count, part);
}
