import type { Row, SimulatedColumn } from "./column-values.ts";

/** A row that a check of the table concerns. */
type Predicate = (row: Row) => boolean;

/** How a table is made. */
export interface TableOptions {
  database?: string;
  name?: string;
  columns: readonly SimulatedColumn[];
  /** `MergeTree` by default; one that starts with `Replicated` has its block numbers per partition and its log shared. */
  engine?: string;
  /** Blocks that are remembered; 0 for none, 10,000 by default. */
  window?: number;
  /** Seconds for which a replicated table remembers them; 3,600 by default. */
  windowSeconds?: number;
  /** PARTITION BY, as text and as what it does. */
  partitionBy?: { expression: string; of: (row: Row) => string | number };
  constraints?: readonly { name: string; expression: string; holds: Predicate }[];
  /** Fails while the part that has such a row is written, as a skip index does: the partitions before it stay. */
  brokenIndex?: { code: number; fails: Predicate };
  /** Whether an insert is on disk before it is answered; true by default. */
  isSynced?: boolean;
  views?: readonly ViewOptions[];
  /** `async_insert = 1` as a setting of the table: its inserts are collected with others, and no token counts. */
  isAsync?: boolean;
}

/** A materialized view. */
export interface ViewOptions {
  name: string;
  /** The table that it writes to. */
  to: TableOptions;
  /** Its query, as text and as the row that it makes of one; the same one by default. */
  query?: string;
  select?: (row: Row) => Row;
  /** It fails with this code for such rows, when the table has them already. */
  broken?: { code: number; fails: Predicate } | undefined;
}

/** Rows of one partition of one insert. */
export interface Part {
  partition: string;
  block: number;
  rows: readonly Row[];
  token: string | undefined;
  /** When each replica shows it, by the monotonic clock, in milliseconds. */
  seenAt: readonly number[];
  /** Whether it survives that the machine loses its power. */
  isOnDisk: boolean;
}

/** What a write needs to know besides its rows. */
export interface WriteContext {
  /** The server's clock, in milliseconds since the epoch. */
  now: number;
  token: string | undefined;
  /** What the blocks of the insert are known by, as `identityOf` says; undefined where they are not to be known. */
  identity: string | undefined;
  /** When each replica shows the part, by the monotonic clock, in milliseconds. */
  seenAt: readonly number[];
}
