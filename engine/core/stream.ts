import type { Event } from "../event/event.ts";
import type { Push, Signal } from "./push.ts";

export interface StreamState {
  /** Events held and not yet trimmed. */
  messages: number;
  /** Bytes that they take, about. */
  bytes: number;
  /** Sequence of the oldest event held, or of the next to come where there is none. */
  first: number;
  /** Sequence of the newest event ever stored; 0 before the first. */
  last: number;
}

/** What a stream holds, and how much it may hold. */
export interface BoundedStreamState extends StreamState {
  /** It refuses events beyond so many bytes: its limit, or less as the disk fills. Absent before the disk was looked at. */
  max_bytes?: number;
}

/** Limits of a stream. `Infinity` is unlimited. */
export interface StreamLimits {
  max_bytes: number;
  max_msgs: number;
}

/**
 * Events at the front of a stream: their number, and the sequence of the last one, which has no meaning where there are
 * none.
 */
export interface Front {
  count: number;
  last: number;
}

/**
 * A durable, ordered queue of pushed events with one writer. Sequences count from 1 and never start again, even after
 * the stream was emptied; those of one push are consecutive.
 */
export interface Stream {
  /**
   * Stores a push; resolves with the sequence of its last event once all of it is on disk and would be there after a
   * power cut. One without events stores nothing, and resolves with the newest sequence. Throws EngineError
   * `STREAM_FULL` at a limit, `PUSH_TOO_LARGE` if it would not fit into the empty stream either, `DISK_FULL` without
   * room, `STREAM_CLOSED` when released, and TurnMissed where its caller has gone before it was begun, or it has waited for
   * too long: nothing of the push was then stored.
   */
  append(push: Push): Promise<number>;
  /** Removes events up to and including `position`. Their space is freed. Safe to repeat. */
  trim(position: number): Promise<void>;
  /**
   * Drops the events after `position`, for a pipeline that is terminated: those of pending batches stay. Sequences
   * continue; the dropped ones leave a gap.
   */
  release(position: number): Promise<void>;
  /** The events held that were received before `time`, in milliseconds since the epoch, up to the first younger push. */
  olderThan(time: number): Promise<Front>;
  /** What it holds. It may be read at every append: its cost does not grow with the stream. */
  readonly state: StreamState;
  /** The most that it may hold, in bytes: its limit, or less as the disk fills, as it was last looked at. */
  readonly maxBytes: number;
  /** Stores the pushes that wait, and refuses later ones. Safe to call twice. */
  close(): Promise<void>;
}

/** Events that follow each other, of pushes with the same signal. */
export interface Run {
  signal: Signal | undefined;
  events: Event[];
}

/** The reading side: it may live in another thread, and sees what is durable. */
export interface StreamReader {
  /** Events up to `last` are durable: it may read so far, and no further. */
  advance(last: number): void;
  /**
   * At most `limit` events and about `maxBytes` bytes from `position` on, in order, and in one run as long as their
   * signal is the same; empty only where there is none as far as it may read. Trimmed events may still be returned or
   * not. Several reads may run at once.
   */
  read(position: number, limit: number, maxBytes: number): Promise<Run[]>;
  close(): Promise<void>;
}
