import { addAbortListener } from "node:events";

/**
 * What `work` resolves with; undefined once `signal` has aborted, whatever becomes of the work. Unlike a race with a promise
 * of the signal, it keeps nothing of a work that has ended, however long the signal lives.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = addAbortListener(signal, () => resolve(undefined));
    work.then(resolve, reject).finally(() => onAbort[Symbol.dispose]());
  });
}
