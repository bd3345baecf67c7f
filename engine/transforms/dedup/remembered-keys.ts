import { deadPositions, timesSetBack, type BatchRecord, type Journal, type KeyBlock } from "../../core/journal.ts";
import type { KeyMemory, Sight } from "../../core/key-memory.ts";
import { KeyTable } from "./key-table.ts";

/** Limits of what is remembered. */
export interface KeyLimits {
  /** Milliseconds that a key counts. */
  window: number;
  /** Bytes on disk (`storage.size`). */
  storage: number;
  /** Bytes in memory (`limits.memory`). */
  memory: number;
}

/** What a batch holds of the table. */
interface Held {
  since: number;
  until: number;
  keys: number;
  /** Until the batch is written: its events and their keys, four words each. */
  open?: { positions: number[]; words: number[]; settled: Promise<void>; settle: () => void };
}

type Reserving = Held & Required<Pick<Held, "open">>;

/** Bytes on disk: of a key, and besides of each batch that brought some. */
const keyBytes = 16;
const blockBytes = 64;
/** Shards of the table, and how many of them are swept in one look for room: all of a large one would take too long. */
const [shards, shardsPerLook] = [256, 32];
/** Words of a fingerprint. */
const width = 4;

/** The key memory of a source with dedup: a table of fingerprints, each with the number of the batch that brought it. */
export class RememberedKeys implements KeyMemory {
  readonly #limits: KeyLimits;
  readonly #held = new Map<number, Held>();
  readonly #table = new KeyTable((batch) => this.#held.has(batch));
  #storage = 0;
  /** Shards that may hold keys of batches that have expired since they were swept. */
  #shardsToSweep = 0;

  constructor(limits: KeyLimits) {
    this.#limits = limits;
  }

  async load(journal: Journal, pipeline_id: string, clock: number): Promise<void> {
    for (let after = 0; ;) {
      const page = await journal.finalKeys(pipeline_id, after);
      if (page.length === 0) break;
      for (const { batch, since, until, prints } of page) {
        // Stamps of the future are those of a clock that was set back while that could not be written.
        this.#take(batch, wordsOf(prints), { ...timesSetBack({ since, until }, -Infinity, latest(clock)), keys: 0 });
        after = batch;
      }
    }
    for (const { batch, keys } of journal.pending(pipeline_id)) {
      if (keys === undefined) continue;
      const words = wordsOf(keys.prints);
      this.#take(batch, words, { ...keys, keys: 0, open: opened([...keys.positions], Array.from(words)) });
    }
    this.expire(Math.min(clock, ...journal.pending(pipeline_id).map((record) => record.clock)));
  }

  expire(clock: number): void {
    for (const [batch, held] of this.#held) {
      if (held.open !== undefined) continue;
      if (held.until > clock) break;
      this.#forget(batch, held);
    }
  }

