import type { Draw } from "../network.ts";

/** A block that a log knows. */
interface Entry {
  partition: string;
  /** Of its part, which a killed server may not have. */
  block: number;
  /** When it was noted, by the server's clock, in milliseconds. */
  at: number;
}

/** How many blocks, and for how many seconds, a table recognises a repeat. */
export interface LogLimits {
  entries: number;
  seconds: number;
}

/**
 * What a table remembers of the blocks that were inserted: one entry for each partition of an insert, the oldest one
 * forgotten first, all partitions together. What is too old is forgotten at once, which no real server is faster in. Of a
 * table of one server it is a file that is never synced.
 */
export class DeduplicationLog {
  readonly #entries = new Map<string, Entry>();

  /** The entry of a key that is known. */
  find(key: string, limits: LogLimits, now: number): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || now - entry.at <= limits.seconds * 1000) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  note(key: string, entry: Entry, { entries }: LogLimits): void {
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entries) return;
      this.#entries.delete(oldest);
    }
  }

  /** Parts went: their keys are free again. */
  forget(parts: readonly { partition: string; block: number }[]): void {
    const gone = new Set(parts.map(({ partition, block }) => `${block} ${partition}`));
    for (const [key, { partition, block }] of this.#entries) {
      if (gone.has(`${block} ${partition}`)) this.#entries.delete(key);
    }
  }

  /** The machine loses its power: the file, which no server syncs, lacks its end, of what was noted since then at the most. */
  loseEnd(since: number, draw: Draw): void {
    const unsynced = [...this.#entries].filter(([, { at }]) => at > since).map(([key]) => key);
    for (const key of unsynced.slice(unsynced.length - draw(unsynced.length + 1))) this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}
