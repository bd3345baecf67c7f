import type { Chunk, PositionRange } from "./positions.ts";

/**
 * Where a pipeline's events come from, as the pipeline reads it: each feed in order, and again, in any range that is not
 * final yet, so that a batch can be made again. Only the pipeline calls it.
 *
 *     open ─> again (what an earlier start left) ─> begin ─> next, wait ... ─> acknowledge ... ─> drain ─> close
 */
export interface Source {
  /**
   * Learns where it stands, and whether its events are this pipeline's to read; waits for that as long as it takes.
   * Resolves with the pending batches that it has given up, by their numbers: another reader has read their events.
   * Rejects with LeftForLater when the pipeline drains or leaves.
   */
  open(signals: SourceSignals): Promise<number[]>;
  /** Whether everything that an earlier start left must be settled before this may begin. Known when it is open. */
  readonly waitsForSettled: boolean;
  /** What an earlier start left is on its way, or settled where that is asked for: from now on `next` brings events. */
  begin(): Promise<void>;
  /** What comes next: at most `limit` events and about `maxBytes` bytes; empty where there is nothing yet. */
  next(limit: number, maxBytes: number): Promise<Chunk[]>;
  /** Resolves when about `count` events are there, at the time `until` (ms of the monotonic clock), or when `signal` aborts. Never throws. */
  wait(count: number, until: number | undefined, signal: AbortSignal): Promise<void>;
  /** Reads ranges of a record again. Events that are gone are left out. */
  again(ranges: readonly PositionRange[]): AsyncIterable<Chunk>;
  /**
   * Whether ranges lie within what the log still holds. Then events of them that are gone were replaced by newer ones
   * with their key (compaction), which is no loss.
   */
  stillHolds(ranges: readonly PositionRange[]): Promise<boolean>;
  /**
   * Resolves when events of this source may be written: at once, but for a source that may have become another's while
   * this process stood still. Asked right before each insert. Rejects with LeftForLater when the pipeline drains or leaves.
   */
  mayWrite(): Promise<void>;
  /** A batch with these ranges is committed. The source may commit that to its log; late, or never, does no harm. */
  acknowledge(ranges: readonly PositionRange[]): void;
  /** From now on it brings no more than what only Sluice holds; `keepsReading` says whether that is anything. */
  drain(): void;
  /**
   * Whether a batch that was begun before the drain goes on: its events are held here alone. Where false it is given up,
   * as its events can be read again.
   */
  readonly keepsReading: boolean;
  /** Releases what it holds; commits what was acknowledged first, if that is possible in a moment. Safe to call twice. */
  close(): Promise<void>;
}

export interface SourceSignals {
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Aborts when the pipeline drains, or leaves. */
  drain: AbortSignal;
}
