/** Where whoever reads waits for something to read. */
export class Arrivals {
  readonly #looks = new Set<() => void>();

  /** Something came: each wait looks whether that is what it waits for. */
  came(): void {
    for (const look of this.#looks) look();
  }

  /**
   * Resolves when `isThere`, which is asked at once and whenever something came; at the time `until` (ms of
   * the monotonic clock), or when `signal` aborts. Never throws.
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
      // A timer may be a little early by that clock: it ends the wait all the same, and who waited looks at the time.
      const timer = until === undefined ? undefined : setTimeout(end, Math.max(0, until - performance.now()));
      this.#looks.add(look);
      signal.addEventListener("abort", end);
    });
  }
}
