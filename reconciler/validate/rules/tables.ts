import { problem, type Problem } from "../problem.ts";
import type { Claims } from "./claims.ts";

/** Claims by the table that the documents write to, as far as they say it. */
export function claimsByTable(all: readonly Claims[]): Map<string | undefined, Claims[]> {
  const byTable = new Map<string | undefined, Claims[]>();
  for (const claims of all) {
    const { key } = claims.table;
    const same = byTable.get(key);
    if (same === undefined) byTable.set(key, [claims]);
    else same.push(claims);
  }
  return byTable;
}

/** One table for two pipelines is sometimes meant, and often a copied file. Said of each. */
export function sharedTable(claims: Claims, byTable: ReadonlyMap<string | undefined, Claims[]>): Problem[] {
  const { key, path, place } = claims.table;
  const same = key === undefined ? [] : (byTable.get(key) ?? []);
  // A copy with the same pipeline_id is refused as such.
  const other = same.find((one) => one !== claims && one.written !== claims.written);
  if (other === undefined) return [];
  const { file, line } = other.table.place;
  const more = same.length > 2 ? `, and ${same.length - 2} more` : "";
  const expected = "a table that no other pipeline writes to";
  return [problem("SHARED_TABLE", place, { path, expected, found: `the one of ${file}:${line}${more}` })];
}
