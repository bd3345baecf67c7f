import type { Care, DeadlyEvent, EventPlace } from "../batch/careful-reading.ts";

/** The death of a thread, for one of its pipelines. */
export interface Death {
  error: Error;
  /** The event that the pipeline was processing then, in careful reading. */
  by?: EventPlace;
  /** Another pipeline of the thread was processing an event in careful reading, or threw, and this one did not. */
  isByOther: boolean;
}

/** After this many deaths of threads that processed it, an event becomes a dead letter. */
const deathsByEvent = 3;
/** From this many deaths in a row on, a pipeline has a thread of its own. */
const deathsForIsolation = 2;

/**
 * The deaths of a pipeline's threads. After the first one the pipeline reads carefully, since any pipeline of the
 * thread may have been the cause; after repeated deaths it has a thread of its own; an event on which three threads
 * died is not processed again. In memory only: a new process starts without deaths.
 */
export class ThreadDeaths {
  readonly #deaths = new Map<string, number>();
  readonly #deadly: DeadlyEvent[] = [];
  /** Deaths in a row: since it ran for long, or since an event was found to be deadly. */
  #inRow = 0;
  #hasDied = false;
  /** It has kept others from their thread. */
  #hasHeld = false;

  get deathsInRow(): number {
    return this.#inRow;
  }

  /** How it should read now; undefined: as normal. */
  get care(): Care | undefined {
    return this.#hasDied ? { deadly: [...this.#deadly] } : undefined;
  }

  get isAlone(): boolean {
    return this.#hasHeld || this.#inRow >= deathsForIsolation || this.#deadly.length > 0;
  }

  /** It ran for long: earlier deaths no longer delay or isolate it. */
  ranWell(): void {
    this.#inRow = 0;
    this.#hasHeld = false;
    this.#deaths.clear();
  }

  /** It has kept others from their thread: from the next launch on it has one of its own. */
  held(): void {
    this.#hasHeld = true;
  }

  died({ error, by, isByOther }: Death): void {
    if (isByOther) return;
    this.#hasDied = true;
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
