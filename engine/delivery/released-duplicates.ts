import type { BatchReader, Clock, Released } from "../batch/reader.ts";
import { LeftForLater } from "../core/errors.ts";
import type { BatchOrigin, BatchRecord } from "../core/journal.ts";
import type { Fate } from "../core/key-memory.ts";
import { narrowed, type Place } from "../core/positions.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { prepareBatch, type PreparedBatch, type PrepareOptions } from "./prepared-batch.ts";

export interface ReleaseOptions extends PrepareOptions {
  clock: Clock;
  telemetry: Telemetry;
  reader: BatchReader;
  drawNumber: () => number;
}

/**
 * Settles the duplicates of a batch that repeat an event which was not in the table yet (docs/delivery-protocol.md,
 * "Drops that wait"). Where that event died, they are no duplicates any more: they are released, as a batch of their own.
 */
export class ReleasedDuplicates {
  readonly #with: ReleaseOptions;
  /** Rejects when the pipeline leaves at once. */
  readonly #left: Promise<never>;

  constructor(options: ReleaseOptions) {
    this.#with = options;
    this.#left = new Promise((_resolve, reject) => {
      const leave = (): void => reject(new LeftForLater("the pipeline leaves"));
      options.leave.addEventListener("abort", leave, { once: true });
    });
    this.#left.catch(() => undefined);
  }

  /** What a batch releases, built and not durable yet; undefined where it is nothing. Waits. Throws LeftForLater. */
  async of({ record, builder }: PreparedBatch): Promise<PreparedBatch | undefined> {
    const { waiting } = record;
    if (waiting.length === 0) return undefined;
    const { pipeline_id, telemetry, reader, compiled } = this.#with;
    const released = await this.#settle(record);
    const again = released.firsts.length;
    const repeats = waiting.length - again - released.waiting.length;
    telemetry.dropsWaited({ pipeline_id, batch: record.batch, repeats, again });
    if (again === 0) return undefined;
    const places = [...released.firsts, ...released.waiting.map(({ position }) => position)].toSorted((a, b) => a - b);
    const built = reader.released(builder.received(places), compiled, released);
    return prepareBatch(built, this.#with, originOf(record, places));
  }

  /**
   * Waits until what each of them repeats is in the table, which makes it a duplicate whatever the clock says by then; or
   * until that gave the key up. Dedup decides on those again, all at one moment, by the clock of their batch: a later event
   * that has the key now makes them duplicates too, and one that is the first has its key for its window from that clock
   * on. Where the clock was set back since, its time of now counts, as no key may be stamped in the future.
   *
   * Nothing is reserved while it waits, and waiting for *written*, not for *committed*, cannot end in a circle: what a
   * batch needs to be written never waits for another one's duplicates.
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
        const sight = keys.see(print, drop.position, released.batch, clock, drop.window ?? 0);
        if (sight === "first") released.firsts.push(drop.position);
        if (sight === "waiting") released.waiting.push({ ...drop, of: released.batch });
      }
      keys.dropsSettled(batch);
      return released;
    }
  }

  #orLeft<T>(waited: Promise<T>): Promise<T> {
    return Promise.race([waited, this.#left]);
  }
}

function originOf({ madeOf }: BatchRecord, places: Place[]): BatchOrigin {
  // The places of dead letters are their numbers.
  if (madeOf.kind === "letters") return { kind: "letters", numbers: places };
  return { kind: "released", ranges: narrowed(madeOf.ranges, places) };
}
