import type { ExternalAudit } from "../external/audit.ts";

/** What came of one scene: what is there, and what Sluice and the servers said and counted of it. */
export interface ReplicatedReport extends ExternalAudit {
  /** What was done, in a few words. */
  name: string;
  /** Events that were answered 202. */
  sent: number;
  /** Batches of which it was said that they may have been written before, and what was chosen for them. */
  uncertain: number;
  /** Batches taken from the journal after a kill, and inserts that were sent again with their token. */
  replayed: number;
  repeated: number;
  /** Inserts that the servers dropped as repeats. */
  dropped: number;
  /** Failed inserts of the last process by the name of the error. */
  failures: Record<string, number>;
  /** Whether Sluice reports in the end that it delivers at least once. */
  isAtLeastOnce: boolean;
}

/** What a scene must have met at least, so that it proves something: a name for it, and whether it was met. */
export type Sights = Readonly<Record<string, boolean>>;

/** What must not be, a sentence each. */
export function brokenBy({ name, broken }: ReplicatedReport, sights: Sights): string[] {
  const unseen = Object.entries(sights).filter(([, isSeen]) => !isSeen);
  return [...broken, ...unseen.map(([what]) => `expected ${what}, saw none`)].map((text) => `${name}: ${text}`);
}

const columns = { sent: 8, rows: 8, lost: 6, doubled: 9, uncertain: 11, replayed: 10, repeated: 10, dropped: 9 };
const nameWidth = 74;

type Column = keyof typeof columns;

/** Rows beyond those sent are of posts whose answer a kill took. */
export const heading = `${line("fault", (column) => column)}   verdict     failures of the last process`;

/** One line of the table. `problems`: what `brokenBy` says. */
export function lineOf(report: ReplicatedReport, problems: readonly string[]): string {
  const cells = { ...report, lost: report.lostRows, doubled: report.doubledRows };
  const isAllowed = cells.lost + cells.doubled > 0 ? "as counted" : "exact";
  const failures = Object.entries(report.failures).map(([error, count]) => `${error} ${count}`);
  const verdict = problems.length === 0 ? isAllowed : "BROKEN";
  return `${line(report.name, (column) => cells[column])}   ${verdict.padEnd(12)}${failures.join(", ")}`;
}

function line(name: string, cellOf: (column: Column) => string | number): string {
  const cells = Object.entries(columns).map(([column, width]) => String(cellOf(column as Column)).padStart(width));
  return `${name.padEnd(nameWidth)}${cells.join("")}`;
}
