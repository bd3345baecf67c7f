import type { TableAudit } from "./counted-table.ts";
import type { KafkaSight } from "./kafka-steps.ts";
import type { KafkaVariant } from "./kafka-variants.ts";

/** What came of a pipeline: the whole of what was produced so far, and what the last kills caused. */
export interface KafkaReport extends TableAudit {
  /** What was done to it, in a few words. */
  kills: string;
  variant: KafkaVariant;
  members: number;
  /** Ids that were produced. */
  distinct: number;
  deadLetters: number;
  /** What the steps of a join were that its model does not allow. */
  unlikeModel?: readonly string[];
  seen: KafkaSeen;
  /** What must be seen at least. */
  expected: KafkaSight;
}

export interface KafkaSeen extends KafkaSight {
  /** Drops of repeats that waited until what they repeat was in the table. */
  waited: number;
}

const sights = {
  replayed: "batches replayed",
  repeated: "inserts repeated",
  dropped: "repeats dropped by the server",
  behind: "positions that the group had not heard of",
};

const wrongs = ["lost", "doubled", "strangers", "changed"] as const;

/** What a report says that must not be; empty where every promise was kept and the kill hit what it was for. */
export function brokenBy(report: KafkaReport): string[] {
  const { count, unique, distinct, deadLetters, seen, expected, unlikeModel = [] } = report;
  const named = wrongs.filter((what) => report[what].length > 0);
  const unseen = (Object.keys(sights) as (keyof typeof sights)[]).filter((sight) => seen[sight] < expected[sight]);
  return [
    ...(count === distinct && unique === distinct
      ? []
      : [`expected ${distinct} rows and ids, found ${count} rows and ${unique} ids`]),
    ...named.map((what) => `${what}: ${report[what].join(", ")}`),
    ...unlikeModel.slice(0, 5),
    ...(deadLetters === 0 ? [] : [`${deadLetters} good events are dead letters`]),
    ...unseen.map((sight) => `expected at least ${expected[sight]} ${sights[sight]}, saw ${seen[sight]}`),
  ];
}

/** What the reports of one run must have seen together, and did not. */
export function missing(run: readonly KafkaReport[]): string[] {
  const random = run.at(-1)!;
  const { variant, members } = random;
  const isUnseen = (what: "replayed" | "repeated" | "dropped"): boolean => random.seen[what] === 0;
  const unseen = (["replayed", "repeated", "dropped"] as const).filter(isUnseen).map((what) => sights[what]);
  const noneWaited = variant.dropsRepeats && run.every(({ seen }) => seen.waited === 0);
  return [...unseen, ...(noneWaited ? ["drops of repeats that waited"] : [])].map(
    (what) => `${variant.name}, members: ${members}: expected ${what}, saw none`,
  );
}

const columns = {
  step: 32,
  variant: 22,
  members: 8,
  "distinct ids": 14,
  count: 10,
  uniqExact: 11,
  replayed: 10,
  repeated: 10,
  dropped: 9,
} as const;

type Cell = string | number;

function line(cells: readonly Cell[]): string {
  const widths = Object.values(columns);
  return cells
    .map((cell, index) => (index < 2 ? String(cell).padEnd(widths[index]!) : String(cell).padStart(widths[index] ?? 0)))
    .join("");
}

export const heading = line(Object.keys(columns));

/** One line of the table. */
export function lineOf(report: KafkaReport): string {
  const { kills, variant, members, distinct, count, unique, seen } = report;
  const { replayed, repeated, dropped } = seen;
  const broken = brokenBy(report);
  const cells = [kills, variant.name, members, distinct, count, unique, replayed, repeated, dropped];
  return `${line(cells)}   ${broken.length === 0 ? "exact" : `BROKEN: ${broken.join("; ")}`}`;
}
