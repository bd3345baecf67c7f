/**
 * Work with a signal that aborts with `signal`, or after so many milliseconds. The timer holds what it aborts: Node.js 20
 * may collect the `AbortSignal.timeout()` of an `AbortSignal.any()` before its time, which is then never over.
 */
export async function withinTime<Result>(
  milliseconds: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new DOMException(`took longer than ${milliseconds} ms`, "TimeoutError")),
    milliseconds,
  );
  try {
    return await work(AbortSignal.any([signal, limit.signal]));
  } finally {
    clearTimeout(timer);
  }
}
