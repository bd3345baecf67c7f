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

/** A batch whose drops wait: its number, its clock and the drops. */
export interface Dropped {
  batch: number;
  clock: number;
  waiting: readonly WaitingDrop[];
}

/**
 * Settles the drops of a batch that repeat an event which was not in the table yet (delivery, dedup): waits until what
 * each repeats is in the table, which makes it a repeat whatever the clock says by then; or until that gave the key up.
 * Those are judged again, all at one moment, by the clock of their batch: whoever came later and has the key now makes
 * them repeats too, and one that is the first has its key for its window from that clock on. Where the clock was set
 * back since, its time of now counts, as no key may be stamped in the future.
 *
 * Nothing is reserved while it waits, and waiting for *written*, not for *committed*, cannot end in a circle: what a
 * batch needs to be written never waits for another one's drops.
 */
export async function settleDrops(
  { batch, clock: stamped, waiting }: Dropped,
  keys: KeyMemory,
  now: () => number,
  drawNumber: () => number,
  left: Promise<never>,
): Promise<JudgedAgain> {
  const fates = await Promise.race([Promise.all(waiting.map((drop) => keys.fateOfDrop(batch, drop))), left]);
  const freed = waiting.filter((_drop, index) => fates[index] === "free");
  const open = new Set(freed.map((drop) => ({ drop, print: Uint32Array.from(drop.print) })));
  for (;;) {
    const clock = Math.min(stamped, now());
    const held = [...open].find(({ print }) => keys.look(print, clock) === "waiting");
    if (held !== undefined) {
      if ((await Promise.race([keys.fate(held.print), left])) === "written") open.delete(held);
      continue;
    }
    const judged: JudgedAgain = { batch: drawNumber(), clock, firsts: [], waiting: [] };
    for (const { drop, print } of open) {
      const sight = keys.see(print, drop.position, judged.batch, clock, drop.window ?? 0);
      if (sight === "first") judged.firsts.push(drop.position);
      if (sight === "waiting") judged.waiting.push({ ...drop, of: judged.batch });
    }
    keys.dropsSettled(batch);
    return judged;
  }
}
