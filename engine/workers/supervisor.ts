import { backOff } from "../flow/back-off.ts";
import { LeftForLater } from "../core/errors.ts";
import { Mutex } from "../flow/mutex.ts";
import { sleep } from "../flow/sleep.ts";
import { type Death, ThreadDeaths } from "./thread-deaths.ts";
import type { Left, Placement } from "./placement.ts";

/** What a supervisor calls to run its pipeline. */
export interface Supervised {
  /** Puts the pipeline on a thread, as the catalog has it now. `signal` aborts when the launch is no longer wanted. */
  launch(signal: AbortSignal, deaths: ThreadDeaths): Promise<Placement>;
  /** The start failed with this error; the launch is retried after a wait. */
  onRetry(error: Error): void;
  /** The thread died with this error; the launch is retried, after a wait where another pipeline is not the cause. */
  onDied(error: Error): void;
  /** After a death or a hold of its thread it has run for a while again, or runs again where another pipeline was the cause. */
  onRecovered(): void;
  /** It has kept its thread from everything else for more than a second; where others share that, it gets one of its own. */
  onHeld(): void;
  /** The pipeline is at rest. */
  onRested(): void;
  /** What it was launched with is no longer current: it has to end, or to be launched again. */
  onOutdated(): void;
  /** It ended with an error that no retry mends, and should no longer run. */
  onFailed(error: Error): void;
  /** Nothing of it is under way any more. */
  onIdle(): void;
}

const firstWait = 500;
const longestWait = 60_000;
/** After a run of this long, in milliseconds, earlier deaths no longer count. */
const runsWell = 10 * 60_000;
/** After a run of this long, in milliseconds, a pipeline is taken to have recovered from the death of its thread. */
const recoversAfter = 30_000;
/** A start has failed after this many deaths of its thread in a row. */
const mostDeathsAtStart = 3;

/**
 * The one owner of a pipeline: every start, every end and all work on a pipeline at rest goes through it, so that a
 * pipeline never runs twice.
 *
 *     resting ──start, restart──> launching ──> running ──stop, abort, an error that no retry mends──> resting
 *                                  ^   ^ └─fails─> waiting │
 *                                  │   └────────────┘      │
 *                                  └──its thread died, relaunch
 *
 * A pipeline whose thread died is shown as such until it has recovered: deaths that follow each other would hide
 * between the short runs.
 *
 * A **life** begins when the pipeline leaves `resting` and ends when it is there again. It is a loop that launches
 * the pipeline again only after the last placement has left. Lives and work at rest follow each other.
 */
export class Supervisor {
  readonly #with: Supervised;
  #life: Life | undefined;
  /** The life that was ended last: while it drains, it may be aborted. */
  #ending: Life | undefined;
  /** Lives and work at rest follow each other. */
  readonly #turns: Mutex;

  constructor(supervised: Supervised) {
    this.#with = supervised;
    this.#turns = new Mutex(() => supervised.onIdle());
  }

  /** It should run. */
  get isWanted(): boolean {
    return this.#life !== undefined;
  }

  /** It neither runs nor is worked on. */
  get isIdle(): boolean {
    return this.#turns.isIdle;
  }

  /**
   * Starts it; resolves when it runs. Rejects with the error that keeps it from starting, and with LeftForLater where it
   * was ended meanwhile; it is at rest then.
   */
  start(): Promise<void> {
    return this.#begin(true).started;
  }

  /** Starts it, and retries for as long as it should run. */
  restart(): void {
    // A failure is reported by `onFailed`; any other end was requested.
    this.#begin(false).started.catch(() => undefined);
  }

  /** Drains it for at most `limit` milliseconds, also while it is being started; resolves when it is at rest. */
  async stop(limit: number): Promise<void> {
    await this.#end((placement) => placement.stop(limit), limit);
  }

  /** Ends it at once, also while it is being started or drains; resolves when it is at rest. */
  async abort(): Promise<void> {
    await this.#end((placement) => placement.abort(), 0);
  }

  /** Ends it and launches it again as the catalog has it by then; resolves when it has left. Does nothing at rest. */
  async relaunch(): Promise<void> {
    await this.#life?.again();
  }

  /** Does something while it is at rest; does nothing, and resolves with false, where it should run. */
  atRest(work: () => Promise<void>): Promise<boolean> {
    return this.#turns.run(async () => {
      if (this.isWanted) return false;
      await work();
      return true;
    });
  }

  #begin(isStrict: boolean): Life {
    if (this.#life !== undefined) throw new Error("a running pipeline is started: expected it to be at rest");
    const life = new Life(this.#with, isStrict, () => {
      if (this.#life === life) this.#life = undefined;
    });
    this.#life = life;
    void this.#turns.run(() => life.run());
    return life;
  }

  async #end(endPlacement: (placement: Placement) => void, patience: number): Promise<void> {
    this.#ending = this.#life ?? this.#ending;
    this.#ending?.end(endPlacement, patience);
    await this.#turns.ended();
  }
}

/** The end of one launch. */
type Outcome = Left | { kind: "not started"; error: Error };

