import { appendFileSync } from "node:fs";
import { peakMemory } from "../bench/load.ts";

/** Whether attacks have their full sizes: `npm run faults -- attacks`. In `npm test` they are smaller. */
export const isFull = process.env["ATTACKS"] === "full";

const report = process.env["ATTACKS_REPORT"];

/** Notes what an attack cost its victim, for the long form: the peak of its memory, and other figures. */
export function measured(attack: string, pid: number, ...figures: string[]): void {
  const memory = `at most ${Math.round(peakMemory(pid) / 2 ** 20)} MiB`;
  if (report !== undefined) appendFileSync(report, `${[attack, ...figures, memory].join("; ")}\n`);
}
