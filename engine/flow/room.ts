/**
 * How much requests may hold at once: places, or bytes. Nobody waits for room: where there is none a sender is told to come
 * back.
 */
export class Room {
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  /** Takes a part of it; false where less is free, and nothing is taken then. */
  take(count: number): boolean {
    if (count > this.#free) return false;
    this.#free -= count;
    return true;
  }

  giveBack(count: number): void {
    this.#free += count;
  }
}
