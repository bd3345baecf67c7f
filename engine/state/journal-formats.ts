import type { BatchRecord, Progress } from "../core/journal.ts";
import { streamFeed } from "../core/positions.ts";
import type { StoredRecord } from "./journal.ts";
import type { Table, TableStore } from "../core/store.ts";

/** Progress and records as format 2 of the data dir kept them: positions of the stream alone. */
type FormerProgress = Omit<Progress, "positions"> & { position: number };
type FormerRecord = Omit<StoredRecord, "ranges"> & { range: { first: number; last: number; count: number } };

/** Brings what earlier formats kept to the present one. Does nothing where that is done. */
export function upgradeJournal(
  store: TableStore,
  records: Table<StoredRecord, [string, number]>,
  progress: Table<Progress, string>,
): void {
  upgradePositions(store, progress);
  const stands = new Map<string, number>();
  for (const { key, value } of Array.from(progress.getRange())) {
    if ("positions" in value) continue;
    const { position, ...rest } = value as FormerProgress;
    stands.set(key, position);
    progress.putSync(key, { ...rest, positions: { [streamFeed]: position } });
  }
  for (const { key, value } of Array.from(records.getRange())) {
    if (!("ranges" in value)) records.putSync(key, withRanges(value, stands.get(key[0]) ?? 0));
  }
}

/** The first format kept the positions alone. */
function upgradePositions(store: TableStore, progress: Table<Progress, string>): void {
  const positions = store.table<number, string>("positions");
  for (const { key, value } of Array.from(positions.getRange())) {
    const former: Progress = { positions: { [streamFeed]: value }, batch: 0, clock: 0 };
    if (!progress.doesExist(key)) progress.putSync(key, former);
    positions.removeSync(key);
  }
}

function withRanges({ range, ...record }: FormerRecord, position: number): StoredRecord {
  if (record.letters !== undefined) return { ...record, ranges: [] };
  const ranges: BatchRecord["ranges"] = [{ feed: streamFeed, base: 0, ...range }];
  // What was final by then had been judged again.
  return range.last <= position ? { ...record, ranges, isAside: true } : { ...record, ranges };
}
