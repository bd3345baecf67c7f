import type { BatchReader, Clock, Released } from "../batch/reader.ts";
import { LeftForLater } from "../core/errors.ts";
import type { BatchOrigin, BatchRecord } from "../core/journal.ts";
import type { Fate } from "../core/key-memory.ts";
import { narrowed, type Place } from "../core/positions.ts";
import { unlessAborted } from "../flow/unless-aborted.ts";
import { prepareBatch, type PreparedBatch, type PrepareOptions } from "./prepared-batch.ts";

export interface ReleaseOptions extends PrepareOptions {
  clock: Clock;
  reader: BatchReader;
  drawNumber: () => number;
}

/**
 * Settles the duplicates of a batch whose original was not in the table yet (docs/delivery-protocol.md, "Drops that
 * wait"). If the original is rejected they are no duplicates: they are released, as a batch of their own.
 */
export class ReleasedDuplicates {
  readonly #with: ReleaseOptions;

  constructor(options: ReleaseOptions) {
    this.#with = options;
  }

  /**
   * The batch of the duplicates that a batch releases, not durable yet; undefined where it releases none. Waits for
   * their originals. Throws LeftForLater.
   */
  async of({ record, builder }: PreparedBatch): Promise<PreparedBatch | undefined> {
    if (record.waiting.length === 0) return undefined;
    // One that is gone from the source takes no key, as no row can be made of it.
    const waiting = record.waiting.filter(({ position }) => builder.received([position]).length > 0);
    const { pipeline_id, telemetry, reader, compiled } = this.#with;
    const released = await this.#settle({ ...record, waiting });
    const again = released.firsts.length;
    const repeats = waiting.length - again - released.waiting.length;
    telemetry.dropsWaited({ pipeline_id, batch: record.batch, repeats, again });
    if (again === 0) return undefined;
    const places = [...released.firsts, ...released.waiting.map(({ position }) => position)].toSorted((a, b) => a - b);
    const built = reader.released(builder.received(places), compiled, released);
    return prepareBatch(built, this.#with, originOf(record, places));
  }

  /**
   * Waits until each original is in the table, which makes the other a duplicate even if the key has expired since, or
   * until its key is free. Dedup then decides again on the duplicates with free keys, all at one moment, by the clock
   * of their batch: one is still a duplicate if a later event has the key now; the first of a key has it for its window
   * from that clock on. If the clock was set back since, the present time counts, as no key may be stamped in the
   * future.
   *
   * There is no deadlock: nothing is reserved during the wait, and it waits for other batches to be *written*, not
   * *committed*; writing a batch never waits for the duplicates of another one.
   */
  async #settle({ batch, clock: stamped, waiting }: BatchRecord): Promise<Released> {
    const { keys, clock: now } = this.#with;
    const fates = await this.#orLeft(Promise.all(waiting.map((drop) => keys.fateOfDrop(batch, drop))));
    const freed = waiting.filter((_drop, index) => fates[index] === "free");
    const open = new Set(freed.map((drop) => ({ drop, print: Uint32Array.from(drop.print) })));
    for (;;) {
      const clock = Math.min(stamped, now.now());
      const held = [...open].find(({ print }) => keys.look(print, clock) === "waiting");
      if (held !== undefined) {
        const fate: Fate = await this.#orLeft(keys.fate(held.print));
        if (fate === "written") open.delete(held);
        continue;
      }
      const released: Released = { batch: this.#with.drawNumber(), clock, firsts: [], waiting: [] };
      for (const { drop, print } of open) {
        const sight = keys.see(print, drop.position, released.batch, clock, drop.window ?? 0, drop.dedup);
        if (sight === "first") released.firsts.push(drop.position);
        if (sight === "waiting") released.waiting.push({ ...drop, of: released.batch });
      }
      keys.dropsSettled(batch);
      return released;
    }
  }

  /** Throws LeftForLater where the pipeline leaves meanwhile. */
  async #orLeft<T extends Fate | Fate[]>(waited: Promise<T>): Promise<T> {
    const found = await unlessAborted(waited, this.#with.leave);
    if (found === undefined) throw new LeftForLater("the pipeline leaves");
    return found;
  }
}

function originOf({ madeOf }: BatchRecord, places: Place[]): BatchOrigin {
  // The places of dead letters are their numbers.
  if (madeOf.kind === "letters") return { kind: "letters", numbers: places };
  return { kind: "released", ranges: narrowed(madeOf.ranges, places) };
}
