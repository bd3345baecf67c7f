import type { DeletionLimit } from "../actual/state.ts";

/** Reads `5`, `20%` or `5 or 20%`. Throws RangeError for anything else. */
export function parseDeletionLimit(text: string): DeletionLimit {
  const found = /^(?:(\d+)|(?:(\d+) or )?(\d{1,2}|100)%)$/.exec(text);
  if (found === null)
    throw new RangeError(`max_deletions: expected such as "5", "20%" or "5 or 20%", found ${JSON.stringify(text)}`);
  const [, alone, first, share] = found;
  return { count: Number(alone ?? first ?? 0), share: Number(share ?? 0) };
}

/** Such as `5 or 20%`. */
export function limitText({ count, share }: DeletionLimit): string {
  if (share === 0) return String(count);
  return count === 0 ? `${share}%` : `${count} or ${share}%`;
}

/** How many that is of so many pipelines. */
export function allowed({ count, share }: DeletionLimit, of: number): number {
  return Math.max(count, Math.floor((of * share) / 100));
}
