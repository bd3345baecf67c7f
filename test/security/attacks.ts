import { appendFileSync } from "node:fs";
import { peakMemory } from "../bench/load.ts";

/** Whether attacks have their full sizes: `npm run faults -- attacks`. In `npm test` they are smaller. */
export const isFull = process.env["ATTACKS"] === "full";

/** In the long form: milliseconds until an event of a neighbour is a row, but for one in a hundred. */
export const longestDelay = 2_000;
/** In the long form: bytes that a process may hold at the most while it is attacked. */
const mostMemory = 1024 * 1024 * 1024;

const report = process.env["ATTACKS_REPORT"];

/**
 * Notes what an attack cost its victim, for the long form: the peak of its memory, and other figures. Throws there where it took
 * more memory than it may.
 */
export function measured(attack: string, pid: number, ...figures: string[]): void {
  const peak = peakMemory(pid);
  const memory = `at most ${Math.round(peak / 2 ** 20)} MiB`;
  if (report !== undefined) appendFileSync(report, `${[attack, ...figures, memory].join("; ")}\n`);
  if (isFull && peak >= mostMemory) throw new Error(`${attack}: expected less than 1 GiB of memory`);
}
