import type { BatchOrigin, BatchRecord, BatchState, KeyBlock, WaitingDrop } from "../core/journal.ts";
import type { PositionRange } from "../core/positions.ts";
import type { Reading } from "../core/sink.ts";

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
