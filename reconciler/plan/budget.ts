import type { DeletionBudget } from "../actual/state.ts";

/** How many pipelines one revision may delete: the greater of a number and of a share of all that are owned. */
export interface DeletionLimit {
  count: number;
  /** Percent, 0 to 100. */
  share: number;
}

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

/**
 * Why no further deletion may begin, where `waiting` pipelines wait for theirs; undefined where they may. All or none: a
 * revision that removes more than it may is most likely a mistake, of which nobody can tell which part was meant.
 */
export function overBudget(waiting: number, budget: DeletionBudget | undefined): string | undefined {
  if (budget === undefined) return undefined;
  const { limit, begun, of } = budget;
  const most = allowed(limit, of);
  if (waiting === 0 || begun + waiting <= most) return undefined;
  const count = begun === 0 ? `${waiting}` : `${begun + waiting} (${begun} of them begun already)`;
  return (
    `this revision removes the files of ${count} of ${of} pipelines, and --max-deletions (${limitText(limit)}) allows ` +
    `${most}: no further deletion is begun. Ways out: put files back, and remove at most ${most} in one commit; or run ` +
    `with a greater --max-deletions; or set x-sluice.state: Terminated first, which drops what a pipeline holds, and ` +
    `remove its file in a later commit`
  );
}
