import type { Database } from "lmdb";
import { timesSetBack, type FinalKeys, type KeyBlock } from "../core/journal.ts";
import type { Store } from "./store.ts";

type Key = [pipeline_id: string, batch: number];
type Times = Pick<KeyBlock, "since" | "until">;

/** A page of keys that is read at once, in bytes; one block may be more. */
const pageBytes = 4 * 1024 * 1024;

/**
 * The keys of dedup, by the batch that brought them. They are written once, with the record of their batch, and stay
 * where they are when they become final: only the positions go, which nobody needs then. Blocks go as a whole when they
 * have expired, so that their space is used again.
 */
export class KeyBlocks {
  readonly #times: Database<Times, Key>;
  readonly #prints: Database<Uint8Array, Key>;
  readonly #positions: Database<number[], Key>;
  readonly #salts: Database<Uint8Array, string>;

  constructor(store: Store) {
    this.#times = store.table("key-times");
    this.#prints = store.table("keys");
    this.#positions = store.table("key-positions");
    this.#salts = store.table("key-salts");
  }

  /** The keys of a batch that is prepared; part of the write that prepares it. */
  putInWrite(pipeline_id: string, batch: number, block: KeyBlock | undefined): void {
    if (block === undefined) {
      this.#dropInWrite([pipeline_id, batch]);
      return;
    }
    const { since, until, positions, prints } = block;
    this.#times.putSync([pipeline_id, batch], { since, until });
    this.#prints.putSync([pipeline_id, batch], prints);
    this.#positions.putSync([pipeline_id, batch], positions);
  }

  /** Makes a batch's keys final but for those of the `dead` positions; part of the write that commits it. */
  finishInWrite(pipeline_id: string, batch: number, dead: ReadonlySet<number>): void {
    const key: Key = [pipeline_id, batch];
    const block = this.of(pipeline_id, batch);
    if (block === undefined) return;
    const alive = block.positions.flatMap((position, index) => (dead.has(position) ? [] : [index]));
    this.#positions.removeSync(key);
    if (alive.length === block.positions.length) return;
    if (alive.length === 0) this.#dropInWrite(key);
    else {
      const prints = alive.map((index) => block.prints.subarray(index * 16, index * 16 + 16));
      this.#prints.putSync(key, Buffer.concat(prints));
    }
  }

  /** Drops the oldest blocks, as long as they have expired at `clock`; part of a write. */
  reclaimInWrite(pipeline_id: string, clock: number): void {
    const expired: Key[] = [];
    for (const { key, value } of this.#times.getRange(rangeOf(pipeline_id, 0))) {
      if (value.until > clock) break;
      if (!this.#positions.doesExist(key)) expired.push(key);
    }
    for (const key of expired) this.#dropInWrite(key);
  }

  /** Changes when keys count, after the batch clock was set back; part of a write. */
  setBackInWrite(pipeline_id: string, from: number, to: number): void {
    for (const { key, value } of Array.from(this.#times.getRange(rangeOf(pipeline_id, 0)))) {
      this.#times.putSync(key, timesSetBack(value, from, to));
    }
  }

  /** Forgets what is final; part of a write. */
  forgetInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#times.getKeys(rangeOf(pipeline_id, 0)))) {
      if (!this.#positions.doesExist(key)) this.#dropInWrite(key);
    }
  }

  /** Forgets everything of a pipeline; part of the write that deletes it. */
  removeInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#times.getKeys(rangeOf(pipeline_id, 0)))) this.#dropInWrite(key);
    this.#salts.removeSync(pipeline_id);
  }

  /** The keys of a batch under way. */
  of(pipeline_id: string, batch: number): KeyBlock | undefined {
    const key: Key = [pipeline_id, batch];
    const positions = this.#positions.get(key);
    const [times, prints] = positions === undefined ? [] : [this.#times.get(key), this.#prints.get(key)];
    return positions && times && prints && { ...times, positions, prints };
  }

  /** A page of final keys behind a batch, in order. */
  page(pipeline_id: string, after: number): FinalKeys[] {
    const page: FinalKeys[] = [];
    let bytes = 0;
    for (const { key, value: prints } of this.#prints.getRange(rangeOf(pipeline_id, after + 1))) {
      const times = this.#times.get(key);
      if (times === undefined || this.#positions.doesExist(key)) continue;
      page.push({ batch: key[1], ...times, prints });
      bytes += prints.length;
      if (bytes >= pageBytes) break;
    }
    return page;
  }

  /** What makes this pipeline's fingerprints differ from those of all others; `fresh` is kept where there is none yet. */
  saltInWrite(pipeline_id: string, fresh: Uint8Array): void {
    if (!this.#salts.doesExist(pipeline_id)) this.#salts.putSync(pipeline_id, fresh);
  }

  salt(pipeline_id: string): Uint8Array | undefined {
    return this.#salts.get(pipeline_id);
  }

  #dropInWrite(key: Key): void {
    this.#times.removeSync(key);
    this.#prints.removeSync(key);
    this.#positions.removeSync(key);
  }
}

function rangeOf(pipeline_id: string, first: number): { start: Key; end: Key } {
  return { start: [pipeline_id, first], end: [pipeline_id, Number.MAX_SAFE_INTEGER] };
}
