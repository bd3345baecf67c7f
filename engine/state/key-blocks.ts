import { timesSetBack, type FinalKeys, type KeyBlock } from "../core/journal.ts";
import type { Table, TableStore } from "../core/store.ts";

/** A batch has one block for each window; the first one has no number. */
type Key = [pipeline_id: string, batch: number] | [pipeline_id: string, batch: number, block: number];
/** `keys`: how many the block has. Earlier versions did not store it. */
type Times = Pick<KeyBlock, "dedup" | "since" | "until"> & { keys?: number };

/** A page of keys that is read at once, in bytes; one block may be more. */
const pageBytes = 4 * 1024 * 1024;
/** Bytes of a key. */
const printBytes = 16;
/** More than the blocks of one batch. */
const blocksLookedAt = 256;

/**
 * The keys of dedup, by the batch that brought them. They are written once, with the record of their batch, and stay in
 * place when they become final: only the positions are removed, which are not needed then. An expired block is removed
 * as a whole, so that its space is used again.
 */
export class KeyBlocks {
  readonly #times: Table<Times, Key>;
  readonly #prints: Table<Uint8Array, Key>;
  readonly #positions: Table<number[], Key>;
  readonly #salts: Table<Uint8Array, string>;
  /** The windows of pipelines' keys that were seen since the process started. */
  readonly #windows = new Map<string, Set<number>>();
  /** The last batch whose blocks were checked, by pipeline. */
  readonly #looked = new Map<string, number>();

  constructor(store: TableStore) {
    this.#times = store.table("key-times");
    this.#prints = store.table("keys");
    this.#positions = store.table("key-positions");
    this.#salts = store.table("key-salts");
  }

