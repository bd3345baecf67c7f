/**
 * Whether a pipeline could run, as far as that can be known without running it. `refused`: a person has to correct
 * something. `unreachable`: a server did not answer, so it is not known.
 */
export type Readiness = { kind: "ready"; table?: TableOrder } | { kind: "refused" | "unreachable"; text: string };

/** What the target's table is like, where there is one and it tells. */
export interface TableOrder {
  /** Such as `ReplacingMergeTree`. */
  engine: string;
  /** The columns and expressions of its ORDER BY; none for `tuple()`. */
  order_by: string[];
}
