import { brokerObstacle } from "../../support/kafka/obstacle.ts";
import { KafkaBroker } from "../../support/kafka/broker.ts";
import { type FileSystem, LoopDisk } from "../../support/loop-disk.ts";
import type { DiskOwner, Failure } from "./machine.ts";
import { failAgain, type PowerReport, type RoundOptions } from "./power.ts";
import { powerTable } from "./report.ts";

export interface PowerOptions {
  /** Of all rounds together. */
  failures: number;
  seed: number;
  log: (line: string) => void;
}

/** A pattern that picks rounds by their names, such as `xfs` or `Sluice`; all by default. */
const only = new RegExp(process.env["FAULTS_ONLY"] ?? "");

type Round = Pick<RoundOptions, "system" | "failure" | "diskOf" | "pace" | "hasChattr">;

const owners: readonly DiskOwner[] = ["both", "Sluice", "ClickHouse"];
const paces = ["dense", "slow"] as const;

/** Each disk of a file system, under dense and slow load. */
function roundsOf(failure: Failure, system: FileSystem): Round[] {
  return owners.flatMap((diskOf) => paces.map((pace) => ({ system, failure, diskOf, pace, hasChattr: true })));
}

/** Power goes also once where no log can be kept write by write. */
const powerRounds: readonly Round[] = [
  ...roundsOf("power", "ext4"),
  ...roundsOf("power", "xfs"),
  { system: "ext4", failure: "power", diskOf: "both", pace: "dense", hasChattr: false },
];

const diskRounds: readonly Round[] = [
  ...roundsOf("read-only", "ext4"),
  ...roundsOf("shut down", "ext4"),
  ...roundsOf("shut down", "xfs"),
];

function nameOf({ system, failure, diskOf, pace, hasChattr }: Round): string {
  return `${system}${hasChattr ? "" : " without chattr"}, ${failure}, disk of ${diskOf}, ${pace}`;
}

/** Cuts the power of machines of all kinds. Throws why there can be none here. */
export function cutAllPower(options: PowerOptions): Promise<PowerReport[]> {
  return failAll(powerRounds, options);
}

/** Lets disks of all kinds fail while the processes live on. Throws why there can be none here. */
export function failAllDisks(options: PowerOptions): Promise<PowerReport[]> {
  return failAll(diskRounds, options);
}

async function failAll(rounds: readonly Round[], { failures, seed, log }: PowerOptions): Promise<PowerReport[]> {
  const chosen = rounds.filter((round) => only.test(nameOf(round)));
  for (const system of new Set(chosen.map((round) => round.system))) {
    const obstacle = LoopDisk.obstacle(system);
    if (obstacle !== undefined) throw new Error(obstacle);
  }
  const obstacle = await brokerObstacle();
  if (obstacle !== undefined) throw new Error(obstacle);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, onSignal);
  const kafka = await KafkaBroker.start();
  const reports: PowerReport[] = [];
  try {
    for (const [index, round] of chosen.entries()) {
      log(nameOf(round));
      const share = { failures: Math.ceil(failures / chosen.length), seed: seed + index };
      const told = await failAgain({ ...round, ...share, kafka, log });
      for (const line of powerTable(told)) log(line);
      reports.push(...told);
    }
  } finally {
    await kafka.stop();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, onSignal);
  }
  for (const line of powerTable(reports)) log(line);
  return reports;
}

/** What is mounted is unmounted when the process exits, and a signal would end it without. */
function onSignal(): never {
  process.exit(130);
}
