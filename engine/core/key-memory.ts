import type { BatchRecord, Journal, KeyBlock, WaitingDrop } from "./journal.ts";

/** How the reservation of a key has ended: its event is in the table, or the key is free again. */
export type Fate = "written" | "free";

/**
 * The result of a check of a key: seen for the first time, a repeat, or a repeat of an event that is not in the table
 * yet.
 */
export type Sight = "first" | "repeat" | "waiting";

/**
 * What dedup remembers: the keys of the events that went to the table, each with its batch. The first event with a key
 * wins; later ones do not extend its window, which is its source's, by the batch clock. The dedups of a pipeline share
 * one memory: their fingerprints are made with salts of their own.
 *
 *     reserved   an event joined a batch: later ones with its key are `waiting`
 *     pending    the batch is prepared, its keys are durable with it
 * final      the batch is written: later ones are a `repeat`; keys of its dead letters are free
 *     free       given up, or expired
 *
 * All of it is in memory, in a few bytes per key; the journal stores it durably, and it is loaded at a start.
 */
export interface KeyMemory {
  /** Loads the keys of the journal, at the batch clock of the start. Called once, before anything else. */
  load(journal: Journal, pipeline_id: string, clock: number): Promise<void>;
  /** Removes the keys that have expired at `clock`: the batch clock of now, or of the oldest pending batch. */
  expire(clock: number): void;
  /** Why no further batch may begin, as a text; undefined while there is room. */
  full(): string | undefined;
  /**
   * Time was set back: keys that had expired at `from` are gone, those that were stamped after `to` are valid from `to`
   * on.
   */
  setBack(from: number, to: number): void;
  /**
   * Checks a key (four words) of a dedup and, at its first sight, reserves it for the batch and for `window` ms: one step.
   */
  see(print: Uint32Array, position: number, batch: number, clock: number, window: number, dedup?: string): Sight;
  /**
   * The keys that a batch has reserved, to be prepared with it: a block for each dedup; empty where it reserved none.
   */
  blocks(batch: number): KeyBlock[];
  /** The rows of a batch are in the table: the keys of its dead letters are free, all others final. */
  written(record: BatchRecord): void;
  /** The batch is given up, or will be processed anew: its keys are free. */
  release(batch: number): void;
  /** What `see` would return, without a reservation. */
  look(print: Uint32Array, clock: number): Sight;
  /** The batch that has this key now; undefined where none has. */
  holder(print: Uint32Array): number | undefined;
  /** Resolves when the batch that has this key now is written or given up. */
  fate(print: Uint32Array): Promise<Fate>;
  /**
   * The same for the key that a drop of a batch waits for since `see` returned `waiting`, or since an earlier run: it
   * depends neither on the clock nor on the batch that has the key now.
   */
  fateOfDrop(batch: number, drop: Pick<WaitingDrop, "position" | "print">): Promise<Fate>;
  /** The drops of a batch are settled. */
  dropsSettled(batch: number): void;
  /** Keys and bytes that it holds. */
  readonly size: { keys: number; memory: number; storage: number };
}
