import type { Rejection } from "./dead-letter.ts";
import type { Feed, PositionRange } from "./positions.ts";
import type { Reading } from "./sink.ts";

/**
 * Keys that a batch brings and that count equally long: what dedup will know its events by. Times are milliseconds of the
 * batch clock.
 */
export interface KeyBlock {
  /** When they were first seen. */
  since: number;
  /** When they stop to count. */
  until: number;
  /** The positions of the events that brought them. */
  positions: number[];
  /** One fingerprint of 16 bytes for each position, in their order. */
  prints: Uint8Array;
}

/** An event that was dropped as a repeat of another that was not in the table yet. */
export interface WaitingDrop {
  position: number;
  /** Fingerprint of its key, four words. */
  print: number[];
  /** How long its key counts, should it be no repeat after all, in milliseconds. Earlier versions did not note it. */
  window?: number;
  /** The batch that has its key, which may be its own. Earlier versions did not note it. */
  of?: number;
}

/**
 * The durable note of one batch under way: everything that decides its rows, so that a process that knows nothing else
 * can make the same insert again. Connection settings and credentials are never in it.
 */
export interface BatchRecord {
  /** Ascending per pipeline, never used twice. Batches of the source commit in this order. */
  batch: number;
  pipeline_id: string;
  /** What was read; the rows are made again from exactly these. Positions in this record are places within them. */
  ranges: PositionRange[];
  /** Its events were judged again: their positions are final already, with the batch that they were in first. */
  isAside?: true;
  /**
   * A batch of dead letters that are sent through the pipeline again, by the numbers of their ids; absent for events of
   * the source. It has no ranges: no position becomes final with it.
   */
  letters?: number[];
  /**
   * Positions (of letters: their numbers) that alone become rows, whatever filter and dedup say: they have been judged.
   * Absent where filter and dedup decide.
   */
  only?: number[];
  /** Revision of the pipeline's config that made the rows. */
  revision: number;
  /** `insert_deduplication_token`: 128 random bits, drawn at prepare, kept for life, also after rows were excluded. */
  token: string;
  /** The one time that transforms see for this batch, in milliseconds since the epoch. */
  clock: number;
  /** Events that were received before it were too old for a row, in milliseconds since the epoch. */
  oldest: number;
  /** Rows that were prepared; 0 commits without an insert. */
  rows: number;
  /** Letters that the transforms and the encoder made. They become visible at commit. */
  rejections: Rejection[];
  /** Positions of rows that the server refused and that are sent no more. */
  excluded: number[];
  /**
   * Where the pipeline has dedup: a block for each window of a key that it brings. A replay keeps exactly these positions
   * and never asks what is remembered.
   */
  keys?: KeyBlock[];
  /** Drops that wait: the batch commits when each of them is settled. */
  waiting?: WaitingDrop[];
  /** The target as it was before the first send; absent before that. */
  target?: Reading;
  /** When the server said OK, about, by its clock; absent before that. */
  written_at?: number;
  /**
   * What was heard of the last send, synced.
   *
   * - `nothing`: it may have been sent and may have written.
   * - `refused`: nothing was written for sure; taken out before the next send.
   * - `view`: the table holds the rows, a materialized view behind it failed.
   * - `written`: it is in the table and is never sent again.
   */
  heard: "nothing" | "refused" | "view" | "written";
}

/** The newest thing that was written to a table, as far as it tells whether a pipeline's rows fit it. */
export interface LastWritten {
  revision: number;
  /** UUID of the table. */
  table: string;
  /** Of the batch's reading: how the table was described. */
  description: string;
  /** When it was written, by the server's clock, in milliseconds since the epoch. */
  time: number;
}

/** Where a log ended before the offset that was to be read next: it had lost events, or is another log. */
export interface CutLog {
  /** The offset behind its last event, the smallest that was found. */
  end: number;
  /** What was to be read next. */
  next: number;
  /** An option or a person has said since where it goes on. */
  isSettled?: true;
}

/** What a source notes beside positions. */
export interface SourceNotes {
  /**
   * Ids of the topics that were read, by cluster and topic, oldest first: the last one is read now, those before it were
   * deleted.
   */
  topicIds?: Record<string, string[]>;
  cutLogs?: Record<Feed, CutLog>;
}

/** Where a pipeline stands. */
export interface Progress {
  /** The last position that is final, by feed. A feed that is not here has none yet. */
  positions: Record<Feed, number>;
  /**
   * Where a person has moved feeds to: the last position that counts as final there. It holds from the moment on when no
   * batch is pending any more.
   */
  moved?: Record<Feed, number>;
  /** The highest number that a batch ever had; 0 before the first. */
  batch: number;
  /** The newest batch clock, in milliseconds since the epoch; 0 before the first. */
  clock: number;
  written?: LastWritten;
  notes?: SourceNotes;
}

/** Final keys of one batch that count equally long, as they are loaded at a start. */
export type FinalKeys = Omit<KeyBlock, "positions"> & { batch: number };

