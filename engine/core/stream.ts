import type { Event } from "./batch.ts";

export interface StreamState {
  /** Events held and not yet trimmed. */
  messages: number;
  bytes: number;
  /** Sequence of the oldest event held, or of the next to come where there is none. */
  first: number;
  /** Sequence of the newest event ever stored; 0 before the first. */
  last: number;
}

/** Limits of a stream. `Infinity` is unlimited. */
export interface StreamLimits {
  max_bytes: number;
  max_msgs: number;
}

/**
 * A durable, ordered queue of pushed events with one writer. Sequences count from 1 and never start again, also not
 * when the stream was emptied.
 */
export interface Stream {
  /**
   * Stores an event; resolves with its sequence once it is on disk and would be there after a power cut. Throws
   * EngineError `STREAM_FULL` at a limit, `DISK_FULL` without room, `STREAM_CLOSED` when released: the event was then
   * not stored.
   */
  append(event: Buffer, receivedAt: number): Promise<number>;
  /** Forgets events up to and including `position`. Their space is given back. Safe to repeat. */
  trim(position: number): Promise<void>;
  /**
   * Drops the events behind `position`, for a pipeline that is terminated: what pending batches name stays. Sequences go
   * on where they were; the dropped ones leave a gap.
   */
  release(position: number): Promise<void>;
  readonly state: StreamState;
  close(): Promise<void>;
}

/** The reading side: it may live in another thread, and sees what is durable. */
export interface StreamReader {
  /** Tells that events up to `last` are durable; it reads no further. */
  advance(last: number): void;
  /** At most `limit` events and about `maxBytes` bytes from `position` on, in order; empty where there is none yet. */
  read(position: number, limit: number, maxBytes: number): Promise<Event[]>;
  close(): Promise<void>;
}