  full(): string | undefined {
    const { storage, memory } = this.#limits;
    // However small the limits are, one batch has room.
    if (this.#keys() === 0) return undefined;
    if (this.#storage >= storage) {
      return `${this.#keys()} keys of the dedup window fill its storage.size of ${storage} bytes`;
    }
    if (this.#table.bytes >= memory) this.#sweep();
    if (this.#table.bytes < memory) return undefined;
    return `${this.#keys()} keys of the dedup window fill the transform's limits.memory of ${memory} bytes`;
  }

  setBack(from: number, to: number): void {
    this.expire(from);
    for (const held of this.#held.values()) Object.assign(held, timesSetBack(held, from, to));
  }

  look(print: Uint32Array, clock: number): Sight {
    const owner = this.#table.get(print, 0);
    const held = owner === 0 ? undefined : this.#held.get(owner);
    if (held === undefined || clock >= held.until) return "first";
    return held.open === undefined ? "repeat" : "waiting";
  }

  see(print: Uint32Array, position: number, batch: number, clock: number): Sight {
    const sight = this.look(print, clock);
    if (sight !== "first") return sight;
    const own = this.#reserving(batch, clock);
    own.keys += 1;
    own.open.positions.push(position);
    own.open.words.push(print[0]!, print[1]!, print[2]!, print[3]!);
    this.#table.set(print, 0, batch);
    this.#storage += keyBytes;
    return sight;
  }

  block(batch: number): KeyBlock | undefined {
    const held = this.#held.get(batch);
    if (held?.open === undefined) return undefined;
    const { positions, words } = held.open;
    return { since: held.since, until: held.until, positions, prints: new Uint8Array(Uint32Array.from(words).buffer) };
  }

  written(record: BatchRecord): void {
    const held = this.#held.get(record.batch);
    if (held?.open === undefined) return;
    const { positions, words, settle } = held.open;
    const dead = new Set(deadPositions(record));
    if (dead.size > 0) {
      const print = new Uint32Array(width);
      positions.forEach((position, index) => {
        if (dead.has(position)) this.#free(record.batch, held, words, index, print);
      });
    }
    delete held.open;
    if (held.keys === 0) this.#forget(record.batch, held);
    settle();
  }

  release(batch: number): void {
    const held = this.#held.get(batch);
    if (held?.open === undefined) return;
    const { positions, words, settle } = held.open;
    const print = new Uint32Array(width);
    positions.forEach((_position, index) => this.#free(batch, held, words, index, print));
    this.#forget(batch, held);
    settle();
  }

  settled(print: Uint32Array): Promise<void> {
    return this.#held.get(this.#table.get(print, 0))?.open?.settled ?? Promise.resolve();
  }

  get size(): { keys: number; memory: number; storage: number } {
    return { keys: this.#keys(), memory: this.#table.bytes, storage: this.#storage };
  }

  #reserving(batch: number, clock: number): Reserving {
    const present = this.#held.get(batch);
    if (present?.open !== undefined) return present as Reserving;
    const held: Reserving = { since: clock, until: clock + this.#limits.window, keys: 0, open: opened([], []) };
    this.#held.set(batch, held);
    this.#storage += blockBytes;
    return held;
  }

  /** Takes a block of the journal. Of a key in several blocks the newest counts: it came when the others had expired. */
  #take(batch: number, words: Uint32Array, held: Held): void {
    held.keys = words.length / width;
    this.#held.set(batch, held);
    this.#storage += blockBytes + held.keys * keyBytes;
    const print = new Uint32Array(width);
    for (let at = 0; at < words.length; at += width) {
      print.set(words.subarray(at, at + width));
      if (this.#table.get(print, 0) < batch) this.#table.set(print, 0, batch);
    }
  }

  /** Frees one key of a batch, unless another batch has it by now. */
  #free(batch: number, held: Held, words: readonly number[], index: number, print: Uint32Array): void {
    for (let word = 0; word < width; word += 1) print[word] = words[index * width + word]!;
    held.keys -= 1;
    this.#storage -= keyBytes;
    if (this.#table.get(print, 0) === batch) this.#table.delete(print, 0);
  }

  #forget(batch: number, held: Held): void {
    this.#held.delete(batch);
    this.#storage -= blockBytes + held.keys * keyBytes;
    this.#shardsToSweep = shards;
  }

  #sweep(): void {
    if (this.#shardsToSweep === 0) return;
    this.#shardsToSweep -= shardsPerLook;
    this.#table.sweep(shardsPerLook);
  }

  #keys(): number {
    return (this.#storage - this.#held.size * blockBytes) / keyBytes;
  }
}

/** No step of less than this was held. */
function latest(clock: number): number {
  return clock + 3_600_000;
}

function opened(positions: number[], words: number[]): NonNullable<Held["open"]> {
  const made = { positions, words } as NonNullable<Held["open"]>;
  made.settled = new Promise<void>((resolve) => (made.settle = resolve));
  return made;
}

function wordsOf(prints: Uint8Array): Uint32Array {
  // A copy, since its bytes may begin anywhere.
  return new Uint32Array(Uint8Array.from(prints).buffer);
}
