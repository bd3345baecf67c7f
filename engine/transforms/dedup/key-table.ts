const shardCount = 256;

/**
 * Maps keys to owners: 128-bit fingerprints to unsigned 32-bit numbers that are never 0. The four words of a key are
 * read from the caller's array, from the index `at` on; nothing is allocated per key.
 *
 * The keys of an expired owner are not removed one by one: such a key may still be found, and the caller checks whether
 * its owner lives. A sweep drops them, and a full shard drops its own before it grows.
 *
 * Each of 256 shards grows and shrinks alone, so that no more than one of them is in memory twice, and a key that makes
 * one grow waits for that one only. A key takes 27 to 53 bytes, and up to 67 after many others were removed.
 */
export class KeyTable {
  readonly #shards: readonly KeyShard[];
  /** The shard that the next sweep begins with. */
  #next = 0;
  /** What `lookAhead` has read, together: a compiler leaves out what nothing uses. */
  lookedAt = 0;

  constructor(isLive: IsLive) {
    this.#shards = Array.from({ length: shardCount }, () => new KeyShard(isLive));
  }

  /** The owner of a key; 0 if there is none. */
  get(words: Uint32Array, at: number): number {
    return this.#shardOf(words, at).get(words, at);
  }

  /** Puts a key in, or gives it another owner, unless `keeps` is true of the owner that it has. */
  set(words: Uint32Array, at: number, owner: number, keeps: (present: number) => boolean = never): void {
    this.#shardOf(words, at).set(words, at, owner, keeps);
  }

