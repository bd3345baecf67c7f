/** Milliseconds after a push, and then between two questions, at which the source is polled once more: 20 s in all. */
const waits: readonly number[] = [1000, 2000, 4000, 6000, 7000];

/**
 * Polls a source again while it does not have what a push announced: many hosts send the hook before every one of their
 * servers shows the commit. Waits for one commit at a time, for that of the newest push, and at most 20 seconds; then
 * the interval finds it.
 */
export class AwaitedCommit {
  readonly #poll: () => void;
  readonly #followed: () => string | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `followed`: the commit that was read last. */
  constructor(poll: () => void, followed: () => string | undefined) {
    this.#poll = poll;
    this.#followed = followed;
  }

  /** Waits for `commit`, a full hash, for which a poll has been asked already. */
  expect(commit: string): void {
    this.close();
    this.#wait(commit, waits);
  }

  /** Waits for nothing any more. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #wait(commit: string, [wait, ...later]: readonly number[]): void {
    if (wait === undefined) return;
    this.#timer = setTimeout(() => {
      if (this.#followed() === commit) return;
      this.#poll();
      this.#wait(commit, later);
    }, wait);
  }
}
