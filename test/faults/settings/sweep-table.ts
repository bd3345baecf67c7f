import type { SweepReport, TrialReport } from "./sweep.ts";

/** Fewer trials, or fewer that change anything, test nothing. */
const fewest = { trials: 2_000, effects: 50 };

/** Characters of a text in the table. */
const longest = 160;

/** Each trial that changed anything, what was not tried, and how many trials came to what. */
export function linesOf({ version, trials, left, seconds }: SweepReport): string[] {
  const changed = trials.filter(({ verdict }) => verdict.kind !== "nothing");
  return [
    "| setting | value | came to | as |",
    "| --- | --- | --- | --- |",
    ...changed.map(rowOf),
    ...left.map(
      ({ reason, names }) => `not tried, as ${reason}: ${names.length} (${names.slice(0, 3).join(", ")} ...)`,
    ),
    `ClickHouse ${version}: ${trials.length} trials in ${seconds} s: ${countsOf(trials)}`,
  ];
}

/** `isWhole`: all settings were tried. */
export function brokenBySettings({ trials }: SweepReport, isWhole: boolean): string[] {
  const effects = trials.filter(({ verdict }) => verdict.kind === "told" || verdict.kind === "named").length;
  const breaches = trials.flatMap(({ name, value, verdict }) =>
    verdict.kind === "breach" ? [`${name} = ${JSON.stringify(value)}: ${verdict.text}`] : [],
  );
  const isTooLittle = isWhole && (trials.length < fewest.trials || effects < fewest.effects);
  return [
    ...breaches,
    ...(isTooLittle
      ? [
          `expected ${fewest.trials} trials, ${fewest.effects} of them with an effect, found ${trials.length} and ${effects}`,
        ]
      : []),
  ];
}

function rowOf({ name, value, verdict }: TrialReport): string {
  const text = verdict.kind === "nothing" ? "" : verdict.text.replaceAll("|", "\\|").slice(0, longest);
  return `| ${name} | ${JSON.stringify(value)} | ${verdict.kind} | ${text} |`;
}

function countsOf(trials: readonly TrialReport[]): string {
  const counts = new Map<string, number>();
  for (const { verdict } of trials) counts.set(verdict.kind, (counts.get(verdict.kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ");
}
