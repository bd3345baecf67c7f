import type { Rejection } from "./dead-letter.ts";
import type { Feed, Offset, Place, PositionRange } from "./positions.ts";
import type { Reading } from "./sink.ts";

/** Keys of a batch, of one dedup, that are valid for the same time. Times are milliseconds of the batch clock. */
export interface KeyBlock {
  /** Which dedup they are of (`dedupId`). Earlier versions did not store it. */
  dedup?: string;
  /** When they were first seen. */
  since: number;
  /** When they expire. */
  until: number;
  /** The events with these keys. */
  positions: Place[];
  /** One fingerprint of 16 bytes for each position, in their order. */
  prints: Uint8Array;
}

/** A duplicate that waits: the event that it repeats was not in the table yet when it was dropped. */
export interface WaitingDrop {
  position: Place;
  /** Fingerprint of its key, four words. */
  print: number[];
  /** How long its key is valid if it is released, in milliseconds. Earlier versions did not store it. */
  window?: number;
  /** The batch that has its key, which may be its own. Earlier versions did not store it. */
  of?: number;
  /** Which dedup has dropped it (`dedupId`). Earlier versions did not store it. */
  dedup?: string;
}

/** What a batch is made of. */
export type BatchOrigin =
  /** Events of the source, at these offsets. They become final with the batch. */
  | { kind: "source"; ranges: PositionRange[] }
  /** Dead letters that are sent through the pipeline again, by the numbers of their ids. No offset becomes final with them. */
  | { kind: "letters"; numbers: number[] }
  /**
   * Duplicates that were released, since their original was rejected. Their offsets became final with an earlier batch.
   */
  | { kind: "released"; ranges: PositionRange[] };

/**
 * How far the delivery of a pending batch has come. `target`: the table as it was read before the first insert since the
 * batch was last known to be in no table.
 *
 *     prepared ──> sent ──> written          sent ──> refused ──> prepared         sent ──> viewFailed ──> written
 *
 * - `prepared`: no insert was sent, or each one so far was refused. An insert begins only after `target` is durable.
 * - `sent`: an insert may have been sent, and its rows may be in the table, all or some of them.
 * - `refused`: nothing was written, for sure. It is `prepared` again before the next insert.
 * - `viewFailed`: the table holds the rows; a materialized view on it failed, with this error. Earlier versions stored
 *   neither.
 * - `written`: settled. It is never sent again, and waits for its commit. `at`: when the server said OK, about, by the
 *   server's clock, in milliseconds since the epoch; absent where nothing was inserted.
 *
 * After a start, `prepared` with a target is read as `sent`: the insert may have begun right after that was written.
 */
export type BatchState =
  | { kind: "prepared"; target?: Reading }
  | { kind: "sent"; target: Reading }
  | { kind: "refused"; target?: Reading }
  | { kind: "viewFailed"; target: Reading; view?: string; error?: string }
  | { kind: "written"; target?: Reading; at?: number };

/**
 * What is durable of a pending batch: everything that decides its rows, so that a new process can make the same insert
 * again. Connection settings and credentials are never in it.
 */
export interface BatchRecord {
  /** Ascending per pipeline, never used twice. Batches of the source commit in this order. */
  batch: number;
  pipeline_id: string;
  /**
   * Where its rows go: into the join of the pipeline, from where they come back as a feed of their own; absent: into the
   * table.
   */
  into?: "join";
  /** Of a batch into the join, when it is committed: the newest row of the join. */
  joined?: Offset;
  /** What was read. The rows are made again from exactly this. */
  madeOf: BatchOrigin;
  /** The only events that become rows, as filter and dedup decided before; absent where they still decide. */
  only?: Place[];
  /** Revision of the pipeline's config that made the rows. */
  revision: number;
  /** `insert_deduplication_token`: 128 random bits, drawn at prepare. It stays the same when rows are excluded. */
  token: string;
  /** The one time that transforms see for this batch, in milliseconds since the epoch. */
  clock: number;
  /** Events that were received before it were too old for a row, in milliseconds since the epoch. */
  oldest: number;
  /** Rows that were prepared; 0 commits without an insert. */
  rows: number;
  /** Dead letters of the transforms, the encoder and the server. They become visible at commit. */
  rejections: Rejection[];
  /**
   * Events that are not among its rows any more, and whose keys are free: the server refused the row, or they are gone from
   * the source.
   */
  excluded: Place[];
  /**
   * Keys of its events, a block for each window; empty without dedup. A replay keeps exactly these events and does not
   * read the key memory.
   */
  keys: KeyBlock[];
  /** Duplicates that wait: the batch commits when each of them is settled. */
  waiting: WaitingDrop[];
  state: BatchState;
}