/**
 * The durable record of batches under way: one for the process, one writer, one sync for many batches and pipelines.
 * Each call resolves when what it says would survive a power cut, and is all or nothing. EngineError `DISK_FULL` means
 * that nothing was written and it may be said again.
 *
 *     read ─> transform ─> prepare ──────────> insert ────────> commit ───────────────> acknowledge
 *             (pure, given  one record, synced   one block, with   positions and keys      the source may forget
 *              the record)  before any send      the token         final, letters visible  its events
 *
 * Nothing is lost: an event is behind `progress.positions`, or a record names it, or it has been settled: as a row, as a
 * letter, or dropped on purpose. Nothing is doubled: a record is made again with its own token until the server said OK,
 * and what was heard of it is synced before anything depends on it.
 */
export interface Journal {
  /** A new batch, before anything is sent; or other content for a pending one, with the same `batch`. */
  prepare(record: BatchRecord): Promise<void>;
  /** What was heard of a pending batch: `heard`, `excluded`, `rejections`, `rows`, `target`. Its keys stay as they are. */
  amend(record: BatchRecord): Promise<void>;
  /**
   * The batch is settled, in one write: its positions become final, its letters visible, its keys too but for those
   * whose events died; the letters that it was made of go, and the record too. `aside`: the events of its waiting drops
   * that were judged again, as a record of their own that is prepared in the same write. Saying it twice does no harm.
   * Batches of a source must be committed in the order of their numbers.
   */
  commit(record: BatchRecord, aside?: BatchRecord): Promise<void>;
  /**
   * The batch clock was set back: keys that had expired at `from` are gone, those that were stamped after `to` count
   * from there.
   */
  setBack(pipeline_id: string, from: number, to: number): Promise<void>;
  /** Notes the batch clock of a pipeline that has been quiet, so that a later start knows how time went on. */
  mark(pipeline_id: string, clock: number): Promise<void>;
  /**
   * Says where feeds stand, which no batch made final: where a source begins, what is skipped, where a person has moved
   * it. Positions may become smaller. `isMove`: it holds when no batch is pending any more, at once if none is. `notes`
   * take the place of those before, in the same write and at once.
   */
  place(
    pipeline_id: string,
    positions: Record<Feed, number>,
    options?: { isMove?: boolean; notes?: SourceNotes },
  ): Promise<void>;
  /** Gives up a pending batch without settling it: its keys are free, its positions are not final. */
  giveUp(record: BatchRecord): Promise<void>;
  /** Batches that were prepared and not committed, in order. */
  pending(pipeline_id: string): BatchRecord[];
  progress(pipeline_id: string): Progress;
  /**
   * Final keys of the batches behind number `after`, in order, some megabytes at a time and never a part of a batch; empty
   * when there are no more.
   */
  finalKeys(pipeline_id: string, after: number): Promise<FinalKeys[]>;
}

/** When keys count, after the batch clock was set back (see `Journal.setBack`). */
export function timesSetBack(
  { since, until }: { since: number; until: number },
  from: number,
  to: number,
): { since: number; until: number } {
  if (until <= from) return { since: Math.min(since, to), until: Math.min(until, to) };
  return since <= to ? { since, until } : { since: to, until: to + (until - since) };
}

/** Whether positions become final with a batch; of letters and asides none do, and so they wait for nobody's turn. */
export function holdsPositions({ letters, isAside }: Pick<BatchRecord, "letters" | "isAside">): boolean {
  return letters === undefined && isAside !== true;
}

/** The first position of a feed that is neither final nor held by a pending batch; undefined where nothing is known of it. */
export function nextPosition(
  feed: Feed,
  { positions }: Progress,
  pending: readonly Pick<BatchRecord, "ranges" | "letters" | "isAside">[],
): number | undefined {
  const held = pending.filter(holdsPositions).flatMap(({ ranges }) => ranges.filter((range) => range.feed === feed));
  const last = Math.max(positions[feed] ?? -Infinity, ...held.map((range) => range.last));
  return last === -Infinity ? undefined : last + 1;
}

/** What a batch wrote; undefined where it did not. */
export function lastWritten({ target, written_at, revision }: BatchRecord): LastWritten | undefined {
  if (target === undefined || written_at === undefined) return undefined;
  return { revision, table: target.table, description: target.description, time: written_at };
}

/** Whether rows of a batch may be in the table, of a record that an earlier start left. Without rows it was never sent. */
export function mayBeInTable({ heard, target, rows, excluded }: BatchRecord): boolean {
  if (heard !== "nothing") return heard !== "refused";
  return target !== undefined && rows + excluded.length > 0;
}

/** Positions of a batch that are letters and never become rows: their keys are free once it is settled. */
export function deadPositions({ excluded, rejections }: BatchRecord): number[] {
  return [...excluded, ...rejections.map(({ position }) => position)];
}
