/** How often something must be there at least, and may be there at most. */
export interface Span {
  least: number;
  most: number;
}

/** Ids that are there less often, or more often, than they may be, and those that were never expected. */
export interface Differences {
  lost: string[];
  doubled: string[];
  strangers: string[];
}

/** Compares how often ids are there with how often they may be. */
export function compare(expected: ReadonlyMap<string, Span>, found: ReadonlyMap<string, number>): Differences {
  const differences: Differences = { lost: [], doubled: [], strangers: [] };
  for (const [id, { least, most }] of expected) {
    const times = found.get(id) ?? 0;
    if (times < least) differences.lost.push(id);
    if (times > most) differences.doubled.push(id);
  }
  for (const id of found.keys()) if (!expected.has(id)) differences.strangers.push(id);
  return differences;
}
