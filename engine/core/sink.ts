import type { TableOrder } from "./readiness.ts";
import type { Event, EventList } from "../event/event.ts";
import type { RowWalks } from "../event/raw-json.ts";
import type { Rejection } from "./dead-letter.ts";

/**
 * The outcome of an insert.
 *
 * - `ok`: all rows are in the target, written now or before.
 * - `refused`: no row was written; this is proven.
 * - `unknown`: anything else, timeouts and resets included; a repeat with the same token is safe.
 *
 * The class of `failure` decides what follows: `transient` and `disk` (that of the data dir) are tried again, `row` names a bad row, and every other class
 * pauses the pipeline until the setup is corrected; a pause also tries again by itself.
 */
export type Answer = { kind: "ok" } | { kind: "refused" | "unknown"; failure: Failure };

/** The answer to a check, with what the table is like, and the columns that `Readiness` has. */
export type CheckAnswer =
  | Exclude<Answer, { kind: "ok" }>
  | { kind: "ok"; table?: TableOrder; zeroed?: string[]; atLeastOnce?: string; profileRemark?: string };

export interface Failure {
  class: "transient" | "disk" | "row" | "partitions" | "view" | "setup";
  /** ClickHouse's code, such as 60; undefined where the network failed before an answer. */
  code?: number;
  /** ClickHouse's name of the code, such as `UNKNOWN_TABLE`; `network_io` without a code. A metric label. */
  name: string;
  /** One sentence for a person. Never holds a secret. */
  text: string;
  /** For class `row`, when the server named it: index into the rows of the block, from 0. */
  row?: number;
  /** For class `view`: the view, as `database.view`. */
  view?: string;
  /** Of the network: no connection was made, or one gave no whole answer. */
  connection?: "none" | "lost";
}

/** The target at one moment: what a later start must know of it before it may send a batch again. */
export interface Reading {
  /** UUID of the table, or another identity of it: another table has none of our tokens. */
  table: string;
  /** The server's clock, in milliseconds since the epoch. */
  time: number;
  /**
   * The highest block number of the table, or for a replicated table, which counts them per partition, how many there
   * were in all. Only the growth between two readings of one table has a meaning. Undefined where this user may not read
   * them.
   */
  blocks?: number;
  /**
   * Of a replicated table, how many block numbers each partition has used, by its id; absent for one of very many
   * partitions, and where `blocks` is.
   */
  partitions?: Readonly<Record<string, number>>;
  /**
   * The table shares its parts and tokens with other servers: its answer to a repeat holds, but the server that answers
   * the next query may not have all parts yet.
   */
  isReplicated?: boolean;
  /**
   * The uptime of the server in whole seconds, rounded down. Absent where a killed server cannot have kept a token
   * without its rows, and in records of former versions.
   */
  uptime?: number;
  /**
   * The server that answered; of the embedded one, what it remembers of inserts, which is another where the machine may have
   * ended before that was on disk. Absent for a table that is replicated, which is the same on each of its servers, and
   * where the server does not tell.
   */
  server?: string;
  /** It is known that several servers answer in turn, of which each has a table of its own: a repeat may reach any of them. */
  isOneOfSeveral?: boolean;
  /** The views that an insert feeds, as `database.view`, with their UUIDs, empty in a database without; absent without one. */
  views?: Readonly<Record<string, string>>;
  /** As `window`, of the target alone; absent without views. */
  own?: { entries: number; seconds: number };
  /** The tables that remember no insert, of those that one writes, as a sentence; absent where each remembers some. */
  forgetful?: string;
  /** For how many inserts, and how many seconds (Infinity: always), the target and its views recognise a repeat. */
  window: { entries: number; seconds: number };
  /** When the table was last created or altered, by the server's clock, in milliseconds since the epoch; 0 if that is not known. */
  altered: number;
  /** The definition of the table: it changes with each ALTER that matters here. */
  description: string;
  /** When this was read, by our clock, in milliseconds since the epoch. */
  taken: number;
}

