import { isOutOfTime, Mutex, withTimeLimit } from "../../engine/language.ts";
import {
  FetchInterrupted,
  type RequestListener,
  type Revision,
  type RevisionSource,
  type SourceDescription,
  SourceError,
  type WaitingCommit,
} from "../git/revision.ts";
import { HoldError } from "./hold.ts";
import type { Pin } from "./hold.ts";
import type { Holds } from "./holds.ts";

/** Milliseconds that a rollback waits for a remote that does not answer: it is for the minutes of an incident. */
const soon = 10_000;

/** Called with a pin that ended because the followed ref moved. */
export type LiftListener = (pin: Pin, head: Revision) => void;

/**
 * A source that gives the pinned commit instead of the newest one, as long as the followed ref stays where it was when
 * the pin was made. It makes one request to the source at a time.
 */
export class PinnedSource implements RevisionSource {
  readonly #source: RevisionSource;
  readonly #holds: Holds;
  readonly #onLift: LiftListener;
  #head: Revision | undefined;
  /** The commit that was pinned last, as it was read. */
  #pinned: Revision | undefined;
  /** Ends the fetch that is under way. */
  #fetching: AbortController | undefined;
  readonly #requests = new Mutex();

  constructor(source: RevisionSource, holds: Holds, onLift: LiftListener) {
    this.#source = source;
    this.#holds = holds;
    this.#onLift = onLift;
  }

  get description(): SourceDescription {
    return this.#source.description;
  }

  get known(): Revision | undefined {
    const { pin } = this.#holds.state;
    if (pin === undefined) return this.#head;
    return this.#pinned?.sha === pin.commit ? this.#pinned : undefined;
  }

  /** The commit of the followed ref that was read last, in full, also while another one is pinned. */
  get tip(): string | undefined {
    return this.#head?.sha;
  }

  interrupt(): void {
    this.#fetching?.abort(new FetchInterrupted("someone needs the source"));
  }

  fetch(signal: AbortSignal, onRequest?: RequestListener): Promise<Revision> {
    const fetching = (this.#fetching = new AbortController());
    return this.#requests.run(async () => {
      this.#head = await this.#source.fetch(AbortSignal.any([signal, fetching.signal]), onRequest);
      const { pin } = this.#holds.state;
      if (pin === undefined) return this.#head;
      if (this.#head.sha === pin.head || !isOfPin(this.#head, pin)) return this.#at(pin.commit, signal);
      this.#onLift(pin, this.#head);
      // The next turn detects the move again, so a full disk need not end this turn.
      await this.#holds.unpin(pin).catch(() => undefined);
      return this.#head;
    });
  }

  /** While the remote cannot be reached, it is unknown whether the followed ref has moved: the pin stays. */
  cached(signal: AbortSignal): Promise<Revision | undefined> {
    return this.#requests.run(async () => {
      const { pin } = this.#holds.state;
      if (pin !== undefined) return this.#at(pin.commit, signal);
      const revision = await this.#source.cached?.(signal);
      if (revision !== undefined) this.#head = revision;
      return revision;
    });
  }

  /**
   * The revision of a rollback, and the newest one; while the remote cannot be reached, or does not answer soon, the last
   * known one. Throws HoldError where there is no earlier commit, and SourceError.
   */
  target(commit: string, signal: AbortSignal): Promise<{ revision: Revision; head: Revision }> {
    this.interrupt();
    return this.#requests.run(async () => {
      if (this.#source.at === undefined) {
        const { url } = this.#source.description;
        throw new HoldError(`${url} is a plain folder, which has no earlier revisions: a rollback needs a repository`);
      }
      const { head, isAnswering } = await this.#newest(signal);
      const revision = await (isAnswering ? this.#at(commit, signal) : this.#soonAt(commit, signal));
      if (revision.sha === head.sha) {
        throw new HoldError(`${head.id} is the newest commit, so there is nothing to go back to: name an earlier one`);
      }
      return { revision, head };
    });
  }

  get waiting(): WaitingCommit | undefined {
    return this.#source.waiting;
  }

  noteApplied(commit: string): void {
    this.#source.noteApplied?.(commit);
  }

  async approve(commit: string): Promise<void> {
    this.interrupt();
    await this.#source.approve?.(commit);
  }

  async watch(onChange: () => void): Promise<void> {
    await this.#source.watch?.(onChange);
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  async #newest(signal: AbortSignal): Promise<{ head: Revision; isAnswering: boolean }> {
    try {
      const head = (this.#head = await withTimeLimit(signal, soon, (within) => this.#source.fetch(within)));
      return { head, isAnswering: true };
    } catch (error) {
      const head = (this.#head ??= await this.#source.cached?.(signal));
      if (head === undefined) throw error;
      return { head, isAnswering: false };
    }
  }

  /** A commit that was never followed needs the remote, which has just not answered. */
  #soonAt(commit: string, signal: AbortSignal): Promise<Revision> {
    return withTimeLimit(signal, soon, async (within) => {
      try {
        return await this.#at(commit, within);
      } catch (error) {
        if (!isOutOfTime(within)) throw error;
        const { url } = this.#source.description;
        const what = `expected an answer within ${soon / 1000} s, found none`;
        throw new SourceError(
          "Timeout",
          `${url}: ${what}, and commit ${commit} was not followed before: name one that was`,
        );
      }
    });
  }

  /** Read anew each time: where signatures are verified, a key may no longer be accepted. */
  async #at(commit: string, signal: AbortSignal): Promise<Revision> {
    if (this.#source.at !== undefined) return (this.#pinned = await this.#source.at(commit, signal));
    throw new HoldError(`${commit} is pinned, and a plain folder has no commits: run "sluice rollback --cancel"`);
  }
}

/** Whether a tip says where the ref is that was followed when the pin was made: that of another place says nothing about it. */
function isOfPin({ branch, redirected }: Revision, pin: Pin): boolean {
  const isSameBranch = branch === undefined || pin.branch === undefined || branch === pin.branch;
  return redirected === pin.redirected && isSameBranch;
}
