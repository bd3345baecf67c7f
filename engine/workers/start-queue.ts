/**
 * The starts of pipelines that ran in an earlier process, a few at a time: of all at once, each would be done when the last one
 * is. Those that have something to do are first, also when that comes while they wait.
 */
export class StartQueue {
  readonly #most: number;
  readonly #isNeeded: (pipeline_id: string) => boolean;
  #under = 0;
  /** In the order in which they came. */
  readonly #waiting = new Map<string, () => void>();

  /** `most`: so many starts are under way. */
  constructor(most: number, isNeeded: (pipeline_id: string) => boolean) {
    this.#most = most;
    this.#isNeeded = isNeeded;
  }

  /** Resolves with true when it is its turn: call `done` then. With false when `signal` aborts before. */
  async turn(pipeline_id: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#under < this.#most) {
      this.#under += 1;
      return true;
    }
    return new Promise((resolve) => {
      const leave = (): void => {
        if (this.#waiting.delete(pipeline_id)) resolve(false);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.set(pipeline_id, () => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      });
    });
  }

  /** A start whose turn it was is over: the next one has it. */
  done(): void {
    const ids = [...this.#waiting.keys()];
    const next = ids.find((id) => this.#isNeeded(id)) ?? ids[0];
    if (next === undefined) {
      this.#under -= 1;
      return;
    }
    const begin = this.#waiting.get(next)!;
    this.#waiting.delete(next);
    begin();
  }
}
