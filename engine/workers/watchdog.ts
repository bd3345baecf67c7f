import type { WorkerLike } from "./protocol.ts";

/** How often it looks, in milliseconds. */
const every = 250;
/** A pipeline that has its thread for so long is told, in milliseconds. */
const longestHold = 1_000;

interface Seen {
  turn: number;
  since: number;
  isTold: boolean;
}

/** A thread that a pipeline keeps from all others. */
export interface Hold<Thread> {
  thread: Thread;
  /** The number of the pipeline. */
  number: number;
  /** For so many milliseconds, about. */
  milliseconds: number;
  /** Whether it was not told before. */
  isNew: boolean;
}

/**
 * Sees from the process which pipeline keeps its thread from everything else: for more than a second nothing else can have gone
 * on there. A process that was itself frozen, or had no turn, has seen nothing meanwhile, and blames nobody for it.
 */
export class Watchdog<Thread extends { worker: Pick<WorkerLike, "hold"> }> {
  readonly #threads: Iterable<Thread>;
  readonly #onHeld: (hold: Hold<Thread>) => void;
  readonly #seen = new WeakMap<Thread, Seen>();
  #looked = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /** `onHeld` is called at each look at a thread that is held. */
  constructor(threads: Iterable<Thread>, onHeld: (hold: Hold<Thread>) => void) {
    this.#threads = threads;
    this.#onHeld = onHeld;
  }

  begin(): void {
    this.#timer ??= setInterval(() => this.look(performance.now()), every).unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Looks at a time, in milliseconds of the monotonic clock. */
  look(now: number): void {
    const isLate = now - this.#looked > 2 * every;
    this.#looked = now;
    for (const thread of this.#threads) {
      const { number = 0, turn = 0 } = thread.worker.hold?.now ?? {};
      const seen = this.#seen.get(thread);
      if (number === 0) this.#seen.delete(thread);
      else if (seen?.turn !== turn || isLate) {
        this.#seen.set(thread, { turn, since: now, isTold: seen?.turn === turn && seen.isTold });
      } else if (now - seen.since >= longestHold) {
        const isNew = !seen.isTold;
        seen.isTold = true;
        this.#onHeld({ thread, number, milliseconds: now - seen.since, isNew });
      }
    }
  }
}
