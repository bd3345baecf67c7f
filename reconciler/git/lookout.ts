import { SourceError } from "./revision.ts";
import type { RequestListener, Revision, RevisionSource, SourceReason } from "./revision.ts";

/** What a look at the source gave: the newest revision; or the last good one, and why there is no newer one. */
export interface Sight {
  revision?: Revision;
  error?: Error;
}

/** Milliseconds: the first wait, and the longest that is our own idea. */
const first = 1_000;
const longest = 300_000;

/** Failures that often pass by themselves and soon: these are tried again before the interval is over. */
const passing: ReadonlySet<SourceReason> = new Set<SourceReason>([
  "HostNotFound",
  "ConnectionRefused",
  "ConnectionFailed",
  "Timeout",
  "ServerError",
  "TransferIncomplete",
  "TransferCorrupt",
  "GitOperationFailed",
]);

/**
 * Looks at a source, no more often than is good for it. While it cannot be read, the last good revision holds, and it
 * is asked again after 1 s, 2 s, 4 s, … up to 5 min; never before the interval is over where it said that it is asked
 * too often or refused who we are, and never before the time that it named.
 */
export class Lookout {
  readonly #source: RevisionSource;
  readonly #interval: number;
  #failures = 0;
  #error: Error | undefined;
  /** On the clock that no one sets. */
  #next = 0;

  /** `interval`: milliseconds between two looks while all is well. */
  constructor(source: RevisionSource, interval: number) {
    this.#source = source;
    this.#interval = interval;
  }

  /** Milliseconds until the source may be asked again after a failure; undefined where the last look went well. */
  get wait(): number | undefined {
    return this.#error === undefined ? undefined : Math.max(0, this.#next - performance.now());
  }

  /**
   * Looks. `urgent` does not wait for the end of a back-off, but for the time that the source itself has named.
   * Rejects only when `signal` aborts.
   */
  async look(urgent: boolean, signal: AbortSignal, onRequest?: RequestListener): Promise<Sight> {
    const isHeld = performance.now() < this.#next && (!urgent || isLimited(this.#error));
    if (this.#error === undefined || !isHeld) {
      try {
        const revision = await this.#source.fetch(signal, onRequest);
        this.#failures = 0;
        this.#error = undefined;
        return { revision };
      } catch (error) {
        signal.throwIfAborted();
        this.#failed(error instanceof Error ? error : new Error(String(error)));
      }
    }
    const revision = await this.#lastGood(signal);
    return { ...(revision && { revision }), ...(this.#error && { error: this.#error }) };
  }

  #failed(error: Error): void {
    this.#failures++;
    this.#error = error;
    const backOff = Math.min(longest, first * 2 ** Math.min(this.#failures - 1, 20)) * (0.9 + Math.random() * 0.2);
    this.#next =
      performance.now() +
      Math.ceil(Math.max(this.#own(error, backOff), (error as Partial<SourceError>).retryAfter ?? 0));
  }

  #own(error: Error, backOff: number): number {
    if (!(error instanceof SourceError) || passing.has(error.reason)) return backOff;
    return error.stalls ? this.#interval : Math.max(this.#interval, backOff);
  }

  async #lastGood(signal: AbortSignal): Promise<Revision | undefined> {
    try {
      return await this.#source.cached?.(signal);
    } catch {
      // Why there is none, such as a key that is accepted no more, says less than why the source cannot be read.
      signal.throwIfAborted();
      return undefined;
    }
  }
}

function isLimited(error: Error | undefined): boolean {
  return error instanceof SourceError && (error.reason === "RateLimited" || error.retryAfter !== undefined);
}