class Life {
  readonly started: Promise<void>;
  readonly #with: Supervised;
  readonly #onUnwanted: () => void;
  /** Until it has run once, an error that keeps it from starting ends it. */
  #isStrict: boolean;
  #isOver = false;
  /** Aborts when the present launch is no longer wanted: the pipeline should end, or be launched again. */
  #round = new AbortController();
  #placement: Placement | undefined;
  #isLaunching = false;
  /** Ends a placement whose stop was requested while it was launched. */
  #onPlaced: (placement: Placement) => void = () => undefined;
  #patience: NodeJS.Timeout | undefined;
  readonly #deaths = new ThreadDeaths();
  /** Runs until a hold of its thread is taken to be over. */
  #calm: NodeJS.Timeout | undefined;
  /** Launches in a row that failed. */
  #failures = 0;
  /** The death that it has not recovered from. */
  #lastDeath: Death | undefined;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(supervised: Supervised, isStrict: boolean, onUnwanted: () => void) {
    this.#with = supervised;
    this.#isStrict = isStrict;
    this.#onUnwanted = onUnwanted;
    this.started = new Promise((resolve, reject) => ([this.#resolve, this.#reject] = [resolve, reject]));
  }

  /** Resolves when it has ended, and its last placement has left. Never rejects. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      this.#round = new AbortController();
      const outcome = await this.#once();
      this.#placement = undefined;
      // A requested end or relaunch is no failure.
      if (this.#isOver || this.#round.signal.aborted) continue;
      const error = outcome.error ?? new Error("the pipeline ended without a stop");
      if (outcome.kind === "died") this.#deaths.died(outcome);
      else this.#failures += 1;
      if (this.#isFailure(outcome)) {
        this.#fail(error);
        break;
      }
      await this.#waitAfter(outcome, error);
    }
    clearTimeout(this.#patience);
    clearTimeout(this.#calm);
    this.#with.onRested();
    this.#reject(new LeftForLater("the pipeline was ended while it was being started"));
  }

  /** Another pipeline that ended the thread has to wait; this one goes on at once. */
  async #waitAfter(outcome: Outcome, error: Error): Promise<void> {
    if (outcome.kind === "died") {
      this.#lastDeath = outcome;
      this.#with.onDied(error);
      if (outcome.isByOther) return;
    } else this.#with.onRetry(error);
    const attempt = Math.max(1, this.#failures, this.#deaths.deathsInRow);
    await sleep(backOff(attempt, firstWait, longestWait), this.#round.signal);
  }

  /**
   * Ends it by `endPlacement`. A launch may take `patience` milliseconds before it is aborted, and is ended once it runs:
   * so that what its stream holds is drained too.
   */
  end(endPlacement: (placement: Placement) => void = () => undefined, patience = 0): void {
    this.#isOver = true;
    this.#onUnwanted();
    clearTimeout(this.#patience);
    if (this.#isLaunching && patience > 0) {
      this.#onPlaced = endPlacement;
      this.#patience = setTimeout(() => this.#outdate(), patience);
      return;
    }
    this.#outdate();
    if (this.#placement !== undefined) endPlacement(this.#placement);
  }

  /** Launches it again; resolves when the present placement has left. */
  async again(): Promise<void> {
    this.#outdate();
    this.#placement?.abort();
    await this.#placement?.left;
  }

  #outdate(): void {
    this.#with.onOutdated();
    this.#round.abort();
  }

  async #once(): Promise<Outcome> {
    this.#isLaunching = true;
    try {
      this.#placement = await this.#with.launch(this.#round.signal, this.#deaths);
    } catch (error) {
      return { kind: "not started", error: error as Error };
    } finally {
      this.#isLaunching = false;
    }
    // An end or a relaunch was requested during the launch.
    if (this.#round.signal.aborted) this.#placement.abort();
    else if (this.#isOver) this.#onPlaced(this.#placement);
    this.#placement.onHeld = (isShared) => this.#held(isShared);
    const runs = await this.#placement.started;
    if (runs) {
      this.#failures = 0;
      this.#isStrict = false;
      this.#resolve();
    }
    const since = performance.now();
    const recovery = runs ? this.#recovery() : undefined;
    const left = await this.#placement.left;
    clearTimeout(recovery);
    if (performance.now() - since >= runsWell) this.#deaths.ranWell();
    if (runs || left.kind === "died") return left;
    const { error = new Error("it ended before it had started") } = left;
    return { kind: "not started", error };
  }

  /** A pipeline that ends is left to do so. */
  #held(isShared: boolean): void {
    if (this.#isOver) return;
    this.#with.onHeld();
    clearTimeout(this.#calm);
    this.#calm = setTimeout(() => this.#with.onRecovered(), recoversAfter).unref();
    if (!isShared) return;
    this.#deaths.held();
    void this.again();
  }

  /** Reports the recovery when it is due; the timer is cleared where it leaves before. */
  #recovery(): NodeJS.Timeout | undefined {
    if (this.#lastDeath === undefined) return undefined;
    const recovered = (): void => {
      this.#lastDeath = undefined;
      this.#with.onRecovered();
    };
    if (!this.#lastDeath.isByOther) return setTimeout(recovered, recoversAfter).unref();
    recovered();
    return undefined;
  }

  /** Whether an outcome ends it. Another pipeline may be the cause of a death, which is no failure of this one. */
  #isFailure({ kind }: Outcome): boolean {
    if (kind === "ended") return true;
    return this.#isStrict && (kind === "not started" || this.#deaths.deathsInRow >= mostDeathsAtStart);
  }

  /** It cannot run. The error goes to the caller of `start`, or else to the engine. */
  #fail(error: Error): void {
    const wasStarting = this.#isStrict;
    this.end();
    if (wasStarting) this.#reject(error);
    else this.#with.onFailed(error);
  }
}
