import {
  deadPositions,
  timesSetBack,
  type BatchRecord,
  type FinalKeys,
  type Journal,
  type KeyBlock,
  type WaitingDrop,
} from "../../core/journal.ts";
import type { Fate, KeyMemory, Sight } from "../../core/key-memory.ts";
import { FinalRepeats, ReservedKeys, WaitingDrops } from "./waiting-drops.ts";
import { KeyTable } from "./key-table.ts";

/** Limits of the key memory, for all dedups of a pipeline together. */
export interface KeyLimits {
  /** Bytes on disk (`storage.size`). */
  storage: number;
  /** Bytes in memory (`limits.memory`). */
  memory: number;
}

/** The keys of a batch for one dedup. */
interface Held {
  batch: number;
  dedup?: string;
  since: number;
  until: number;
  keys: number;
  /** Present until the batch is written. */
  open?: ReservedKeys;
}

/** The keys of a batch that is not written yet, and their owner number in the table. */
interface Reserving {
  owner: number;
  window: number;
  held: Held;
  open: ReservedKeys;
}

/** Bytes on disk: of each key, and of each block in addition. */
const keyBytes = 16;
const blockBytes = 64;
/** Shards of the table, and how many of them one sweep covers: a sweep of a whole large table would take too long. */
const [shards, shardsPerLook] = [256, 32];
/** Words of a fingerprint, and of the fingerprints that are looked up ahead while keys are loaded. */
const [width, wordsAhead] = [4, 32 * 4];

/**
 * The key memory of a pipeline: a table of fingerprints, each with an owner number, which stands for a batch and a
 * window. Owner numbers ascend; batches of one window expire in order, so each window has its own list.
 */
export class RememberedKeys implements KeyMemory {
  readonly #limits: KeyLimits;
  readonly #held = new Map<number, Held>();
  /** The keys of batches by window, in the order in which they expire. */
  readonly #expiring = new Map<number, Map<number, Held>>();
  /** The keys of batches that are not written yet, by batch. */
  readonly #reserving = new Map<number, Reserving[]>();
  readonly #drops = new WaitingDrops();
  readonly #table = new KeyTable((owner) => this.#held.has(owner));
  #owners = 0;
  #storage = 0;
  /** The number of shards that may hold keys of expired batches. */
  #shardsToSweep = 0;

  constructor(limits: KeyLimits) {
    this.#limits = limits;
  }

  async load(journal: Journal, pipeline_id: string, clock: number): Promise<void> {
    const records = journal.pending(pipeline_id);
    const repeats = new FinalRepeats(records);
    this.#table.reserve(journal.finalKeyCount(pipeline_id));
    for await (const { batch, since, until, prints } of finalKeys(journal, pipeline_id)) {
      // Times in the future come from a clock that was set back while the change could not be saved.
      const words = wordsOf(prints);
      repeats.look({ batch }, words);
      this.#take(words, { batch, ...timesSetBack({ since, until }, -Infinity, latest(clock)), keys: 0 });
    }
    for (const { batch, keys } of records) {
      for (const { positions, prints, ...times } of keys) {
        const words = wordsOf(prints);
        this.#take(words, { batch, ...times, keys: 0, open: new ReservedKeys([...positions], Array.from(words)) });
      }
    }
    for (const record of records) this.#noteDrops(record, repeats);
    this.expire(Math.min(clock, ...records.map((record) => record.clock)));
  }

  expire(clock: number): void {
    for (const [window, inOrder] of this.#expiring) {
      for (const [owner, held] of inOrder) {
        if (held.open !== undefined) continue;
        if (held.until > clock) break;
        this.#forget(owner, held);
        inOrder.delete(owner);
      }
      if (inOrder.size === 0) this.#expiring.delete(window);
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

  see(print: Uint32Array, position: number, batch: number, clock: number, window: number, dedup?: string): Sight {
    const sight = this.look(print, clock);
    if (sight === "waiting") this.#drops.note(batch, position, this.#heldBy(print)!.open!);
    if (sight !== "first") return sight;
    const { owner, held, open } = this.#reservingOf(batch, clock, window, dedup);
    held.keys += 1;
    open.add(position, print);
    this.#table.set(print, 0, owner);
    this.#storage += keyBytes;
    return sight;
  }

  blocks(batch: number): KeyBlock[] {
    return (this.#reserving.get(batch) ?? []).map(({ held: { dedup, since, until }, open: { positions, words } }) => ({
      ...(dedup !== undefined && { dedup }),
      since,
      until,
      positions,
      prints: new Uint8Array(Uint32Array.from(words).buffer),
    }));
  }

  written(record: BatchRecord): void {
    const reserving = this.#reserving.get(record.batch) ?? [];
    const dead = new Set(reserving.length === 0 ? [] : deadPositions(record));
    this.#reserving.delete(record.batch);
    for (const one of reserving) {
      if (dead.size > 0) this.#free(one, (position) => dead.has(position));
      delete one.held.open;
      if (one.held.keys === 0) this.#drop(one);
      one.open.settle(dead);
    }
  }

  release(batch: number): void {
    const reserving = this.#reserving.get(batch) ?? [];
    this.#reserving.delete(batch);
    this.#drops.forget(batch);
    for (const one of reserving) {
      this.#free(one, () => true);
      this.#drop(one);
      one.open.settle("all");
    }
  }

