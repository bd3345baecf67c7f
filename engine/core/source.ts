import type { Event } from "./batch.ts";

/**
 * Where a pipeline's events come from, as the pipeline reads it: in order, from any position that is not final yet, so
 * that a batch can be made again. Only the pipeline calls it.
 */
export interface Source {
  /** The newest position that is known; what a stop still carries on. */
  readonly end: number;
  /** At most `limit` events and about `maxBytes` bytes from `position` on; empty where there is none yet. */
  read(position: number, limit: number, maxBytes: number): Promise<Event[]>;
  /** Resolves when `position` is there, at the time `until` (ms since the epoch), or when `signal` aborts. Never throws. */
  wait(position: number, until: number | undefined, signal: AbortSignal): Promise<void>;
  /** Releases what it holds. Safe to call twice. */
  close(): Promise<void>;
}
