import { brokerObstacle } from "../../support/kafka/obstacle.ts";
import { KafkaBroker } from "../../support/kafka/broker.ts";
import { type FileSystem, LoopDisk } from "./loop-disk.ts";
import type { PowerCut } from "./machine.ts";
import { losePower, type PowerReport, type RoundOptions } from "./power.ts";
import { powerTable } from "./report.ts";

export interface PowerOptions {
  /** Power cuts, of all rounds together. */
  cuts: number;
  seed: number;
  log: (line: string) => void;
}

/** A pattern that picks rounds by their names, such as `xfs` or `Sluice`; all by default. */
const only = new RegExp(process.env["FAULTS_ONLY"] ?? "");

type Round = Pick<RoundOptions, "system" | "cut" | "pace" | "hasChattr">;

/** Each disk of each file system, under dense and slow load; and once where no log can be kept write by write. */
function rounds(): Round[] {
  const systems: FileSystem[] = ["ext4", "xfs"];
  const cuts: PowerCut[] = ["both", "Sluice", "ClickHouse"];
  const paces = ["dense", "slow"] as const;
  const all = systems.flatMap((system) =>
    cuts.flatMap((cut) => paces.map((pace): Round => ({ system, cut, pace, hasChattr: true }))),
  );
  return [...all, { system: "ext4", cut: "both", pace: "dense", hasChattr: false }];
}

function nameOf({ system, cut, pace, hasChattr }: Round): string {
  return `${system}${hasChattr ? "" : " without chattr"}, disk of ${cut}, ${pace}`;
}

/** Cuts the power of machines of all kinds. Throws why there can be none here. */
export async function cutAllPower({ cuts, seed, log }: PowerOptions): Promise<PowerReport[]> {
  const chosen = rounds().filter((round) => only.test(nameOf(round)));
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
      const share = { cuts: Math.ceil(cuts / chosen.length), seed: seed + index };
      const told = await losePower({ ...round, ...share, kafka, log });
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