  holder(print: Uint32Array): number | undefined {
    return this.#heldBy(print)?.batch;
  }

  async fate(print: Uint32Array): Promise<Fate> {
    const held = this.#heldBy(print);
    if (held === undefined) return "free";
    return held.open === undefined ? "written" : held.open.fateOf(print);
  }

  fateOfDrop(batch: number, { position, print }: Pick<WaitingDrop, "position" | "print">): Promise<Fate> {
    return this.#drops.of(batch, position, Uint32Array.from(print));
  }

  dropsSettled(batch: number): void {
    this.#drops.forget(batch);
  }

  get size(): { keys: number; memory: number; storage: number } {
    return { keys: this.#keys(), memory: this.#table.bytes, storage: this.#storage };
  }

  #reservingOf(batch: number, clock: number, window: number, dedup: string | undefined): Reserving {
    const present = this.#reserving.get(batch)?.find((one) => one.window === window && one.held.dedup === dedup);
    if (present !== undefined) return present;
    const of = { batch, ...(dedup !== undefined && { dedup }) };
    const held = { ...of, since: clock, until: clock + window, keys: 0, open: new ReservedKeys() };
    this.#storage += blockBytes;
    return this.#hold(held) as Reserving;
  }

  /**
   * Loads a block of the journal. For a key in several blocks the newest block counts: the others had expired when it
   * was made.
   */
  #take(words: Uint32Array, held: Held): void {
    held.keys = words.length / width;
    this.#storage += blockBytes + held.keys * keyBytes;
    const { owner } = this.#hold(held);
    const isNewer = (present: number): boolean => (this.#held.get(present)?.batch ?? -1) >= held.batch;
    for (let at = 0; at < words.length; at += width) {
      if (at % wordsAhead === 0) this.#table.lookAhead(words, at, Math.min(at + wordsAhead, words.length));
      this.#table.set(words, at, owner, isNewer);
    }
  }

  #heldBy(print: Uint32Array): Held | undefined {
    return this.#held.get(this.#table.get(print, 0));
  }

  /** Notes which keys the deferred duplicates of an earlier run wait for. */
  #noteDrops({ batch, clock, waiting }: BatchRecord, repeats: FinalRepeats): void {
    for (const drop of waiting) {
      const print = Uint32Array.from(drop.print);
      if (drop.of !== undefined) {
        this.#drops.note(batch, drop.position, this.#openOf(drop.of, print) ?? repeats.fateOf(drop));
        continue;
      }
      const sight = this.look(print, clock);
      const awaited = sight === "waiting" ? this.#heldBy(print)!.open! : sight === "repeat" ? "written" : "free";
      this.#drops.note(batch, drop.position, awaited);
    }
  }

  /** The reservation of a key by a pending batch. */
  #openOf(batch: number, print: Uint32Array): ReservedKeys | undefined {
    const held = this.#heldBy(print);
    if (held?.batch === batch) return held.open;
    // A later batch has the key by now.
    return this.#reserving.get(batch)?.find(({ open }) => open.holds(print))?.open;
  }

  #hold(held: Held): { owner: number } {
    const owner = (this.#owners += 1);
    const window = held.until - held.since;
    this.#held.set(owner, held);
    const inOrder = this.#expiring.get(window) ?? new Map<number, Held>();
    this.#expiring.set(window, inOrder.set(owner, held));
    const { open, batch } = held;
    if (open === undefined) return { owner };
    const reserving: Reserving = { owner, window, held, open };
    this.#reserving.set(batch, [...(this.#reserving.get(batch) ?? []), reserving]);
    return reserving;
  }

  /** Frees the keys of positions, except those that another batch has reserved since. */
  #free({ owner, held, open: { positions, words } }: Reserving, isFree: (position: number) => boolean): void {
    const print = new Uint32Array(width);
    positions.forEach((position, index) => {
      if (!isFree(position)) return;
      for (let word = 0; word < width; word += 1) print[word] = words[index * width + word]!;
      held.keys -= 1;
      this.#storage -= keyBytes;
      if (this.#table.get(print, 0) === owner) this.#table.delete(print, 0);
    });
  }

  /** Forgets a batch that has no keys left. */
  #drop({ owner, window, held }: Reserving): void {
    this.#forget(owner, held);
    this.#expiring.get(window)?.delete(owner);
  }

  #forget(owner: number, held: Held): void {
    this.#held.delete(owner);
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

/** All final keys, page by page; the journal reads a page while the one before it is taken. */
async function* finalKeys(journal: Journal, pipeline_id: string): AsyncGenerator<FinalKeys> {
  for (let next = journal.finalKeys(pipeline_id, 0); ;) {
    const page = await next;
    const last = page.at(-1);
    if (last === undefined) return;
    next = journal.finalKeys(pipeline_id, last.batch);
    // If taking a page fails, nothing waits for the next one.
    next.catch(() => undefined);
    yield* page;
  }
}

/** Smaller steps of the clock were not held back. */
function latest(clock: number): number {
  return clock + 3_600_000;
}

function wordsOf(prints: Uint8Array): Uint32Array {
  // A copy, because its bytes may not be aligned.
  return new Uint32Array(new Uint8Array(prints).buffer);
}
