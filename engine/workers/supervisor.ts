import { backOff } from "../flow/back-off.ts";
import { LeftForLater } from "../core/errors.ts";
import { Mutex } from "../flow/mutex.ts";
import { sleep } from "../flow/sleep.ts";
import { ThreadDeaths } from "./thread-deaths.ts";
import type { Left, Placement } from "./placement.ts";

/** What a supervisor needs of the process. */
export interface Supervised {
  /** Puts the pipeline on a thread, as the catalog has it now. `signal` aborts when that is not wanted any more. */
  launch(signal: AbortSignal, suspicion: ThreadDeaths): Promise<Placement>;
  /** It cannot be started, or its thread died, and that is tried again: why. */
  onWaits(error: Error): void;
  /** No wait mends what keeps it from being started. */
  isHopeless(error: Error): boolean;
  /** It rests. */
  onRested(): void;
  /** What it was launched with counts no more: it is to end, or to begin anew. */
  onOutdated(): void;
  /** It ended with what no wait can mend, and is not wanted any more. */
  onFailed(error: Error): void;
  /** Nothing of it is under way any more. */
  onIdle(): void;
}

const firstWait = 500;
const longestWait = 60_000;
/** What ran for so long ran well, in milliseconds. */
const runsWell = 10 * 60_000;
/** A start whose thread dies so often in a row has failed. */
const mostDeathsAtStart = 3;

/**
 * The one owner of a pipeline: whatever starts it, ends it or works on what it left goes through here, so that it never
 * runs twice.
 *
 *     resting ──start, restart──> launching ──> running ──stop, abort, an end that no wait mends──> resting
 *                                  ^   ^ └─fails─> waiting │
 *                                  │   └────────────┘      │
 *                                  └──its thread died, relaunch
 *
 * A **life** goes from leaving `resting` to being there again. It is a loop that begins nothing before what it began
 * has left. Lives and work at rest follow each other.
 */
export class Supervisor {
  readonly #with: Supervised;
  #life: Life | undefined;
  /** The life that was told to end last: what drains may be ended at once. */
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

  /** Nothing of it is under way. */
  get isIdle(): boolean {
    return this.#turns.isIdle;
  }

  /**
   * Starts it; resolves when it runs. Rejects with what keeps it from starting, and with LeftForLater where it was told
   * to end meanwhile; it rests then.
   */
  start(): Promise<void> {
    return this.#begin(true).started;
  }

  /** Starts it, and tries again by itself for as long as it is wanted. */
  restart(): void {
    // Whoever ends it meanwhile knows.
    this.#begin(false).started.catch(() => undefined);
  }

  /** Drains it for at most `limit` milliseconds, also where it is just being started; resolves when it rests. */
  async stop(limit: number): Promise<void> {
    await this.#end((placement) => placement.stop(limit), limit);
  }

  /** Ends it at once, also while it is started or drains; resolves when it rests. */
  async abort(): Promise<void> {
    await this.#end((placement) => placement.abort(), 0);
  }

  /** Ends it and starts it again as the catalog has it by then; resolves when it has left. Nothing where it rests. */
  async relaunch(): Promise<void> {
    await this.#life?.again();
  }

  /** Does something while it rests; does nothing, and resolves with false, where it should run. */
  atRest(work: () => Promise<void>): Promise<boolean> {
    return this.#turns.run(async () => {
      if (this.isWanted) return false;
      await work();
      return true;
    });
  }

  #begin(isStrict: boolean): Life {
    if (this.#life !== undefined) throw new Error("a pipeline that runs is started: expected it to rest");
    const life = new Life(this.#with, isStrict, () => {
      if (this.#life === life) this.#life = undefined;
    });
    this.#life = life;
    void this.#turns.run(() => life.run());
    return life;
  }

  async #end(tell: (placement: Placement) => void, patience: number): Promise<void> {
    this.#ending = this.#life ?? this.#ending;
    this.#ending?.end(tell, patience);
    await this.#turns.ended();
  }
}

/** What became of one launch. */
type Outcome = Left | { kind: "not started"; error: Error };

