/**
 * Called after attempt number `attempt` (from 1) has failed. It throws to end the attempts, as for an error that no
 * attempt resolves; or it waits, and resolves when it is time for the next one. It decides how long to wait (`backOff`,
 * `RetryPause`), what ends the wait (`sleep`) and what is reported: nothing here reads a clock.
 */
export type AfterFailure = (error: unknown, attempt: number) => Promise<void>;

/** Attempts `work` until it succeeds, and resolves with its result. Rejects with what `afterFailure` throws. */
export async function retry<Result>(work: () => Promise<Result>, afterFailure: AfterFailure): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      await afterFailure(error, attempt);
    }
  }
}

/**
 * The same, as long as `isWanted`, which is called before each attempt, returns true. Resolves with undefined when it
 * does not. An attempt that has begun by then is not cut off, and its result counts.
 */
export async function retryWhile<Result>(
  isWanted: () => boolean,
  work: () => Promise<Result>,
  afterFailure: AfterFailure,
): Promise<Result | undefined> {
  for (let attempt = 1; isWanted(); attempt += 1) {
    try {
      return await work();
    } catch (error) {
      await afterFailure(error, attempt);
    }
  }
  return undefined;
}