  /** Makes room for so many keys in all. Their shards grow once at the most while they are put in. */
  reserve(keys: number): void {
    for (const shard of this.#shards) shard.reserve(Math.ceil(keys / shardCount));
  }

  /**
   * Looks at the places of keys that are read next, from the index `from` until before `to`. In a large table each place
   * is far from the one before it, and the processor fetches from memory side by side what does not depend on another.
   */
  lookAhead(words: Uint32Array, from: number, to: number): void {
    let looked = 0;
    for (let at = from; at < to; at += ownerWord) looked ^= this.#shardOf(words, at).atHome(words[at + 1] as number);
    this.lookedAt ^= looked;
  }

  /** Takes a key out; false if it was not there. */
  delete(words: Uint32Array, at: number): boolean {
    return this.#shardOf(words, at).delete(words, at);
  }

  /**
   * Drops the keys whose owners are gone, and gives memory back: in all shards, which looks at every key, or in the next
   * `count` of them, so that a large table can be swept little by little.
   */
  sweep(count = shardCount): void {
    for (let swept = 0; swept < count; swept += 1) {
      (this.#shards[this.#next] as KeyShard).sweep();
      this.#next = (this.#next + 1) % shardCount;
    }
  }

  /** The number of keys, including those of expired owners that no sweep has dropped yet. */
  get size(): number {
    return this.#shards.reduce((sum, { size }) => sum + size, 0);
  }

  /** The size of its arrays, in bytes. */
  get bytes(): number {
    return this.#shards.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The highest bits of the first word choose the shard, the lowest bits of the second word the place in it. */
  #shardOf(words: Uint32Array, at: number): KeyShard {
    return this.#shards[(words[at] as number) >>> 24] as KeyShard;
  }
}

/** A slot: the four words of a fingerprint and its owner, which is 0 where the slot is free. */
const slotWords = 5;
const ownerWord = 4;
const fewestSlots = 16;
/** The share of slots that are taken when a shard grows. */
const fullest = 0.75;
/** The slot of all shards without keys, which have no memory of their own: it is free, and never written to. */
const unused = new Uint32Array(slotWords);

function never(): boolean {
  return false;
}

/**
 * Whether the keys of this owner still count; once false, for good. Called in a sweep and, for any owner in the table,
 * whenever a key is put in. Must not throw, nor use the table.
 */
type IsLive = (owner: number) => boolean;

/**
 * A part of the key table: a hash table with open addressing and linear probing, in one array. A key that is taken out
 * leaves no trace. Its methods are those of `KeyTable`.
 */
class KeyShard {
  readonly #isLive: IsLive;
  #slots = unused;
  /** One less than the number of slots, which is a power of two. */
  #mask = 0;
  size = 0;

  constructor(isLive: IsLive) {
    this.#isLive = isLive;
  }

  get bytes(): number {
    return this.#slots === unused ? 0 : this.#slots.byteLength;
  }

  get(words: Uint32Array, at: number): number {
    return this.#owner(this.#find(words, at));
  }

  /** A word of the slot in which the search for a key begins, by its second word. */
  atHome(second: number): number {
    return this.#slots[(second & this.#mask) * slotWords] as number;
  }

  reserve(keys: number): void {
    let capacity = Math.max(fewestSlots, this.#mask + 1);
    while (keys > capacity * fullest) capacity *= 2;
    this.#resize(capacity);
  }

  set(words: Uint32Array, at: number, owner: number, keeps: (present: number) => boolean): void {
    let slot = this.#find(words, at);
    const present = this.#owner(slot);
    if (present === 0) {
      if (this.#makeRoom()) slot = this.#find(words, at);
      this.size += 1;
    } else if (keeps(present)) return;
    const start = slot * slotWords;
    for (let word = 0; word < ownerWord; word += 1) this.#slots[start + word] = words[at + word] as number;
    this.#slots[start + ownerWord] = owner;
  }

  delete(words: Uint32Array, at: number): boolean {
    const slot = this.#find(words, at);
    if (this.#owner(slot) === 0) return false;
    this.#free(slot);
    return true;
  }

  sweep(): void {
    this.#dropGone();
    let capacity = this.#mask + 1;
    while (capacity > fewestSlots && this.size < capacity / 3) capacity /= 2;
    if (this.size > 0) this.#resize(capacity);
    else [this.#slots, this.#mask] = [unused, 0];
  }

  #owner(slot: number): number {
    return this.#slots[slot * slotWords + ownerWord] as number;
  }

  /** Where a key would lie if all slots were free. */
  #home(slot: number): number {
    return (this.#slots[slot * slotWords + 1] as number) & this.#mask;
  }

  /** The slot of a key, or the free one where it belongs. */
  #find(words: Uint32Array, at: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const second = words[at + 1] as number;
    for (let slot = second & mask; ; slot = (slot + 1) & mask) {
      const start = slot * slotWords;
      if (slots[start + ownerWord] === 0) return slot;
      if (
        slots[start + 1] === second &&
        slots[start] === words[at] &&
        slots[start + 2] === words[at + 2] &&
        slots[start + 3] === words[at + 3]
      ) {
        return slot;
      }
    }
  }

  /**
   * Makes room for one more key; returns whether slots have moved. It also grows if it could drop only few keys of
   * expired owners: otherwise it would soon have to search all slots again.
   */
  #makeRoom(): boolean {
    const capacity = this.#mask + 1;
    if (capacity >= fewestSlots && this.size < capacity * fullest) return false;
    this.#dropGone();
    if (capacity < fewestSlots || this.size > capacity * 0.6) this.#resize(Math.max(fewestSlots, capacity * 2));
    return true;
  }

  /** Begins after a free slot, over which no key moves, so that each slot is visited once. */
  #dropGone(): void {
    const mask = this.#mask;
    let start = 0;
    while (this.#owner(start) !== 0) start += 1;
    for (let step = 1; step <= mask; step += 1) {
      const slot = (start + step) & mask;
      while (this.#owner(slot) !== 0 && !this.#isLive(this.#owner(slot))) this.#free(slot);
    }
  }

  /** Frees a slot: keys after it that could not lie further forward move up, until a free slot. */
  #free(slot: number): void {
    const mask = this.#mask;
    let hole = slot;
    for (let next = (hole + 1) & mask; this.#owner(next) !== 0; next = (next + 1) & mask) {
      if (((next - this.#home(next)) & mask) < ((next - hole) & mask)) continue;
      this.#copy(next, hole);
      hole = next;
    }
    this.#slots[hole * slotWords + ownerWord] = 0;
    this.size -= 1;
  }

  #copy(from: number, to: number): void {
    const slots = this.#slots;
    for (let word = 0; word < slotWords; word += 1) {
      slots[to * slotWords + word] = slots[from * slotWords + word] as number;
    }
  }

  #resize(capacity: number): void {
    if (capacity === this.#mask + 1) return;
    const old = this.#slots;
    // Allocated first: if there is no memory for it, the shard stays as it was.
    this.#slots = new Uint32Array(capacity * slotWords);
    this.#mask = capacity - 1;
    for (let start = 0; start < old.length; start += slotWords) {
      if (old[start + ownerWord] === 0) continue;
      const to = this.#find(old, start) * slotWords;
      for (let word = 0; word < slotWords; word += 1) this.#slots[to + word] = old[start + word] as number;
    }
  }
}
