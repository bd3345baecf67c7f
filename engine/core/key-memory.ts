import type { BatchRecord, Journal, KeyBlock, WaitingDrop } from "./journal.ts";

/** What became of a key that was reserved: its event is in the table, or it was given up. */
export type Fate = "written" | "free";

/** What dedup says of a key: seen for the first time, a repeat, or a repeat of an event that is not in the table yet. */
export type Sight = "first" | "repeat" | "waiting";

/**
 * What dedup remembers: the keys of the events that went to the table, each by the batch that brought it. The first
 * sight of a key wins and is not refreshed; it counts as long as its source's window says, by the batch clock. The dedups
 * of a pipeline share one memory: their fingerprints are made with salts of their own.
 *
 *     reserved   an event joined a batch: later ones with its key are `waiting`
 *     pending    the batch is prepared, its keys are durable with it
 *     final      the batch is written: later ones are a `repeat`; keys of its events that died are free
 *     free       given up, or expired
 *
 * All of it lives in memory, in a few bytes per key; the journal holds it durably and fills it at a start.
 */
export interface KeyMemory {
  /** Fills it with what the journal holds, at the batch clock of the start. Called once, before anything else. */
  load(journal: Journal, pipeline_id: string, clock: number): Promise<void>;
  /** Forgets what has expired at a time: the batch clock of now, or of the oldest pending batch. */
  expire(clock: number): void;
  /** Why no further batch may begin, in words; undefined while there is room. */
  full(): string | undefined;
  /** Time was set back: keys that had expired at `from` are gone, those that were stamped after `to` count from there. */
  setBack(from: number, to: number): void;
  /** Checks a key (four words) and, at its first sight, reserves it for the batch and for `window` ms: one step. */
  see(print: Uint32Array, position: number, batch: number, clock: number, window: number): Sight;
  /** What a batch reserved so far, to be prepared with it, a block for each window; empty where it reserved nothing. */
  blocks(batch: number): KeyBlock[];
  /** Its rows are in the table, for good: the keys of `dead` positions are free, all others final. */
  written(record: BatchRecord): void;
  /** The batch is given up, or will be processed anew: its keys are free. */
  release(batch: number): void;
  /** What `see` would say, without a reservation, and without waiting. */
  look(print: Uint32Array, clock: number): Sight;
  /** The batch that has this key now; undefined where none has. */
  holder(print: Uint32Array): number | undefined;
  /** Resolves when the batch that has this key now is written or given up, with what became of the key. */
  fate(print: Uint32Array): Promise<Fate>;
  /**
   * The same for the key that a drop of a batch waits for since `see` said `waiting`, or since an earlier run: whatever
   * the clock says by now, and whoever has the key now.
   */
  fateOfDrop(batch: number, drop: Pick<WaitingDrop, "position" | "print">): Promise<Fate>;
  /** The drops of a batch are settled. */
  dropsSettled(batch: number): void;
  /** Keys and bytes that it holds. */
  readonly size: { keys: number; memory: number; storage: number };
}