class Life {
  readonly started: Promise<void>;
  readonly #with: Supervised;
  readonly #onUnwanted: () => void;
  /** What keeps it from starting ends it, until it has run once. */
  #isStrict: boolean;
  #isOver = false;
  /** Aborts when what was begun is not wanted any more: it should end, or begin anew. */
  #round = new AbortController();
  #placement: Placement | undefined;
  /** A launch is under way: what it is told when it runs, should it be told to end meanwhile. */
  #isLaunching = false;
  #onPlaced: (placement: Placement) => void = () => undefined;
  #patience: NodeJS.Timeout | undefined;
  readonly #suspicion = new ThreadDeaths();
  /** Launches in a row that failed. */
  #failures = 0;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(supervised: Supervised, isStrict: boolean, onUnwanted: () => void) {
    this.#with = supervised;
    this.#isStrict = isStrict;
    this.#onUnwanted = onUnwanted;
    this.started = new Promise((resolve, reject) => ([this.#resolve, this.#reject] = [resolve, reject]));
  }

  /** Resolves when nothing of it is left. Never rejects. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      this.#round = new AbortController();
      const outcome = await this.#once();
      this.#placement = undefined;
      // It was told to end, or to begin anew, which is what it does.
      if (this.#isOver || this.#round.signal.aborted) continue;
      const error = outcome.error ?? new Error("it ended by itself");
      if (outcome.kind === "died") this.#suspicion.died(outcome);
      else this.#failures += 1;
      if (this.#isFailure(outcome)) {
        this.#fail(error);
        break;
      }
      this.#with.onWaits(error);
      const attempt = Math.max(1, this.#failures, this.#suspicion.deathsInRow);
      await sleep(backOff(attempt, firstWait, longestWait), this.#round.signal);
    }
    clearTimeout(this.#patience);
    this.#with.onRested();
    this.#reject(new LeftForLater("the pipeline was told to end while it was started"));
  }

  /**
   * It is wanted no more, and what runs of it is told so. What is just being launched is told when it runs, if that takes
   * no longer than `patience` milliseconds: what its stream holds is drained then too.
   */
  end(tell: (placement: Placement) => void = () => undefined, patience = 0): void {
    this.#isOver = true;
    this.#onUnwanted();
    clearTimeout(this.#patience);
    if (this.#isLaunching && patience > 0) {
      this.#onPlaced = tell;
      this.#patience = setTimeout(() => this.#outdate(), patience);
      return;
    }
    this.#outdate();
    if (this.#placement !== undefined) tell(this.#placement);
  }

  /** Begins anew; resolves when what runs has left. */
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
      this.#placement = await this.#with.launch(this.#round.signal, this.#suspicion);
    } catch (error) {
      return { kind: "not started", error: error as Error };
    } finally {
      this.#isLaunching = false;
    }
    // It was told to end, or to begin anew, before it could be told to anything that runs.
    if (this.#round.signal.aborted) this.#placement.abort();
    else if (this.#isOver) this.#onPlaced(this.#placement);
    const runs = await this.#placement.started;
    if (runs) {
      this.#failures = 0;
      this.#isStrict = false;
      this.#resolve();
    }
    const since = performance.now();
    const left = await this.#placement.left;
    if (performance.now() - since >= runsWell) this.#suspicion.ranWell();
    if (runs || left.kind === "died") return left;
    const { error = new Error("it ended before it had started") } = left;
    return { kind: "not started", error };
  }

  /** Whether an outcome ends it. A thread may die of another pipeline, which is no reason to fail. */
  #isFailure({ kind }: Outcome): boolean {
    if (kind === "ended") return true;
    return this.#isStrict && (kind === "not started" || this.#suspicion.deathsInRow >= mostDeathsAtStart);
  }

  /** It cannot run. Whoever waits for its start hears of it; otherwise the engine does. */
  #fail(error: Error): void {
    const wasStarting = this.#isStrict;
    this.end();
    if (wasStarting) this.#reject(error);
    else this.#with.onFailed(error);
  }
}