  /** Replaces the keys of a batch; part of the write that prepares it. */
  putInWrite(pipeline_id: string, batch: number, blocks: readonly KeyBlock[]): void {
    for (const key of this.#keysOf(pipeline_id, batch)) this.#dropInWrite(key);
    blocks.forEach(({ positions, prints, ...times }, index) => {
      const key: Key = index === 0 ? [pipeline_id, batch] : [pipeline_id, batch, index];
      this.#noteWindow(pipeline_id, times.until - times.since);
      this.#times.putSync(key, { ...times, keys: prints.length / printBytes });
      this.#prints.putSync(key, prints);
      this.#positions.putSync(key, positions);
    });
  }

  /** Makes a batch's keys final, except those of the `dead` positions; part of the write that commits it. */
  finishInWrite(pipeline_id: string, batch: number, dead: ReadonlySet<number>): void {
    for (const key of this.#keysOf(pipeline_id, batch)) this.#finishInWrite(key, dead);
  }

  #finishInWrite(key: Key, dead: ReadonlySet<number>): void {
    const block = this.#underway(key);
    if (block === undefined) return;
    const alive = block.positions.flatMap((position, index) => (dead.has(position) ? [] : [index]));
    this.#positions.removeSync(key);
    if (alive.length === block.positions.length) return;
    if (alive.length === 0) this.#dropInWrite(key);
    else {
      const prints = alive.map((index) => block.prints.subarray(index * printBytes, (index + 1) * printBytes));
      this.#prints.putSync(key, Buffer.concat(prints));
      const { positions: _positions, prints: _prints, ...times } = block;
      this.#times.putSync(key, { ...times, keys: alive.length });
    }
  }

  /**
   * Drops the oldest blocks that have expired at `clock`, of each window, except those of batches in `kept`; part of a
   * write.
   */
  reclaimInWrite(pipeline_id: string, clock: number, kept: ReadonlySet<number>): void {
    const expired: Key[] = [];
    for (const { key, value } of this.#times.getRange(rangeOf(pipeline_id, 0))) {
      // The block may be from before an edit, or from before the start of the process.
      this.#noteWindow(pipeline_id, value.until - value.since);
      if (value.until > clock) break;
      if (!this.#positions.doesExist(key)) expired.push(key);
    }
    if ((this.#windows.get(pipeline_id)?.size ?? 0) > 1) expired.push(...this.#expiredAmongNext(pipeline_id, clock));
    for (const key of expired) if (!kept.has(key[1])) this.#dropInWrite(key);
  }

  /**
   * A block with a long window must not block later ones with a short window: each call checks the next few blocks too.
   */
  #expiredAmongNext(pipeline_id: string, clock: number): Key[] {
    const range = { ...rangeOf(pipeline_id, this.#looked.get(pipeline_id) ?? 0), limit: blocksLookedAt };
    const next = Array.from(this.#times.getRange(range));
    this.#looked.set(pipeline_id, next.length < blocksLookedAt ? 0 : next.at(-1)!.key[1]);
    return next.flatMap(({ key, value }) => (value.until <= clock && !this.#positions.doesExist(key) ? [key] : []));
  }

  /** Changes the times of keys after the batch clock was set back; part of a write. */
  setBackInWrite(pipeline_id: string, from: number, to: number): void {
    for (const { key, value } of Array.from(this.#times.getRange(rangeOf(pipeline_id, 0)))) {
      this.#times.putSync(key, { ...value, ...timesSetBack(value, from, to) });
    }
  }

  /**
   * Removes final blocks, but for those of the dedups in `remaining`; those of batches in `kept` stay, as expired. Part of a
   * write.
   */
  forgetInWrite(pipeline_id: string, kept: ReadonlySet<number>, remaining: ReadonlySet<string> = new Set()): void {
    // Of a block of an earlier version nobody knows whose it is.
    const isCounting = ({ dedup }: Times): boolean => (dedup === undefined ? remaining.size > 0 : remaining.has(dedup));
    for (const { key, value } of Array.from(this.#times.getRange(rangeOf(pipeline_id, 0)))) {
      if (this.#positions.doesExist(key) || isCounting(value)) continue;
      if (kept.has(key[1])) this.#times.putSync(key, { ...value, until: value.since });
      else this.#dropInWrite(key);
    }
  }

  /** Removes all keys of a pipeline; part of the write that deletes it. */
  removeInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#times.getKeys(rangeOf(pipeline_id, 0)))) this.#dropInWrite(key);
    this.#salts.removeSync(pipeline_id);
    this.#windows.delete(pipeline_id);
    this.#looked.delete(pipeline_id);
  }

  /** All keys of a pipeline belong to another id from now on; part of the write that moves it. */
  moveInWrite(from: string, to: string): void {
    for (const { key, value: times } of Array.from(this.#times.getRange(rangeOf(from, 0)))) {
      const [prints, positions] = [this.#prints.get(key), this.#positions.get(key)];
      this.#dropInWrite(key);
      const moved = [to, ...key.slice(1)] as unknown as Key;
      this.#noteWindow(to, times.until - times.since);
      this.#times.putSync(moved, times);
      if (prints !== undefined) this.#prints.putSync(moved, prints);
      if (positions !== undefined) this.#positions.putSync(moved, positions);
    }
    const salt = this.#salts.get(from);
    this.#salts.removeSync(from);
    if (salt !== undefined) this.#salts.putSync(to, salt);
    this.#windows.delete(from);
    this.#looked.delete(from);
  }

  /** The keys of a pending batch. */
  of(pipeline_id: string, batch: number): KeyBlock[] {
    return this.#keysOf(pipeline_id, batch).flatMap((key) => this.#underway(key) ?? []);
  }

  #underway(key: Key): KeyBlock | undefined {
    const positions = this.#positions.get(key);
    const [times, prints] = positions === undefined ? [] : [this.#times.get(key), this.#prints.get(key)];
    if (positions === undefined || times === undefined || prints === undefined) return undefined;
    const { keys: _keys, ...rest } = times;
    return { ...rest, positions, prints };
  }

  #keysOf(pipeline_id: string, batch: number): Key[] {
    return Array.from(this.#times.getKeys({ start: [pipeline_id, batch], end: [pipeline_id, batch + 1] }));
  }

  /** A page of final keys after a batch, in order and with whole batches. */
  page(pipeline_id: string, after: number): FinalKeys[] {
    const page: FinalKeys[] = [];
    let bytes = 0;
    for (const { key, value: prints } of this.#prints.getRange(rangeOf(pipeline_id, after + 1))) {
      if (bytes >= pageBytes && page.at(-1)?.batch !== key[1]) break;
      const times = this.#times.get(key);
      if (times === undefined || this.#positions.doesExist(key)) continue;
      page.push({ batch: key[1], since: times.since, until: times.until, prints });
      bytes += prints.length;
    }
    return page;
  }

  /** How many keys the pages of a pipeline have in all. */
  finalCount(pipeline_id: string): number {
    let count = 0;
    for (const { key, value } of this.#times.getRange(rangeOf(pipeline_id, 0))) {
      if (this.#positions.doesExist(key)) continue;
      count += value.keys ?? (this.#prints.get(key)?.length ?? 0) / printBytes;
    }
    return count;
  }

  /** The bytes of these. */
  finalBytes(pipeline_id: string): number {
    return printBytes * this.finalCount(pipeline_id);
  }

  /** The salt of this pipeline's fingerprints; `fresh` is stored where there is none yet. */
  saltInWrite(pipeline_id: string, fresh: Uint8Array): void {
    if (!this.#salts.doesExist(pipeline_id)) this.#salts.putSync(pipeline_id, fresh);
  }

  salt(pipeline_id: string): Uint8Array | undefined {
    return this.#salts.get(pipeline_id);
  }

  #noteWindow(pipeline_id: string, window: number): void {
    const known = this.#windows.get(pipeline_id) ?? new Set();
    this.#windows.set(pipeline_id, known.add(window));
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
