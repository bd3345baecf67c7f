import type { DeadLetter } from "../../engine/index.ts";

/** A row as the table has it, by its columns. Whole numbers beyond the safe range are bigints. */
export type Row = Readonly<Record<string, unknown>>;

/** The part of a dead letter that does not differ from run to run. */
export type Letter = Pick<DeadLetter, "component" | "reason" | "error" | "original_message">;

/** An event that the webhook or the OTLP receiver did not take. */
export interface Refusal {
  status: number;
  message: string;
}

/** What became of one event of a test. An export request of OTLP may hold several. */
export interface Outcome {
  /** Rows that were written; their content, where the table says which insert a row is of. */
  written: number;
  rows?: readonly Row[];
  filtered: number;
  deduplicated: number;
  /** Left events of a join that wait for their right one. */
  waits?: number;
  /** A right event that a join keeps for left ones, and that made no row yet. */
  kept?: true;
  /** Left events that came before, and whose window ended without a right one. */
  unmatched?: number;
  dead_letters: readonly Letter[];
  refused?: Refusal;
}

/** What became of the events of a test, in their order. With a `failure` it ended early, and nothing is compared. */
export interface Found {
  outcomes: readonly Outcome[];
  /** All rows of the table; in the order of the events where that is known. */
  rows: readonly Row[];
  failure?: string;
}

/** An outcome in a few words, such as `filtered` or `row {"id":1}`. */
export function outcomeText(outcome: Outcome, json: (value: unknown) => string): string {
  const { written, rows, filtered, deduplicated, dead_letters, refused } = outcome;
  const { waits = 0, kept = false, unmatched = 0 } = outcome;
  const parts = [
    ...(rows?.map((row) => `row ${json(row)}`) ?? (written === 0 ? [] : [counted(written, "row")])),
    ...(filtered === 0 ? [] : [filtered === 1 ? "filtered" : `${filtered} filtered`]),
    ...(deduplicated === 0 ? [] : [deduplicated === 1 ? "deduplicated" : `${deduplicated} deduplicated`]),
    ...(waits === 0 ? [] : [waits === 1 ? "waits for its right event" : `${waits} wait for their right events`]),
    ...(kept ? ["kept for left events"] : []),
    ...(unmatched === 0 ? [] : [`${counted(unmatched, "earlier left event")} left unmatched`]),
    ...dead_letters.map(({ component, reason, error }) => `dead letter of ${component}, ${reason}: ${error}`),
    ...(refused === undefined ? [] : [`refused with ${refused.status}: ${refused.message}`]),
  ];
  return parts.length === 0 ? "nothing" : parts.join("; ");
}

/** A number of things, such as `2 rows`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
