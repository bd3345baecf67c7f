import type { Database } from "lmdb";
import type { FinalKeys, KeyBlock } from "../core/journal.ts";
import type { Store } from "./store.ts";

type Key = [pipeline_id: string, batch: number];

/** A page of keys that is read at once, in bytes; one block may be more. */
const pageBytes = 4 * 1024 * 1024;

/**
 * The keys of dedup, by the batch that brought them. They are written once, with the record of their batch, and stay
 * where they are when they become final: only the positions go, which nobody needs then. Blocks go as a whole when they
 * have expired, so that their space is used again.
 */
export class KeyBlocks {
  readonly #blocks: Database<Omit<KeyBlock, "positions">, Key>;
  readonly #positions: Database<number[], Key>;
  readonly #salts: Database<Uint8Array, string>;

  constructor(store: Store) {
    this.#blocks = store.table("keys");
    this.#positions = store.table("key-positions");
    this.#salts = store.table("key-salts");
  }

  /** The keys of a batch that is prepared; part of the write that prepares it. */
  putInWrite(pipeline_id: string, batch: number, block: KeyBlock | undefined): void {
    if (block === undefined) {
      this.#dropInWrite([pipeline_id, batch]);
      return;
    }
    const { positions, ...rest } = block;
    this.#blocks.putSync([pipeline_id, batch], rest);
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
    if (alive.length === 0) {
      this.#blocks.removeSync(key);
      return;
    }
    const prints = Buffer.concat(alive.map((index) => block.prints.subarray(index * 16, index * 16 + 16)));
    this.#blocks.putSync(key, { since: block.since, until: block.until, prints });
  }

  /** Drops the oldest blocks, as long as they have expired at `clock`; part of a write. */
  reclaimInWrite(pipeline_id: string, clock: number): void {
    const expired: Key[] = [];
    for (const { key, value } of this.#blocks.getRange(rangeOf(pipeline_id, 0))) {
      if (value.until > clock) break;
      if (!this.#positions.doesExist(key)) expired.push(key);
    }
    for (const key of expired) this.#blocks.removeSync(key);
  }

  /** Forgets what is final; part of a write. */
  forgetInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#blocks.getKeys(rangeOf(pipeline_id, 0)))) {
      if (!this.#positions.doesExist(key)) this.#blocks.removeSync(key);
    }
  }

  /** Forgets everything of a pipeline; part of the write that deletes it. */
  removeInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#blocks.getKeys(rangeOf(pipeline_id, 0)))) this.#dropInWrite(key);
    this.#salts.removeSync(pipeline_id);
  }

  /** The keys of a batch under way. */
  of(pipeline_id: string, batch: number): KeyBlock | undefined {
    const positions = this.#positions.get([pipeline_id, batch]);
    const block = positions === undefined ? undefined : this.#blocks.get([pipeline_id, batch]);
    return block === undefined || positions === undefined ? undefined : { ...block, positions };
  }

  /** A page of final keys behind a batch, in order. */
  page(pipeline_id: string, after: number): FinalKeys[] {
    const page: FinalKeys[] = [];
    let bytes = 0;
    for (const { key, value } of this.#blocks.getRange(rangeOf(pipeline_id, after + 1))) {
      if (this.#positions.doesExist(key)) continue;
      page.push({ batch: key[1], ...value });
      bytes += value.prints.length;
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
    this.#blocks.removeSync(key);
    this.#positions.removeSync(key);
  }
}

function rangeOf(pipeline_id: string, first: number): { start: Key; end: Key } {
  return { start: [pipeline_id, first], end: [pipeline_id, Number.MAX_SAFE_INTEGER] };
}