/** The rows of a block that the target's types and constraints refuse, by their index from 0. */
export type Probe =
  | { kind: "found"; rows: { row: number; failure: Failure }[] }
  /** This user may not probe; `grant` is the statement that allows it. */
  | { kind: "forbidden"; grant: string }
  /** The probe itself failed: nothing is known about any row, and it can be tried again. */
  | { kind: "failed"; failure: Failure };

/** Rows ready to be sent: encoded bytes, one entry of `events` per row, in order. */
export interface Block {
  /** The events that became rows, as they were before the stateless transform. `events[i]` is row `i`. */
  events: EventList;
  /** The insert's body, in the format that the sink sends. */
  body: Buffer;
  rejected: Rejection[];
}

/** Writes the rows of a block, for the columns that the target had at the start. */
export interface RowWriter {
  /** Adds the rows of events, in order. Returns rejections of the events whose values do not fit their columns. Keeps no event. */
  add(events: readonly Event[]): Rejection[];
  /** Bytes of the rows that were added. */
  readonly size: number;
  /** Whether the target still has the columns that it writes for. */
  readonly isCurrent: boolean;
  /** The insert's body, in the format that the sink sends. Nothing may be added afterwards. */
  body(): Buffer;
}

/**
 * Where rows go. One object per pipeline start; the pipeline alone calls it.
 */
export interface Sink {
  /**
   * Connects, creates a missing table if configured, and finds out whether the target can deduplicate and whether the
   * user's profile allows the settings that inserts need. Called again, with back-off, until its answer is ok.
   */
  open(signal: AbortSignal): Promise<Answer>;
  /**
   * Whether `open` would be ok, as far as that shows without changing anything: a missing table that `open` creates is
   * ok.
   */
  check(signal: AbortSignal): Promise<CheckAnswer>;
  /** Why the target cannot drop a repeated insert, with the statement that changes that; undefined if it can. Known after `open`. */
  readonly atLeastOnce: string | undefined;
  /** Settings of the user that may change rows and are left as they are, with what they may do; absent for none. Known after `open`. */
  readonly profileRemark?: string | undefined;
  /** How many tables it has created, as the file asks for it; absent for none. */
  readonly created?: number;
  /**
   * Reads the target. With `isFresh` false an earlier reading is enough, if few inserts and seconds have passed since:
   * an older one only makes a batch count as uncertain sooner. An answer that is not ok where the server gave none.
   */
  read(
    isFresh: boolean,
    signal: AbortSignal,
  ): Promise<{ kind: "read"; reading: Reading } | Exclude<Answer, { kind: "ok" }>>;
  /** Whether the target's server answers at all now. Cheap, and never throws. */
  isReachable(signal: AbortSignal): Promise<boolean>;
  /**
   * The walks over events of an origin whose own bytes can be rows; undefined where none can. They may change with each
   * `open` and `read`.
   */
  rowWalks(origin: string | undefined): RowWalks | undefined;
  /** Begins the rows of a block. `clock`: the batch clock, in milliseconds since the epoch. */
  begin(clock: number): RowWriter;
  /**
   * Inserts a block as one insert with `token`. Never throws for a failure of the server or the network. With
   * `ignoreViews` an error in a materialized view does not fail the insert: the base table and the other views get the
   * rows.
   */
  insert(block: Block, token: string, signal: AbortSignal, options?: { ignoreViews?: boolean }): Promise<Answer>;
  /** The block was inserted and is never sent again: its bytes may be overwritten. */
  release(block: Block): void;
  /** Finds the bad rows of a block without writing to the target. */
  probe(block: Block, signal: AbortSignal): Promise<Probe>;
  /**
   * Whether the target takes any row of values of the declared kinds, tried without writing to it; `unknown` where that
   * cannot be tried.
   */
  takesAny(signal: AbortSignal): Promise<"yes" | "no" | "unknown">;
  /** Releases connections. Safe to call twice. */
  close(): Promise<void>;
}

/** The block of a writer's rows: those of all events but the `rejected` ones. */
export function blockOf(events: EventList, writer: RowWriter, rejected: readonly Rejection[]): Block {
  const gone = new Set(rejected.map(({ position }) => position));
  return { events: events.without(gone), body: writer.body(), rejected: [...rejected] };
}
