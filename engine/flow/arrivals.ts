/** Lets readers wait until there is something to read. */
export class Arrivals {
  readonly #looks = new Set<() => void>();

  /** Something arrived: each wait checks its condition again. */
  came(): void {
    for (const look of this.#looks) look();
  }

  /**
   * Resolves when `isThere`, which is checked at once and whenever something arrived; at the time `until` (ms of the
   * monotonic clock), or when `signal` aborts. Never throws.
   */
  wait(isThere: () => boolean, until: number | undefined, signal: AbortSignal): Promise<void> {
    if (isThere() || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#looks.delete(look);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const look = (): void => {
        if (isThere()) end();
      };
      // A timer may be a little early by that clock. It ends the wait all the same; the caller checks the time.
      const timer = until === undefined ? undefined : setTimeout(end, Math.max(0, until - performance.now()));
      this.#looks.add(look);
      signal.addEventListener("abort", end);
    });
  }
}
