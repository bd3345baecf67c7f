import type { ExternalAudit } from "./audit.ts";
import { type Counted, counted, type UncertainBatch } from "./batch-notes.ts";
import { type ExternalVariant, nameOf } from "./variants.ts";

/** What came of one pipeline: what is there, and what Sluice said and counted of it. */
export interface ExternalReport extends ExternalAudit {
  variant: ExternalVariant;
  /** The most batches that were seen under way at one time. */
  underWay: number;
  /** How often it was logged, by all processes and by the last one. */
  logged: (what: Counted) => number;
  loggedLast: (what: Counted) => number;
  /** The counters of all processes, as far as they were sampled, and those of the last one in the end. */
  counted: Record<string, number>;
  countedLast: Record<string, number>;
  uncertain: readonly UncertainBatch[];
}

/** What must not be, a sentence each: rows that are wrong, and counters that say something else than the log. */
export function brokenBy(report: ExternalReport): string[] {
  const { variant, broken, lostRows, doubledRows } = report;
  const isSkip = variant.on_uncertain === "skip";
  const claims: [boolean, string][] = [
    [isSkip && doubledRows > 0, `${doubledRows} rows are doubled with on_uncertain: skip`],
    [!isSkip && lostRows > 0, `${lostRows} rows are lost with on_uncertain: insert`],
  ];
  const wrong = claims.filter(([isBroken]) => isBroken).map(([, text]) => text);
  return [...broken, ...wrong, ...miscounted(report)].map((text) => `${nameOf(variant)}: ${text}`);
}

/**
 * A process that is killed counts no more than it has logged. The last one ended by itself: its counters and its log say
 * the same.
 */
function miscounted({ logged, loggedLast, counted: sums, countedLast, uncertain }: ExternalReport): string[] {
  const more = counted.filter((what) => (sums[what] ?? 0) > logged(what));
  const other = counted.filter((what) => countedLast[what] !== loggedLast(what));
  const skipped = uncertain.reduce((sum, { choice, rows }) => sum + (choice === "skip" ? rows : 0), 0);
  const skippedByCount = sums["events_skipped"] ?? 0;
  return [
    ...more.map((what) => `${what} is ${sums[what]}, and was logged ${logged(what)} times`),
    ...other.map(
      (what) => `${what} of the last process is ${countedLast[what]}, and was logged ${loggedLast(what)} times`,
    ),
    ...(skippedByCount > skipped
      ? [`events_skipped is ${skippedByCount}, and batches of ${skipped} were skipped`]
      : []),
  ];
}

/** What all pipelines together must have met, and did not. `dropped`: repeats that the server dropped. */
export function missing(reports: readonly ExternalReport[], dropped: number): string[] {
  const of = (what: Counted, choice?: string): number =>
    reports
      .filter(({ variant }) => choice === undefined || variant.on_uncertain === choice)
      .reduce((sum, { logged }) => sum + logged(what), 0);
  const claims: [boolean, string][] = [
    [dropped === 0, "repeats that the server dropped"],
    [of("batches_replayed") === 0, "batches of an earlier process"],
    [of("inserts_repeated") === 0, "inserts sent again with their token"],
    [of("batches_uncertain", "insert") === 0, "uncertain batches that were inserted anew"],
    [of("batches_uncertain", "skip") === 0, "uncertain batches that were skipped"],
    [of("tokens_without_rows") === 0, "batches that the server had nothing of, by its block numbers"],
    [reports.every(({ doubledBatches }) => doubledBatches === 0), "an uncertain batch that is there twice"],
    [reports.some(({ rows }) => rows === 0), "rows of every pipeline"],
  ];
  const unseen = claims.filter(([isMissing]) => isMissing).map(([, what]) => `expected ${what}, saw none`);
  const single = reports.filter(({ underWay }) => underWay < 2).map(({ variant }) => nameOf(variant));
  return [...unseen, ...single.map((name) => `${name}: expected two batches under way, saw one at most`)];
}

const columns = {
  pipeline: 22,
  rows: 9,
  replayed: 10,
  repeated: 10,
  uncertain: 11,
  "no rows": 9,
  "batches twice": 15,
  "rows twice": 12,
  "rows skipped": 14,
  "under way": 11,
} as const;

type Cell = string | number;

function line(cells: readonly Cell[]): string {
  const widths = Object.values(columns);
  const padded = cells.map((cell, index) => String(cell).padStart(widths[index] ?? 0));
  return [String(cells[0]).padEnd(columns.pipeline), ...padded.slice(1)].join("");
}

export const heading = line(Object.keys(columns));

/** One line of the table. */
export function lineOf(report: ExternalReport): string {
  const { variant, rows, logged, doubledBatches, doubledRows, lostRows, underWay } = report;
  const said = (["batches_replayed", "inserts_repeated", "batches_uncertain", "tokens_without_rows"] as const).map(
    logged,
  );
  const cells = [nameOf(variant), rows, ...said, doubledBatches, doubledRows, lostRows, underWay];
  return `${line(cells)}   ${brokenBy(report).length === 0 ? "as it may be" : "BROKEN"}`;
}
