import { backOff } from "../../engine/language.ts";
import { FetchInterrupted, SourceError } from "./revision.ts";
import type { RequestListener, Revision, RevisionSource, SourceReason } from "./revision.ts";

/**
 * The result of a poll: the newest revision; or the last good one, and why there is no newer one, or that the source is
 * still being read.
 */
export interface PollResult {
  revision?: Revision;
  error?: Error;
  /** The fetch goes on: its result is for the next poll. */
  isPending?: true;
  /** The fetch was ended early because someone needs the source. */
  isInterrupted?: true;
  /** The fetch had begun before this poll: what was pushed since may not be in it. */
  isJoined?: true;
  /** The mark of the poll that began the fetch that has ended. Absent where none has. */
  mark?: string;
}

export interface PollOptions {
  onRequest?: RequestListener;
  /** Says when a poll is no longer to wait for a fetch that another poll may have begun. It waits where no revision is known. */
  patience?: (isJoined: boolean) => Promise<void>;
  /** Called when a fetch ends that no poll waits for any more. */
  onLate?: () => void;
  /** What is known of the moment at which a fetch begins. */
  mark?: string;
}

/** A fetch under way, or one that has ended and whose result no poll has had yet. */
interface Fetch {
  ended: Promise<void>;
  outcome?: { revision: Revision } | { error: Error };
  /** A poll waits for it. */
  isAwaited: boolean;
  mark?: string;
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
  #fetch: Fetch | undefined;
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

  /**
   * Polls the source. `urgent` ignores the back-off, but not a Retry-After. One fetch is made at a time; one that takes
   * longer than `patience` goes on while the last good revision is used. Rejects only when `signal` aborts.
   */
  async poll(urgent: boolean, signal: AbortSignal, options: PollOptions = {}): Promise<PollResult> {
    const isJoined = this.#fetch !== undefined;
    const isBackingOff = performance.now() < this.#next && (!urgent || isLimited(this.#error));
    if (!isJoined && (this.#error === undefined || !isBackingOff)) await this.#begin(signal, options);
    const fetch = this.#fetch;
    const joined = isJoined ? { isJoined } : {};
    if (fetch === undefined) return { ...(await this.#failure(signal)), ...marked(options.mark) };
    await this.#wait(fetch, options.patience?.(isJoined));
    signal.throwIfAborted();
    const { outcome, mark } = fetch;
    if (outcome === undefined) return { ...this.#known(), ...joined, isPending: true };
    this.#fetch = undefined;
    if ("revision" in outcome) return { ...outcome, ...joined, ...marked(mark) };
    if (outcome.error instanceof FetchInterrupted) return { ...this.#known(), isInterrupted: true };
    return { ...(await this.#failure(signal)), ...joined, ...marked(mark) };
  }

  /** Resolves when no fetch is under way. */
  async idle(): Promise<void> {
    await this.#fetch?.ended;
  }

  async #begin(signal: AbortSignal, { onRequest, onLate, mark }: PollOptions): Promise<void> {
    // What is known cannot be asked for while a fetch is under way.
    if (this.#source.known === undefined) await this.#lastGood(signal);
    const fetch: Fetch = { ended: Promise.resolve(), isAwaited: true, ...marked(mark) };
    fetch.ended = this.#source.fetch(signal, onRequest).then(
      (revision) => {
        this.#failures = 0;
        this.#error = undefined;
        fetch.outcome = { revision };
        if (!fetch.isAwaited) onLate?.();
      },
      (error: unknown) => {
        if (signal.aborted) return;
        const found = error instanceof Error ? error : new Error(String(error));
        if (!(found instanceof FetchInterrupted)) this.#failed(found);
        fetch.outcome = { error: found };
        if (!fetch.isAwaited) onLate?.();
      },
    );
    this.#fetch = fetch;
  }

  async #wait(fetch: Fetch, patience: Promise<void> | undefined): Promise<void> {
    const isKnown = this.#source.known !== undefined;
    fetch.isAwaited = true;
    await Promise.race([fetch.ended, ...(patience !== undefined && isKnown ? [patience] : [])]);
    fetch.isAwaited = false;
  }

  /** The last good revision, and why there is no newer one. */
  async #failure(signal: AbortSignal): Promise<PollResult> {
    const revision = await this.#lastGood(signal);
    return { ...(revision && { revision }), ...(this.#error && { error: this.#error }) };
  }

  /** The same while the source is in use. */
  #known(): PollResult {
    const { known } = this.#source;
    return { ...(known && { revision: known }), ...(this.#error && { error: this.#error }) };
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

function marked(mark: string | undefined): { mark?: string } {
  return mark === undefined ? {} : { mark };
}
