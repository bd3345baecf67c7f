import type { KillReport } from "./delivery.ts";

const words = {
  replayed: "a batch replayed",
  repeated: "an insert repeated",
  dropped: "a repeat dropped by the server",
};

/** What a report says that must not be; empty where every promise was kept and the kill hit what it was for. */
export function broken({ lost, doubled, strangers, seen, expected }: KillReport): string[] {
  const sights = Object.keys(words) as (keyof typeof words)[];
  return [
    ...told("lost", lost),
    ...told("doubled", doubled),
    ...told("never posted", strangers),
    ...sights.filter((sight) => seen[sight] < expected[sight]).map((sight) => `expected ${words[sight]}, saw none`),
  ];
}

function told(what: string, ids: readonly string[]): string[] {
  return ids.length === 0
    ? []
    : [`${ids.length} ${what}: ${ids.slice(0, 5).join(", ")}${ids.length > 5 ? ", ..." : ""}`];
}

/** What a whole run must have seen and did not. */
export function missing(reports: readonly KillReport[]): string[] {
  const repeating = reports.filter(({ variant }) => variant.repeats > 0);
  const names = [...new Set(repeating.map(({ variant }) => variant.name))];
  return names.flatMap((name) => {
    const own = repeating.filter(({ variant }) => variant.name === name);
    return [
      ...(own.every(({ seen }) => seen.waited === 0) ? [`${name}: no drop of a repeat ever waited`] : []),
      ...(own.every(({ seen }) => seen.judgedAgain === 0) ? [`${name}: no drop was ever judged again`] : []),
    ];
  });
}

/** One line. */
export function lineOf(report: KillReport): string {
  const { kills, variant, accepted, unanswered, rows, deadLetters, seen } = report;
  const problems = broken(report);
  return [
    `${kills.padEnd(22)} ${variant.name.padEnd(30)}`,
    `accepted ${accepted}, unanswered ${unanswered}, rows ${rows}, dead letters ${deadLetters}`,
    `replayed ${seen.replayed}, repeated ${seen.repeated}, dropped ${seen.dropped}, drops that waited ${seen.waited}, judged again ${seen.judgedAgain}`,
    problems.length === 0 ? "exact" : `BROKEN: ${problems.join("; ")}`,
  ].join("   ");
}

/** A line for each pipeline over all that was done to it. The counts of events go on from kill to kill: the last ones are all. */
export function summaryOf(reports: readonly KillReport[]): string[] {
  const names = [...new Set(reports.map(({ variant }) => variant.name))];
  const columns = [
    "kills",
    "accepted",
    "rows",
    "dead letters",
    "replayed",
    "repeated",
    "dropped",
    "waited",
    "again",
    "broken",
  ];
  const rows = names.map((name) => {
    const own = reports.filter(({ variant }) => variant.name === name);
    const last = own.at(-1)!;
    const sum = (of: (report: KillReport) => number): number => own.reduce((total, report) => total + of(report), 0);
    return [
      name,
      own.length,
      last.accepted,
      last.rows,
      last.deadLetters,
      sum(({ seen }) => seen.replayed),
      sum(({ seen }) => seen.repeated),
      sum(({ seen }) => seen.dropped),
      sum(({ seen }) => seen.waited),
      sum(({ seen }) => seen.judgedAgain),
      own.filter((report) => broken(report).length > 0).length,
    ];
  });
  return [["", ...columns], ...rows].map(([name, ...cells]) =>
    [String(name).padEnd(32), ...cells.map((cell) => String(cell).padStart(13))].join(""),
  );
}
