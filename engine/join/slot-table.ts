const shardCount = 256;
const fewestPlaces = 16;
/** The share of places that are taken when a shard grows. */
const fullest = 0.7;

/** Whether the event in a slot has a key, by its fingerprint of four words. */
type HasKey = (slot: number, print: Uint32Array) => boolean;
/** The second word of the fingerprint in a slot. */
type SecondWord = (slot: number) => number;

/**
 * Maps keys to slots: numbers from 1 on, in whose place the fingerprint of the key is stored. A key takes 6 to 14 bytes.
 * Each of 256 shards grows alone, so that no key waits for more than one of them.
 */
export class SlotTable {
  readonly #shards: readonly Shard[];

  constructor(hasKey: HasKey, secondWord: SecondWord) {
    this.#shards = Array.from({ length: shardCount }, () => new Shard(hasKey, secondWord));
  }

  /** The slot of a key; 0 where there is none. */
  get(print: Uint32Array): number {
    return this.#shardOf(print).get(print);
  }

  /** Gives a key a slot, in which its fingerprint is. */
  set(print: Uint32Array, slot: number): void {
    this.#shardOf(print).set(print, slot);
  }

  /**
   * Gives a key a slot, in which its fingerprint is; one that has a slot keeps it unless it `replaces`. Returns the slot that
   * it had; 0 where it had none. One search does both.
   */
  exchange(print: Uint32Array, slot: number, replaces: boolean): number {
    return this.#shardOf(print).exchange(print, slot, replaces);
  }

  delete(print: Uint32Array): void {
    this.#shardOf(print).delete(print);
  }

  /** Bytes of memory that it takes. */
  get bytes(): number {
    return this.#shards.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #shardOf(print: Uint32Array): Shard {
    return this.#shards[print[0]! >>> 24]!;
  }
}

/** Open addressing with linear probing, in one array. A key that is taken out leaves no trace. */
class Shard {
  readonly #hasKey: HasKey;
  readonly #secondWord: SecondWord;
  #places = new Uint32Array(fewestPlaces);
  /** One less than the number of places, which is a power of two. */
  #mask = fewestPlaces - 1;
  #size = 0;

  constructor(hasKey: HasKey, secondWord: SecondWord) {
    this.#hasKey = hasKey;
    this.#secondWord = secondWord;
  }

  get bytes(): number {
    return this.#places.byteLength;
  }

  get(print: Uint32Array): number {
    return this.#places[this.#find(print)]!;
  }

  set(print: Uint32Array, slot: number): void {
    this.exchange(print, slot, true);
  }

  exchange(print: Uint32Array, slot: number, replaces: boolean): number {
    const place = this.#find(print);
    const before = this.#places[place]!;
    if (before === 0 || replaces) this.#places[place] = slot;
    if (before !== 0) return before;
    this.#size += 1;
    if (this.#size > fullest * (this.#mask + 1)) this.#resize(2 * (this.#mask + 1));
    return 0;
  }

  delete(print: Uint32Array): void {
    let hole = this.#find(print);
    if (this.#places[hole] === 0) return;
    this.#size -= 1;
    // Keys after it that could not lie further forward move up, until a free place.
    for (let next = (hole + 1) & this.#mask; this.#places[next] !== 0; next = (next + 1) & this.#mask) {
      const home = this.#secondWord(this.#places[next]!) & this.#mask;
      if (((next - home) & this.#mask) < ((next - hole) & this.#mask)) continue;
      this.#places[hole] = this.#places[next]!;
      hole = next;
    }
    this.#places[hole] = 0;
    const capacity = this.#mask + 1;
    if (capacity > fewestPlaces && this.#size < capacity / 8) this.#resize(capacity / 2);
  }

  /** The place of a key, or the free one where it belongs. */
  #find(print: Uint32Array): number {
    let place = print[1]! & this.#mask;
    for (; this.#places[place] !== 0; place = (place + 1) & this.#mask) {
      if (this.#hasKey(this.#places[place]!, print)) return place;
    }
    return place;
  }

  #resize(capacity: number): void {
    const old = this.#places;
    // Allocated first: without memory for it, the shard stays as it was.
    this.#places = new Uint32Array(capacity);
    this.#mask = capacity - 1;
    for (const slot of old) {
      if (slot === 0) continue;
      let place = this.#secondWord(slot) & this.#mask;
      while (this.#places[place] !== 0) place = (place + 1) & this.#mask;
      this.#places[place] = slot;
    }
  }
}
