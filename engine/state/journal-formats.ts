import type { BatchOrigin, BatchRecord, BatchState, KeyBlock, Progress, WaitingDrop } from "../core/journal.ts";
import { streamFeed, type PositionRange } from "../core/positions.ts";
import type { Reading } from "../core/sink.ts";
import type { Table, TableStore } from "../core/store.ts";

type Unchanged = Omit<BatchRecord, "madeOf" | "state" | "keys" | "waiting">;

/** A record as the data dir stores it, without its keys, which are in tables of their own. */
export interface StoredRecord extends Unchanged {
  /** Empty for dead letters. */
  ranges: PositionRange[];
  /** Made of released duplicates. */
  isAside?: true;
  /** Made of dead letters. */
  letters?: number[];
  waiting?: WaitingDrop[];
  /** The reading of the table that the state names. */
  target?: Reading;
  /** When it was written. */
  written_at?: number;
  /** `nothing`: prepared, or sent where `target` is there. `view`: a materialized view failed. */
  heard: "nothing" | "refused" | "view" | "written";
  /** The view that failed, and how. */
  view?: string;
  error?: string;
}

export function storedRecord({ madeOf, state, keys: _elsewhere, waiting, ...record }: BatchRecord): StoredRecord {
  return {
    ...record,
    ...storedOrigin(madeOf),
    ...(waiting.length > 0 && { waiting }),
    ...storedState(state),
  };
}

/** A record with the keys of its batch. */
export function recordOf(stored: StoredRecord, keys: KeyBlock[]): BatchRecord {
  const { ranges: _ranges, isAside: _aside, letters: _letters, target: _target, written_at: _at, ...rest } = stored;
  const { heard: _heard, view: _view, error: _error, waiting = [], ...record } = rest;
  return { ...record, madeOf: originOf(stored), keys, waiting, state: stateOf(stored) };
}

function originOf({ ranges, isAside, letters }: StoredRecord): BatchOrigin {
  if (letters !== undefined) return { kind: "letters", numbers: letters };
  return { kind: isAside === true ? "released" : "source", ranges };
}

function storedOrigin(madeOf: BatchOrigin): Pick<StoredRecord, "ranges" | "isAside" | "letters"> {
  switch (madeOf.kind) {
    case "source":
      return { ranges: madeOf.ranges };
    case "letters":
      return { ranges: [], letters: madeOf.numbers };
    default:
      return { ranges: madeOf.ranges, isAside: true };
  }
}

function storedState(state: BatchState): Pick<StoredRecord, "heard" | "target" | "written_at"> {
  const target = state.target !== undefined && { target: state.target };
  switch (state.kind) {
    case "prepared":
    case "sent":
      return { ...target, heard: "nothing" };
    case "refused":
      return { ...target, heard: "refused" };
    case "viewFailed": {
      const { view, error } = state;
      return { ...target, heard: "view", ...(view !== undefined && { view }), ...(error !== undefined && { error }) };
    }
    default:
      return { ...target, ...(state.at !== undefined && { written_at: state.at }), heard: "written" };
  }
}

/** A target is stored before the first insert, and a batch that never had a row was never sent. */
function stateOf({ heard, target, written_at, view, error, rows, excluded }: StoredRecord): BatchState {
  const noted = target !== undefined && { target };
  if (heard === "refused") return { kind: "refused", ...noted };
  if (heard === "written") return { kind: "written", ...noted, ...(written_at !== undefined && { at: written_at }) };
  if (target === undefined) return { kind: "prepared" };
  if (heard === "view") {
    return { kind: "viewFailed", target, ...(view !== undefined && { view }), ...(error !== undefined && { error }) };
  }
  return { kind: rows + excluded.length > 0 ? "sent" : "prepared", target };
}

/** Progress and records in format 2 of the data dir, which had only positions of the stream. */
type FormerProgress = Omit<Progress, "positions"> & { position: number };
type FormerRecord = Omit<StoredRecord, "ranges"> & { range: { first: number; last: number; count: number } };

/** Upgrades the records of earlier formats. Does nothing if they are upgraded already. */
export function upgradeJournal(
  store: TableStore,
  records: Table<StoredRecord, [string, number]>,
  progress: Table<Progress, string>,
): void {
  upgradePositions(store, progress);
  const finals = new Map<string, number>();
  for (const { key, value } of Array.from(progress.getRange())) {
    if ("positions" in value) continue;
    const { position, ...rest } = value as FormerProgress;
    finals.set(key, position);
    progress.putSync(key, { ...rest, positions: { [streamFeed]: position } });
  }
  for (const { key, value } of Array.from(records.getRange())) {
    if (!("ranges" in value)) records.putSync(key, withRanges(value, finals.get(key[0]) ?? 0));
  }
}

/** The first format stored the positions alone. */
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
  const ranges: PositionRange[] = [{ feed: streamFeed, base: 0, ...range }];
  // Released duplicates: their positions were final by then.
  return range.last <= position ? { ...record, ranges, isAside: true } : { ...record, ranges };
}
