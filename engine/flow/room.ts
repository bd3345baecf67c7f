/**
 * A limit on what all requests hold at once, counted in requests or bytes. A request never waits for room: it is
 * refused, and its sender retries later.
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
