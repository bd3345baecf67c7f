import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import type { Disk } from "./disk.ts";
import type { BatchRecord, Journal, Progress } from "./journal.ts";
import type { SourcePause } from "./pause.ts";
import type { Chunk, Feed, PositionRange } from "./positions.ts";

/**
 * Where a pipeline's events come from. Only the pipeline calls it. It reads each feed in order, and reads ranges that
 * are not final yet again to make their batch again.
 *
 *     open ─> again (what an earlier start left) ─> begin ─> next, wait ... ─> acknowledge ... ─> drain ─> close
 *
 * A source that cannot read for a while waits itself, with the `SourcePause` that it is opened with, until it reads
 * again, drains or leaves. What `next` and `again` throw ends the run: after LeftForLater the next start continues, and
 * after any other error the pipeline has failed.
 *
 * Its events have the time when they were received only if they were pushed. An event that is read from a log has the
 * time 0, and its `maxAge` is infinite (see `OpenedSource`): the log decides how long it keeps it.
 */
export interface Source {
  /**
   * Finds its positions, and waits without a limit until this pipeline may read. Resolves with the numbers of the
   * pending batches that it has given up, since another reader has read their events. Rejects with LeftForLater when
   * the pipeline drains or leaves.
   */
  open(signals: SourceSignals): Promise<number[]>;
  /** Whether all batches of an earlier start must be settled before `begin`. Known after `open`. */
  readonly waitsForSettled: boolean;
  /** Starts reading: the batches of an earlier start are being sent, or are settled if `waitsForSettled`. */
  begin(): Promise<void>;
  /**
   * The next events: at most `limit` of them and about `maxBytes` bytes; empty where there are none yet. It may be called
   * before `wait`. A chunk may have no events, and its `last` may lie after its last event.
   */
  next(limit: number, maxBytes: number): Promise<Chunk[]>;
  /** Resolves when about `count` events are there, at the time `until` (ms of the monotonic clock), or when `signal` aborts. Never throws. */
  wait(count: number, until: number | undefined, signal: AbortSignal): Promise<void>;
  /**
   * Reads ranges of a record again. Events that are gone are omitted. A range ends with the `last` of a chunk, so that
   * it may lie after the last event.
   */
  again(ranges: readonly PositionRange[]): AsyncIterable<Chunk>;
  /**
   * Whether compaction can be the reason why events of ranges are missing: newer ones with the same key replaced them,
   * which is no loss. True where the log is compacted and still covers the ranges; false for every log that is not
   * compacted, since there a missing event is lost.
   */
  mayHaveCompacted(ranges: readonly PositionRange[]): Promise<boolean>;
  /** What a person can do when events of a pending batch are gone. Absent: what holds for every source (`waysOut.lost`). */
  readonly wayOutOfLoss?: string;
  /** A feed of this source as operators know it. Absent: it has one feed, or feeds that are named so. */
  readonly feedText?: (feed: Feed) => string;
  /**
   * Resolves when events of this source may be written: at once, unless another reader may have taken the source over
   * while this process was paused. Called right before each insert. Rejects with LeftForLater when the pipeline drains
   * or leaves.
   */
  mayWrite(): Promise<void>;
  /**
   * A batch with these ranges is committed. The source may commit that to its log; a late or missing commit is
   * harmless.
   */
  acknowledge(ranges: readonly PositionRange[]): void;
  /** From now on `next` returns only events that Sluice alone stores; there are such only if `keepsReading`. */
  drain(): void;
  /**
   * Whether a batch that was begun before the drain is completed, since Sluice alone stores its events. If false it is
   * given up: its events can be read again.
   */
  readonly keepsReading: boolean;
  /**
   * Commits what was acknowledged, if that takes only a moment, and releases its connections and files. Safe to call
   * twice.
   */
  close(): Promise<void>;
}

export interface SourceSignals {
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Aborts when the pipeline drains, or leaves. */
  drain: AbortSignal;
}

/** Which pipeline a source is opened for, and how far that has come. A kind may need more. */
export interface SourceSpec {
  pipeline_id: string;
  /** With its secrets resolved. */
  config: PipelineConfig;
  options: Pick<EngineOptions, "start" | "rewind" | "take_over" | "on_lost" | "consumer_group" | "sources">;
  progress: Progress;
  pending: readonly BatchRecord[];
}

/** What sources use of the journal. */
export type SourceJournal = Pick<Journal, "pending" | "progress" | "place" | "giveUp">;

/** What every source is opened with. A kind may need more. */
export interface SourceTools {
  disk: Disk;
  journal: SourceJournal;
  /** By which it waits while it cannot read. */
  pause: SourcePause;
}
