import type { PositionRange } from "./batch.ts";
import type { Rejection } from "./dead-letter.ts";

/**
 * The durable note of one batch under way: everything that decides its rows, so that a process that knows nothing else
 * can make the same insert again. Connection settings and credentials are never in it.
 */
export interface BatchRecord {
  /** Ascending per pipeline: batches commit in this order. */
  batch: number;
  pipeline_id: string;
  /** What the source's positions were read from; the rows are made again from exactly these. */
  range: PositionRange;
  /**
   * A batch of dead letters that are sent through the pipeline again, by the numbers of their ids; absent for events of
   * the source. Its range is empty: no position becomes final with it.
   */
  letters?: number[];
  /** Revision of the pipeline's config that made the rows. */
  revision: number;
  /** `insert_deduplication_token`: 128 random bits, drawn at prepare, kept for life. */
  token: string;
  /** The one time that transforms see for this batch, in milliseconds since the epoch. */
  clock: number;
  /** Rows that were prepared; 0 commits without an insert. */
  rows: number;
  /** Letters that the transforms and the encoder made. They become visible at commit. */
  rejections: Rejection[];
  /** Positions of rows that the server refused and that are sent no more. */
  excluded: number[];
  /**
   * What was heard of the last send, synced: `nothing` may have been sent and may have written, `refused` wrote nothing
   * for sure (taken out before the next send), `written` is in the table and is never sent again.
   */
  heard: "nothing" | "refused" | "written";
}

/**
 * The durable record of batches under way: one for the process, one writer, one sync for many batches and pipelines.
 * Each call resolves when what it says would survive a power cut, and is all or nothing.
 */
export interface Journal {
  /** A new batch, before anything is sent. Also the way to change a pending one: same `batch`, other content. */
  prepare(record: BatchRecord): Promise<void>;
  /**
   * The batch is settled: its positions become final, its letters visible, the letters that it was made of go, and the
   * record too. Batches of a source must be committed in the order of their numbers.
   */
  commit(record: BatchRecord): Promise<void>;
  /** Batches that were prepared and not committed, in order. */
  pending(pipeline_id: string): BatchRecord[];
  /** The last position that is final; 0 before the first. */
  committed(pipeline_id: string): number;
}