/** The last write to a table, which shows that the rows of a revision fit it. */
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
  /** The offset after its last event, the smallest that was found. */
  end: Offset;
  /** What was to be read next. */
  next: Offset;
  /** An option or a person has decided since from where to read on; or a person has rewound it, and the log was not cut. */
  isSettled?: true;
  /** The log was not cut: reading was set back. */
  isRewind?: true;
}

/** What a source stores beside positions. */
export interface SourceNotes {
  /**
   * Ids of the topics that were read, by cluster and topic, oldest first: the last one is read now, those before it were
   * deleted.
   */
  topicIds?: Record<string, string[]>;
  cutLogs?: Record<Feed, CutLog>;
  /** Where partitions begin that had no leader when their topic was first read: as `x-sluice.start` has it. */
  starts?: Record<Feed, string>;
  /** By cluster: the values of `x-sluice.rewind` that were carried out, the newest last. */
  rewound?: Record<string, readonly string[]>;
}

/** Where a pipeline stands. */
export interface Progress {
  /** The last position that is final, by feed. A feed that is not here has none yet. */
  positions: Record<Feed, Offset>;
  /** The epoch of what is at a position of a feed (see `Chunk`), as long as that is its position. */
  epochs?: Record<Feed, { at: Offset; epoch: number }>;
  /**
   * Where a person has moved feeds to: the last position that counts as final there. It takes effect when no batch is
   * pending any more.
   */
  moved?: Record<Feed, Offset>;
  /** The highest number that a batch ever had; 0 before the first. */
  batch: number;
  /** The newest batch clock, in milliseconds since the epoch; 0 before the first. */
  clock: number;
  written?: LastWritten;
  /** The newest row that its join has made; absent without a join, and before the first. */
  joined?: Offset;
  notes?: SourceNotes;
}

/** Final keys of one batch that are valid for the same time, as they are loaded at a start. */
export type FinalKeys = Omit<KeyBlock, "positions"> & { batch: number };

/**
 * The durable record of pending batches: one for the process, one writer, one sync for many batches and pipelines. Each
 * call resolves when its change would survive a power cut, and is all or nothing. EngineError `DISK_FULL` means that
 * nothing was written and the call may be repeated, and so does `DEAD_LETTERS_FULL` for a new batch of a source, while
 * the dead letters of its pipeline are at a bound.
 *
 *     read ─> transform ─> prepare ──────────> insert ────────> commit ───────────────> acknowledge
 *             (pure, given  one record, synced   one block, with   offsets and keys        the source may forget
 *              the record)  before any send      the token         final, letters visible  its events
 *
 * Nothing is lost: an event is at or before `progress.positions`, or a record names it, or it has been settled: as a row,
 * as a dead letter, or dropped on purpose. Nothing is doubled: a record is sent again with its own token until the server
 * said OK, and each answer is synced before anything depends on it.
 */
export interface Journal {
  /** A new batch, before anything is sent; or other content for a pending one, with the same `batch`. */
  prepare(record: BatchRecord): Promise<void>;
  /** What has changed of a pending batch: `state`, `excluded`, `rejections`, `rows`. Its keys stay as they are. */
  amend(record: BatchRecord): Promise<void>;
  /**
   * Settles the batch in one write: its offsets become final, and its keys, except those of its dead letters; its dead
   * letters become visible; its record and the letters that it was made of are removed. `released`: the record of its
   * released duplicates, which is prepared in the same write. A repeated call has no effect. Batches of a source must
   * be committed in the order of their numbers.
   */
  commit(record: BatchRecord, released?: BatchRecord): Promise<void>;
  /**
   * The batch clock was set back: keys that had expired at `from` are gone, those that were stamped after `to` are
   * valid from `to` on.
   */
  setBack(pipeline_id: string, from: number, to: number): Promise<void>;
  /** Stores the batch clock of an idle pipeline, so that the next start goes on from it. */
  mark(pipeline_id: string, clock: number): Promise<void>;
  /**
   * Sets the positions of feeds without a batch: where a source begins, what is skipped, where a person has moved it.
   * Offsets may become smaller. `isMove`: it takes effect when no batch is pending any more, at once if none is.
   * `notes` replace the present ones in the same write, at once.
   */
  place(
    pipeline_id: string,
    positions: Record<Feed, Offset>,
    options?: { isMove?: boolean; notes?: SourceNotes },
  ): Promise<void>;
  /** Gives up a pending batch without settling it: its keys are free, its offsets are not final. */
  giveUp(record: BatchRecord): Promise<void>;
  /** Batches that were prepared and not committed, in order. */
  pending(pipeline_id: string): BatchRecord[];
  progress(pipeline_id: string): Progress;
  /**
   * Final keys of the batches after number `after`, in order, some megabytes at a time and never a part of a batch; empty
   * when there are no more.
   */
  finalKeys(pipeline_id: string, after: number): Promise<FinalKeys[]>;
  /** How many keys `finalKeys` returned in all at the start. */
  finalKeyCount(pipeline_id: string): number;
}

