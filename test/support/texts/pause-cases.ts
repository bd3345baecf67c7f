import * as clickhouse from "./clickhouse-cases.ts";
import * as kafka from "./kafka-cases.ts";
import * as other from "./other-cases.ts";
import { pausesOf, type PauseSection, type ToldPause } from "./pauses.ts";

/** One section for each class of a pause, in the order of the run-book. */
export const pauseSections: readonly PauseSection[] = [
  { class: "transient", cases: [...clickhouse.transient.cases, ...other.overdueCases] },
  { class: "setup", cases: [...clickhouse.setups.cases, ...other.startCases] },
  other.threads,
  clickhouse.rows,
  clickhouse.probes,
  clickhouse.partitions,
  { class: "view", cases: [...clickhouse.views.cases, ...other.viewCases] },
  other.uncertain,
  { class: "lost", cases: [...other.lostCases, ...kafka.lostCases] },
  other.storage,
  other.letterBounds,
  kafka.sources,
  kafka.owners,
  other.disks,
];

export async function pauseTexts(): Promise<ToldPause[]> {
  return (await Promise.all(pauseSections.map(pausesOf))).flat();
}
