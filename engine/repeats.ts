import type { WaitingDrop } from "./core/journal.ts";
import type { KeyMemory } from "./core/key-memory.ts";

/** Drops that are no repeats after all, judged for a batch of their own. */
export interface JudgedAgain {
  /** Number of that batch. */
  batch: number;
  clock: number;
  /** Positions that become rows: their keys are reserved for that batch. */
  firsts: number[];
  /** Those that repeat one of `firsts`, and so wait for that batch. */
  waiting: WaitingDrop[];
}

/**
 * Settles the drops of a batch that repeat an event which was not in the table yet (delivery, dedup): waits until what
 * they repeat is in the table, or its batch gave the key up, and judges them again, all at one moment.
 *
 * Nothing is reserved while it waits, and waiting for *written*, not for *committed*, cannot end in a circle: what a
 * batch needs to be written never waits for another one's drops.
 */
export async function settleDrops(
  waiting: readonly WaitingDrop[],
  keys: KeyMemory,
  now: () => number,
  drawNumber: () => number,
  left: Promise<never>,
): Promise<JudgedAgain> {
  const drops = waiting.map((drop) => ({ drop, print: Uint32Array.from(drop.print) }));
  for (;;) {
    const clock = now();
    const open = drops.find(({ print }) => keys.look(print, clock) === "waiting");
    if (open !== undefined) {
      await Promise.race([keys.settled(open.print), left]);
      continue;
    }
    const judged: JudgedAgain = { batch: drawNumber(), clock, firsts: [], waiting: [] };
    for (const { drop, print } of drops) {
      const sight = keys.see(print, drop.position, judged.batch, clock, drop.window ?? 0);
      if (sight === "first") judged.firsts.push(drop.position);
      if (sight === "waiting") judged.waiting.push(drop);
    }
    return judged;
  }
}
