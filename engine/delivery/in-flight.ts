import { LeftForLater } from "../core/errors.ts";
import { holdsPositions, type BatchRecord } from "../core/journal.ts";

/** The most written batches that wait for their commit while others are sent. */
const mostWaiting = 4;

/** When a batch may be committed: those of the source one after another, in the order of their offsets. */
export interface Turn {
  /** Resolves when the batch before it is committed. Rejects where that was given up. */
  readonly came: Promise<void>;
  /** Whether `came` has resolved. */
  readonly isNow: boolean;
}

/**
 * The batches of a pipeline between prepare and commit: some are sent at the same time, and those of the source are
 * committed in their order.
 */
export class InFlightBatches {
  readonly #replicas: number;
  readonly #onGivenUp: (error: unknown) => void;
  /** The commit of the newest batch of the source; each waits for the one before it. */
  #committed: Promise<void> = Promise.resolve();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #sending = new Set<Promise<unknown>>();
  #hasFailed = false;
  /** Clocks of the batches in flight, by their number. */
  readonly #clocks = new Map<number, number>();

  /**
   * `replicas`: inserts at the same time. `onGivenUp`: a batch was given up, since a drain waits for no pause, or after
   * an error that no retry mends.
   */
  constructor(replicas: number, onGivenUp: (error: unknown) => void) {
    this.#replicas = replicas;
    this.#onGivenUp = onGivenUp;
  }

  get isEmpty(): boolean {
    return this.#inFlight.size === 0;
  }

  /** Keys that are valid at this time are still needed: the clock of the oldest batch in flight, or `now`. */
  oldest(now: number): number {
    return Math.min(now, ...this.#clocks.values());
  }

  /**
   * Resolves when there is room for another batch. Throws LeftForLater after a batch was given up: none may follow it.
   */
  async room(): Promise<void> {
    while (this.#sending.size >= this.#replicas || this.#inFlight.size >= this.#replicas + mostWaiting) {
      await Promise.race([...this.#sending, ...this.#inFlight]);
    }
    if (this.#hasFailed) throw new LeftForLater("an earlier batch was given up");
  }

  /**
   * Resolves when all batches are committed, also those of released duplicates. Throws the error of one that was given
   * up.
   */
  async allCommitted(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }

  /** Resolves when all batches are committed or given up. */
  async ended(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  /** Starts the delivery of a batch. One whose offsets are all final already waits for no turn. */
  begin(record: BatchRecord, deliver: (turn: Turn) => Promise<void>): void {
    this.#clocks.set(record.batch, record.clock);
    const inTurn = holdsPositions(record);
    const delivered = deliver(turnAfter(inTurn ? this.#committed : Promise.resolve()));
    if (inTurn) this.#committed = delivered;
    this.#inFlight.add(delivered);
    delivered.catch(this.#onGivenUp).finally(() => this.#inFlight.delete(delivered));
  }

  /** A batch is committed: the keys of its time are no longer needed for it. */
  committed({ batch }: BatchRecord): void {
    this.#clocks.delete(batch);
  }

  /** Runs `send` once fewer than `replicas` inserts are being sent. */
  async inSlot<T>(send: () => Promise<T>): Promise<T> {
    while (this.#sending.size >= this.#replicas) await Promise.race(this.#sending);
    const sending = send();
    const done = sending.then(
      () => undefined,
      () => (this.#hasFailed = true),
    );
    this.#sending.add(done);
    return sending.finally(() => this.#sending.delete(done));
  }
}

function turnAfter(came: Promise<void>): Turn {
  const turn = { came, isNow: false };
  came.then(
    () => (turn.isNow = true),
    () => undefined,
  );
  return turn;
}
