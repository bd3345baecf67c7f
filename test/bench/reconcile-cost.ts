import { readFileSync } from "node:fs";
import type { Cost } from "./cost.ts";
import { peakMemory } from "./load.ts";

/** What a step took, with the gits that it ran. */
export interface StepCost extends Cost {
  /** Seconds from the moment when the revision was there; absent where none is fetched. */
  afterFetch?: number;
  /** Bytes in memory at its end. */
  resident: number;
}

/** The runs of each step, in the order in which the steps were first made. */
export type Measured = Record<string, StepCost[]>;

/** Runs `work` and notes its cost below `name`. It gives the moment when its revision was there, if it fetched one. */
export async function note(measured: Measured, name: string, work: () => Promise<number | void>): Promise<void> {
  const [started, before] = [performance.now(), cpu()];
  const fetched = await work();
  const ended = performance.now();
  const spent: StepCost = {
    seconds: (ended - started) / 1000,
    cpu: cpu() - before,
    memory: peakMemory(process.pid),
    resident: process.memoryUsage.rss(),
  };
  if (typeof fetched === "number") spent.afterFetch = (ended - fetched) / 1000;
  (measured[name] ??= []).push(spent);
}

/** CPU-seconds of this process and of its children that have ended, user and system. Linux only. */
export function cpu(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ");
  const children = (Number(fields[13]) + Number(fields[14])) / 100;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + children;
}
