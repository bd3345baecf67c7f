import type { Event, EventList } from "../event/event.ts";
import type { RowWalks } from "../event/raw-json.ts";
import type { Rejection } from "./dead-letter.ts";

/**
 * What the server said to an insert.
 *
 * - `ok`: everything is in, or was in already.
 * - `refused`: nothing was written, for sure.
 * - `unknown`: anything else, timeouts and resets included; only the same token can heal it.
 *
 * `failure` says what kind of trouble it is, and so what happens next: `transient` is tried again, `row` names a bad
 * row, everything else pauses the pipeline until somebody mends the setup; a pause tries again by itself too.
 */
export type Answer = { kind: "ok" } | { kind: "refused" | "unknown"; failure: Failure };

export interface Failure {
  class: "transient" | "row" | "partitions" | "view" | "setup";
  /** ClickHouse's code, such as 60; undefined where the network failed before an answer. */
  code?: number;
  /** ClickHouse's name of the code, such as `UNKNOWN_TABLE`; `network_io` without a code. A metric label. */
  name: string;
  /** One sentence for a person. Never holds a secret. */
  text: string;
  /** For class `row`, when the server named it: index into the rows of the block, from 0. */
  row?: number;
  /** Of the network: no connection was made, or one gave no whole answer. */
  connection?: "none" | "lost";
}

/** The target at one moment: what a later start has to know of it before it may send a batch again. */
export interface Reading {
  /** UUID of the table, or what else tells it from others: another one remembers nothing of ours. */
  table: string;
  /** The server's clock, in milliseconds since the epoch. */
  time: number;
  /**
   * How far the table's block numbers have come: the highest one, or for a replicated table, which counts them per
   * partition, how many there were in all. Only the growth between two readings of one table means something. Undefined
   * where this user may not read them.
   */
  blocks?: number;
  /**
   * The table keeps its parts and tokens together with other servers: what it says of a repeat holds, while a server that
   * answers the next question may not have all parts yet.
   */
  isReplicated?: boolean;
  /**
   * For how long the server has run, in whole seconds, rounded down. Absent where a server that was killed cannot have
   * kept a token without its rows, and in records of former versions.
   */
  uptime?: number;
  /** How many inserts, and for how many seconds (Infinity for ever), the target and all behind it recognise a repeat. */
  window: { entries: number; seconds: number };
  /** When the table was last created or altered, by the server's clock, in milliseconds since the epoch; 0 if it does not tell. */
  altered: number;
  /** How the table is described: another text after each ALTER that matters. */
  description: string;
  /** When this was read, by our clock, in milliseconds since the epoch. */
  taken: number;
}

/** Rows of a block that the target's types and constraints refuse, by their index from 0. */
export type Probe =
  | { kind: "found"; rows: { row: number; failure: Failure }[] }
  /** This user may not probe; `grant` is the statement that lets it. */
  | { kind: "forbidden"; grant: string }
  /** The probe itself failed, which says nothing about any row: it can be tried again. */
  | { kind: "failed"; failure: Failure };

/** Rows ready to be sent: encoded bytes, one entry of `events` per row, in order. */
export interface Block {
  /** The events that became rows, as they were before the stateless transform. `events[i]` is row `i`. */
  events: EventList;
  /** The insert's body, in the format that the sink sends. */
  body: Buffer;
  rejected: Rejection[];
}

/** The rows of a block while they are written, for the columns of the target as they were when it was begun. */
export interface RowWriter {
  /** Adds the rows of events, in order. Events whose values do not fit their columns come back. Keeps none of them. */
  add(events: readonly Event[]): Rejection[];
  /** Bytes of the rows that were added. */
  readonly size: number;
  /** Whether the target's columns are still those that it writes for. */
  readonly isCurrent: boolean;
  /** The insert's body, in the format that the sink sends. Nothing may be added any more. */
  body(): Buffer;
}

/**
 * Where rows go. One object per pipeline start; the pipeline alone calls it.
 */
export interface Sink {
  /**
   * Connects, creates a missing table when asked to, finds out whether the target can deduplicate, and whether the
   * user's profile lets an insert be sent as it must be. Called again, with back-off, while its answer is not ok.
   */
  open(signal: AbortSignal): Promise<Answer>;
  /** Why the target cannot drop a repeated insert, with the statement that mends it; undefined if it can. Known after `open`. */
  readonly atLeastOnce: string | undefined;
  /**
   * Reads the target. Where `isFresh` is false an earlier reading will do, as long as few inserts and seconds lie
   * between: an older one only makes a batch count as uncertain sooner. An answer that is not ok where the server could
   * not be asked.
   */
  read(
    isFresh: boolean,
    signal: AbortSignal,
  ): Promise<{ kind: "read"; reading: Reading } | Exclude<Answer, { kind: "ok" }>>;
  /** Whether the target's server answers anything at all now. Cheap, and never throws. */
  isReachable(signal: AbortSignal): Promise<boolean>;
  /**
   * The walks over events of an origin whose own bytes can be rows; undefined where none can. They may be others after
   * each `open` and `read`.
   */
  rowWalks(origin: string | undefined): RowWalks | undefined;
  /** Begins the rows of a block. */
  begin(): RowWriter;
  /**
   * Inserts a block as one insert with `token`. Never throws for what the server or the network does. With
   * `ignoreViews` an error in a materialized view is no error: the base table gets the rows, and so do the other views.
   */
  insert(block: Block, token: string, signal: AbortSignal, options?: { ignoreViews?: boolean }): Promise<Answer>;
  /** Finds the bad rows of a block without writing to the target. */
  probe(block: Block, signal: AbortSignal): Promise<Probe>;
  /** Releases connections. Safe to call twice. */
  close(): Promise<void>;
}

/** The block of what a writer wrote of events, of which it gave those back that it `rejected`. */
export function blockOf(events: EventList, writer: RowWriter, rejected: readonly Rejection[]): Block {
  const gone = new Set(rejected.map(({ position }) => position));
  return { events: events.without(gone), body: writer.body(), rejected: [...rejected] };
}
