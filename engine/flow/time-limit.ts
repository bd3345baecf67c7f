/**
 * Runs `work` with a signal that aborts when `signal` does, and after so many milliseconds with a reason that
 * `isOutOfTime` knows. Removes its timer and its listener. The timer holds what it aborts: Node.js 20 may collect the
 * `AbortSignal.timeout()` of an `AbortSignal.any()` before its time, which is then never over.
 */
export async function withTimeLimit<Result>(
  signal: AbortSignal,
  milliseconds: number,
  work: (limited: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new OutOfTime(milliseconds)), milliseconds);
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

/** Whether a signal was aborted because its time ran out. */
export function isOutOfTime(signal: AbortSignal): boolean {
  return signal.reason instanceof OutOfTime;
}

class OutOfTime extends Error {
  constructor(milliseconds: number) {
    super(`it took longer than ${milliseconds / 1000} s`);
  }
}
