import { backOff } from "../../engine/language.ts";
import { SourceError } from "./revision.ts";
import type { RequestListener, Revision, RevisionSource, SourceReason } from "./revision.ts";

/** The result of a poll: the newest revision; or the last good one, and why there is no newer one. */
export interface PollResult {
  revision?: Revision;
  error?: Error;
}

/** Milliseconds: the first back-off, and the longest without a Retry-After. */
const first = 1_000;
const longest = 300_000;
/** The wait is a random share of the back-off between these two, so that many processes do not poll at once. */
const spread = [0.9, 1.1] as const;

/** Failures that often end soon: the source is polled again before the interval is over. */
const transient: ReadonlySet<SourceReason> = new Set<SourceReason>([
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
 * Polls a source with back-off. While the source cannot be read, the last good revision stays in effect, and the source
 * is polled again after 1 s, 2 s, 4 s, … up to 5 min. After an answer that limits the rate or refuses the credentials
 * it is not polled before the interval is over, and never before the end of its Retry-After.
 */
export class SourcePoller {
  readonly #source: RevisionSource;
  readonly #interval: number;
  #failures = 0;
  #error: Error | undefined;
  /** By the monotonic clock, in milliseconds. */
  #next = 0;
  #nextAt = "";

  /** `interval`: milliseconds between two polls without a failure. */
  constructor(source: RevisionSource, interval: number) {
    this.#source = source;
    this.#interval = interval;
  }

  /** Milliseconds until the source may be polled again after a failure; undefined where the last poll succeeded. */
  get wait(): number | undefined {
    return this.#error === undefined ? undefined : Math.max(0, this.#next - performance.now());
  }

  /** Polls the source. `urgent` ignores the back-off, but not a Retry-After. Rejects only when `signal` aborts. */
  async poll(urgent: boolean, signal: AbortSignal, onRequest?: RequestListener): Promise<PollResult> {
    const isBackingOff = performance.now() < this.#next && (!urgent || isLimited(this.#error));
    if (this.#error === undefined || !isBackingOff) {
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

  /** The error of a poll, with the time before which no one's request makes another one, where there is such a time. */
  explained(error: Error): Error {
    if (!isLimited(error)) return error;
    const { reason, message, retryAfter } = error;
    const text = `${message}; the source is polled again at ${this.#nextAt}, and not before that, whoever asks`;
    return new SourceError(reason, text, { retryAfter });
  }

  #failed(error: Error): void {
    this.#failures++;
    const backedOff = this.#waitAfter(error, backOff(this.#failures, first, longest, spread));
    const wait = Math.ceil(Math.max(backedOff, (error as Partial<SourceError>).retryAfter ?? 0));
    this.#next = performance.now() + wait;
    this.#nextAt = new Date(Date.now() + wait).toISOString();
    this.#error = error;
  }

  #waitAfter(error: Error, backedOff: number): number {
    if (!(error instanceof SourceError) || transient.has(error.reason)) return backedOff;
    return error.stalls ? this.#interval : Math.max(this.#interval, backedOff);
  }

  async #lastGood(signal: AbortSignal): Promise<Revision | undefined> {
    try {
      return await this.#source.cached?.(signal);
    } catch {
      // The error of the source explains more than why there is no cached revision, such as a removed key.
      signal.throwIfAborted();
      return undefined;
    }
  }
}

function isLimited(error: Error | undefined): error is SourceError {
  return error instanceof SourceError && (error.reason === "RateLimited" || error.retryAfter !== undefined);
}
