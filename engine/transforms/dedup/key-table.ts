import { KeyShard, type IsLive } from "./key-shard.ts";

const shards = 256;

/**
 * Which batch brought a key: from 128-bit fingerprints to owners, unsigned 32-bit numbers that are never 0. Words are
 * read from an array of the caller's, four from the index `at` on, and nothing is allocated for a key.
 *
 * The keys of an owner that is gone are not taken out one by one: such a key may still be found, and the caller asks
 * whether its owner lives. A sweep drops them, and a shard that is full drops its own before it grows.
 *
 * Each of 256 shards grows and shrinks alone, so that no more than one of them is in memory twice, and a key that makes
 * one grow waits for that one only. A key takes 27 to 53 bytes, and up to 67 where many others have gone.
 */
export class KeyTable {
  readonly #shards: readonly KeyShard[];
  /** The shard that the next sweep begins with. */
  #next = 0;

  constructor(isLive: IsLive) {
    this.#shards = Array.from({ length: shards }, () => new KeyShard(isLive));
  }

  /** The owner of a key; 0 if there is none. */
  get(words: Uint32Array, at: number): number {
    return this.#shardOf(words, at).get(words, at);
  }

  /** Puts a key in, or gives it another owner. */
  set(words: Uint32Array, at: number, owner: number): void {
    this.#shardOf(words, at).set(words, at, owner);
  }

  /** Takes a key out; false if it was not there. */
  delete(words: Uint32Array, at: number): boolean {
    return this.#shardOf(words, at).delete(words, at);
  }

  /**
   * Drops the keys whose owners are gone, and gives memory back: in all shards, which looks at every key, or in the next
   * `count` of them, so that a large table can be swept little by little.
   */
  sweep(count = shards): void {
    for (let swept = 0; swept < count; swept += 1) {
      (this.#shards[this.#next] as KeyShard).sweep();
      this.#next = (this.#next + 1) % shards;
    }
  }

  /** How many keys it holds, those of gone owners included that no sweep has met yet. */
  get size(): number {
    return this.#shards.reduce((sum, { size }) => sum + size, 0);
  }

  /** What its arrays take, in bytes. */
  get bytes(): number {
    return this.#shards.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** By the highest bits of the first word; the place within a shard is by the lowest of the second. */
  #shardOf(words: Uint32Array, at: number): KeyShard {
    return this.#shards[(words[at] as number) >>> 24] as KeyShard;
  }
}
