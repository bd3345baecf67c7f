import type { Care, DeadlyEvent, EventPlace } from "../batch/careful-reading.ts";

/** A thread died, as one of its pipelines sees it. */
export interface Death {
  error: Error;
  /** The event that it was processing then, where it noted that. */
  by?: EventPlace;
  /** Another pipeline of the thread was processing an event that it had noted. */
  isInnocent: boolean;
}

/** An event that so many threads died of is a dead letter. */
const deathsByEvent = 3;
/** From so many deaths in a row on, a pipeline has a thread of its own. */
const deathsForIsolation = 2;

/**
 * What the deaths of its threads say of a pipeline. The first one makes it read with care, since it may have been any of
 * the thread's pipelines; one that goes on dying is given a thread of its own; and an event that its threads died of
 * three times is processed no more. Kept in memory: a process that ends learns it anew.
 */
export class ThreadDeaths {
  readonly #deaths = new Map<string, number>();
  readonly #deadly: DeadlyEvent[] = [];
  /** In a row: since it ran for long, or since an event was found to be deadly. */
  #inRow = 0;
  #isSuspect = false;

  get deathsInRow(): number {
    return this.#inRow;
  }

  /** How it should read now; undefined without a reason for care. */
  get care(): Care | undefined {
    return this.#isSuspect ? { deadly: [...this.#deadly] } : undefined;
  }

  get isAlone(): boolean {
    return this.#inRow >= deathsForIsolation || this.#deadly.length > 0;
  }

  /** It ran for long: what happened before is no reason to wait, or to suspect it, any more. */
  ranWell(): void {
    this.#inRow = 0;
    this.#deaths.clear();
  }

  died({ error, by, isInnocent }: Death): void {
    if (isInnocent) return;
    this.#isSuspect = true;
    this.#inRow += 1;
    if (by === undefined) return;
    const key = `${by.position} ${by.feed}`;
    const deaths = (this.#deaths.get(key) ?? 0) + 1;
    this.#deaths.set(key, deaths);
    if (deaths < deathsByEvent) return;
    const text = `${deaths} threads died while they processed this event: ${error.message}`;
    this.#deadly.push({ ...by, error: text });
    this.#deaths.clear();
    this.#inRow = 0;
  }
}
