import { setMaxListeners } from "node:events";
import { EngineError, LeftForLater } from "../core/errors.ts";
import type { BatchRecord, Journal } from "../core/journal.ts";
import type { Sink } from "../core/sink.ts";
import { retry } from "../flow/retry.ts";
import type { RetryPause } from "../flow/retry-pause.ts";
import type { Waited } from "../core/pause.ts";
import { isPassing } from "../state/storage-error.ts";

/** Signals of the end of a pipeline: `leave` aborts when it leaves at once, `drain` when it drains or leaves. */
export interface EndSignals {
  leave: AbortSignal;
  drain: AbortSignal;
}

/** The waits of a pipeline's batches: a drain waits for no pause, and leaving ends each wait. */
export class Pauses {
  readonly #pause: RetryPause;
  readonly #signals: EndSignals;

  constructor(pause: RetryPause, signals: EndSignals) {
    // Each insert in flight listens while it waits.
    setMaxListeners(0, signals.leave, signals.drain);
    this.#pause = pause;
    this.#signals = signals;
  }

  /** Aborts when the pipeline leaves at once. */
  get leave(): AbortSignal {
    return this.#signals.leave;
  }

  /**
   * Waits before attempt number `attempt` + 1; after a failure of the network, until `sink` is reachable again. Throws
   * LeftForLater where a drain would wait for a pause.
   */
  async wait(failure: Waited, attempt: number, sink?: Sink): Promise<void> {
    const { leave, drain } = this.#signals;
    const isDraining = drain.aborted;
    if (isDraining && this.#pause.isPause(failure, attempt)) throw new LeftForLater(failure.text);
    const isReachable = sink && ((signal: AbortSignal) => sink.isReachable(signal));
    await this.#pause.wait(failure, attempt, isDraining ? leave : drain, isReachable);
    this.leaveIfAborted();
  }

  /** Waits for the answer to what was just sent; a missing one is a pause too. */
  answerOf<Answer>(what: string, answer: Promise<Answer>): Promise<Answer> {
    return this.#pause.answerOf(what, answer);
  }

  /** An attempt succeeded: the pause is over. */
  end(): void {
    this.#pause.leave();
  }

  /** Throws LeftForLater once the pipeline leaves. */
  leaveIfAborted(): void {
    if (this.leave.aborted) throw new LeftForLater("the pipeline leaves");
  }
}

/** Writes to the journal, and waits while the disk has no room, or the dead letters are at a bound. Throws LeftForLater. */
export class JournalWriter {
  readonly #journal: Journal;
  readonly #pauses: Pauses;

  constructor(journal: Journal, pauses: Pauses) {
    this.#journal = journal;
    this.#pauses = pauses;
  }

  /** Makes a record durable, before anything of it is sent. */
  async prepare(record: BatchRecord): Promise<BatchRecord> {
    await this.#durably(() => this.#journal.prepare(record));
    return record;
  }

  /** Makes durable what has changed of a pending batch. */
  async amend(record: BatchRecord): Promise<BatchRecord> {
    await this.#durably(() => this.#journal.amend(record));
    return record;
  }

  /** Makes the batch's offsets and keys final and its dead letters visible; prepares `released` in the same write. */
  async commit(record: BatchRecord, released?: BatchRecord): Promise<void> {
    await this.#durably(() => this.#journal.commit(record, released));
  }

  #durably(write: () => Promise<void>): Promise<void> {
    return retry(write, async (error, attempt) => {
      const kind = pauseFor(error);
      if (kind === undefined) throw error;
      await this.#pauses.wait({ class: kind, text: (error as Error).message }, attempt);
    });
  }
}

/** The pause that an error of the journal asks for; undefined where waiting resolves nothing. */
function pauseFor(error: unknown): "disk" | "letters" | undefined {
  if (isPassing(error)) return "disk";
  return error instanceof EngineError && error.code === "DEAD_LETTERS_FULL" ? "letters" : undefined;
}