/** When keys are valid, after the batch clock was set back (see `Journal.setBack`). */
export function timesSetBack(
  { since, until }: { since: number; until: number },
  from: number,
  to: number,
): { since: number; until: number } {
  if (until <= from) return { since: Math.min(since, to), until: Math.min(until, to) };
  return since <= to ? { since, until } : { since: to, until: to + (until - since) };
}

/** Whether offsets become final with a batch. Where none do, it may commit before batches with lower numbers. */
export function holdsPositions({ madeOf }: Pick<BatchRecord, "madeOf">): boolean {
  return madeOf.kind === "source";
}

/** Where the events of a batch lie in the source; empty for dead letters. */
export function rangesOf({ madeOf }: Pick<BatchRecord, "madeOf">): readonly PositionRange[] {
  return madeOf.kind === "letters" ? [] : madeOf.ranges;
}

/** The numbers of the dead letters that a batch is made of. */
export function lettersOf({ madeOf }: Pick<BatchRecord, "madeOf">): readonly number[] {
  return madeOf.kind === "letters" ? madeOf.numbers : [];
}

/** The first offset of a feed that is neither final nor held by a pending batch; undefined where nothing is known of it. */
export function nextPosition(
  feed: Feed,
  { positions }: Progress,
  pending: readonly Pick<BatchRecord, "madeOf">[],
): Offset | undefined {
  const held = pending
    .filter(holdsPositions)
    .flatMap((record) => rangesOf(record).filter((range) => range.feed === feed));
  const last = Math.max(positions[feed] ?? -Infinity, ...held.map((range) => range.last));
  return last === -Infinity ? undefined : last + 1;
}

/** The epoch of what is before an offset, which is final or held by a pending batch; undefined where it is not known. */
export function epochBefore(
  offset: Offset,
  feed: Feed,
  { positions, epochs = {} }: Progress,
  pending: readonly Pick<BatchRecord, "madeOf">[],
): number | undefined {
  const at = offset - 1;
  const held = pending
    .filter(holdsPositions)
    .flatMap(rangesOf)
    .find((range) => range.feed === feed && range.last === at);
  if (held !== undefined) return held.epoch;
  return positions[feed] === at && epochs[feed]?.at === at ? epochs[feed].epoch : undefined;
}

/** The write of a batch to the table; undefined where it has not written there. */
export function lastWritten({ state, revision, into }: BatchRecord): LastWritten | undefined {
  if (into === "join") return undefined;
  if (state.kind !== "written" || state.target === undefined || state.at === undefined) return undefined;
  const { table, description } = state.target;
  return { revision, table, description, time: state.at };
}

/** Whether rows of a batch may be in the table. */
export function mayBeInTable({ state }: Pick<BatchRecord, "state">): boolean {
  return state.kind !== "prepared" && state.kind !== "refused";
}

/**
 * The dead letters of events that an earlier revision refused before the batch was limited to the rows that it made
 * (`only`): nothing makes those events again, so they stay dead letters.
 */
export function settledRejections({ only, rejections }: Pick<BatchRecord, "only" | "rejections">): Rejection[] {
  if (only === undefined) return [];
  const made = new Set(only);
  return rejections.filter(({ position }) => !made.has(position));
}

/** Events of a batch that become dead letters instead of rows: their keys are free once it is settled. */
export function deadPositions({ excluded, rejections }: Pick<BatchRecord, "excluded" | "rejections">): Place[] {
  return [...excluded, ...rejections.map(({ position }) => position)];
}
