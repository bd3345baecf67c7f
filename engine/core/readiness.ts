/**
 * Whether a pipeline could run, as far as that can be known without running it. `zeroed`: the columns that store a zero
 * value for a field that is null or absent, as theirs may be; `atLeastOnce`: why a repeated insert may double rows;
 * `profileRemark`: settings of the sink's user that may change rows.
 * `refused`: a person has to correct something. `unreachable`: a server did not answer, so it is not known.
 */
export type Readiness =
  | { kind: "ready"; table?: TableOrder; zeroed?: string[]; atLeastOnce?: string; profileRemark?: string }
  | { kind: "refused" | "unreachable"; text: string };

/** What the target's table is like, where there is one and it tells. */
export interface TableOrder {
  /** Such as `ReplacingMergeTree`. */
  engine: string;
  /** The columns and expressions of its ORDER BY; none for `tuple()`. */
  order_by: string[];
}
