/**
 * Called after attempt number `attempt` (from 1) has failed. It throws what ends the attempts, as it does with an error
 * that no attempt mends; or it waits, and resolves when it is time for the next one. How long it waits (`backOff`,
 * `RetryPause`), what ends the wait (`sleep`) and what is reported is its matter: nothing here looks at a clock.
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
 * The same, for as long as it is wanted: `isWanted` is asked before each attempt. Resolves with undefined when it is not
 * wanted any more. An attempt that is under way by then is not cut off, and its result counts.
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
