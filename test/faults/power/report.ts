import type { PowerReport } from "./power.ts";

/** What must not be, a sentence each; empty where every promise was kept. */
export function brokenByPower(reports: readonly PowerReport[]): string[] {
  // Sluice ends itself where its disk fails, with code 1.
  const endings = reports.flatMap((report) =>
    report.endings.filter((how) => how !== "code 1").map((how) => `${roundText(report)}: a process ended by ${how}`),
  );
  const counts = reports.flatMap((report) => {
    const { lost, strangers, accepted, named } = report;
    const wrongs = { lost, doubled: isCounted(report) ? 0 : report.doubled, strangers };
    const wrong = Object.entries(wrongs).filter(([, count]) => count > 0);
    const texts = wrong.map(([what, count]) => `${count} ${what} (${named.join("; ")})`);
    if (accepted === 0) texts.push("nothing was accepted, so nothing was tested");
    return texts.map((text) => `${roundText(report)}, ${report.subject}: ${text}`);
  });
  return [...new Set(endings), ...counts];
}

/** Rows of a batch of any of the pipelines, at the most. */
const mostRows = 500;

/** Whether rows may be doubled, and are of batches that count as uncertain. */
function isCounted({ round, doubled, uncertain }: PowerReport): boolean {
  return !round.hasChattr && doubled <= uncertain * mostRows;
}

/** What the reports of a run must have seen together, and did not. */
export function unseenByPower(reports: readonly PowerReport[]): string[] {
  const without = reports.filter(({ round }) => !round.hasChattr);
  const isUncertain = without.length === 0 || without.some(({ uncertain }) => uncertain > 0);
  return [
    ...(reports.some(({ replayed }) => replayed > 0) ? [] : ["expected batches replayed, saw none"]),
    ...(isUncertain ? [] : ["expected uncertain batches where logs are not kept write by write, saw none"]),
  ];
}

const widths = [20, 11, 41, 6, 10, 10, 10, 6, 9, 11] as const;

function line(cells: readonly (string | number)[]): string {
  return cells
    .map((cell, index) => (index < 3 ? String(cell).padEnd(widths[index]!) : String(cell).padStart(widths[index]!)))
    .join("");
}

export const powerHeading = line([
  "system",
  "disk of",
  "pipeline",
  "times",
  "accepted",
  "rows",
  "replayed",
  "lost",
  "doubled",
  "uncertain",
]);

/** A line for each pipeline, disk and file system, of all rounds together. */
export function powerTable(reports: readonly PowerReport[]): string[] {
  const groups = new Map<string, PowerReport[]>();
  for (const report of reports) {
    const key = [...placeOf(report), report.subject].join("/");
    groups.set(key, [...(groups.get(key) ?? []), report]);
  }
  return [powerHeading, ...[...groups.values()].map(groupLine)];
}

function groupLine(group: readonly PowerReport[]): string {
  const sum = (count: (report: PowerReport) => number): number => group.reduce((total, one) => total + count(one), 0);
  return line([
    ...placeOf(group[0]!),
    group[0]!.subject,
    sum(({ round }) => round.failures),
    sum(({ accepted }) => accepted),
    sum(({ rows }) => rows),
    sum(({ replayed }) => replayed),
    sum(({ lost }) => lost),
    sum(({ doubled }) => doubled),
    sum(({ uncertain }) => uncertain),
  ]);
}

function placeOf({ round: { system, failure, hasChattr, diskOf } }: PowerReport): [system: string, disk: string] {
  return [`${system}${hasChattr ? "" : " -S"}, ${failure}`, diskOf];
}

function roundText({ round: { system, failure, hasChattr, diskOf, pace } }: PowerReport): string {
  return `${system}${hasChattr ? "" : " without chattr"}, ${failure}, disk of ${diskOf}, ${pace}`;
}
