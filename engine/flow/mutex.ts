/**
 * Runs pieces of work one after the other, in the order of the calls. An error reaches only the caller of that work;
 * the next one runs all the same. Work that waits for other work of the same mutex waits forever.
 */
export class Mutex {
  readonly #onIdle: () => void;
  #last: Promise<void> = Promise.resolve();
  #count = 0;

  /** `onIdle` is called each time when the last work has ended and none waits. */
  constructor(onIdle: () => void = () => undefined) {
    this.#onIdle = onIdle;
  }

  /** Whether nothing runs or waits. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  /** Resolves and rejects as `work` does. It begins when all earlier work has ended, never within this call. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#count += 1;
    const result = this.#last.then(work);
    // The queue does not keep the result of work in memory.
    const end = (): void => this.#end();
    this.#last = result.then(end, end);
    return result;
  }

  /** Resolves when all work that was given so far has ended. Never rejects. */
  ended(): Promise<void> {
    return this.#last;
  }

  #end(): void {
    this.#count -= 1;
    if (this.isIdle) this.#onIdle();
  }
}

/**
 * A mutex for each key: work of different keys runs at the same time. A key is removed when its last work has ended.
 */
export class KeyedMutex<Key> {
  readonly #mutexes = new Map<Key, Mutex>();

  /** How many keys work runs or waits for. */
  get size(): number {
    return this.#mutexes.size;
  }

  /** See `Mutex.run`. */
  run<Result>(key: Key, work: () => Promise<Result>): Promise<Result> {
    let mutex = this.#mutexes.get(key);
    if (mutex === undefined) {
      mutex = new Mutex(() => this.#mutexes.delete(key));
      this.#mutexes.set(key, mutex);
    }
    return mutex.run(work);
  }
}
