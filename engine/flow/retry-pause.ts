import { backOff, jitter } from "./back-off.ts";
import { sleep } from "./sleep.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type Pause, quietAttempts, type SourcePause, type Waited, waysOut } from "../core/pause.ts";

const firstWait = 500;
const longestWait = 60_000;

/** Waits for so many milliseconds, or until the signal aborts. Never throws. */
export type Pace = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** An answer that takes longer is a pause that a person should see, in milliseconds. */
const quietAnswer = 10_000;
/** How often a server is asked whether it answers again, in milliseconds, on average. */
const askEvery = 1_500;

/** Somebody asks, for so many that wait, until the server has answered: whether it was seen to be gone before. */
interface Asking {
  waiting: number;
  stop: AbortController;
  answered: Promise<{ wasGone: boolean }>;
}

/** Whether a server answers anything now. Never throws. */
export type IsReachable = (signal: AbortSignal) => Promise<boolean>;

/**
 * Where a pipeline waits between attempts: it backs off 0.5 s to 60 s, and says from when on, and why, the wait is a
 * pause. It is entered by failures, and by an answer that does not come; it is left by the first success. While the network
 * fails the server is asked whether it answers again, so that the wait is over when the outage is.
 */
export class RetryPause implements SourcePause {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #pace: Pace;
  #pause: Pause | undefined;
  /** Answers that have been missing for too long. */
  readonly #overdue = new Set<symbol>();
  /** One asks for all that wait. */
  #asking: Asking | undefined;
  /** When it began, by the monotonic clock of this thread, in milliseconds. */
  #began = 0;

  constructor(pipeline_id: string, telemetry: Telemetry, pace: Pace = sleep) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#pace = pace;
  }

  /** Whether waiting for this is a pause that a person should see, rather than a short disturbance. */
  isPause(failure: { class: Pause["class"] }, attempt: number): boolean {
    return failure.class !== "transient" || attempt >= quietAttempts;
  }

  /**
   * Waits before attempt number `attempt` + 1 (attempts count from 1). Returns early, without an error, when `signal`
   * aborts, and when a server that was gone `isReachable` again.
   */
  async wait(failure: Waited, attempt: number, signal: AbortSignal, isReachable?: IsReachable): Promise<void> {
    if (this.isPause(failure, attempt)) this.#enter(failure);
    const longest = backOff(attempt, firstWait, longestWait);
    if (isReachable === undefined || failure.connection === undefined) return this.#pace(longest, signal);
    await this.#waitForServer(failure.connection, longest, signal, isReachable);
  }

  /** Waits for the answer to what was just sent. While it is missing for long, that is a pause. */
  async answerOf<Answer>(what: string, answer: Promise<Answer>): Promise<Answer> {
    const [since, own] = [new Date().toISOString(), Symbol(what)];
    const timer = setTimeout(() => {
      this.#overdue.add(own);
      this.#enter({ class: "transient", text: `no answer yet to ${what}, sent at ${since}` }, since);
    }, quietAnswer);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
      this.#overdue.delete(own);
    }
  }

  /** Something worked: the pause is over, unless another answer is still missing. */
  leave(): void {
    if (this.#overdue.size === 0) this.#end();
  }

  #end(): void {
    if (this.#pause === undefined) return;
    const seconds = (performance.now() - this.#began) / 1000;
    this.#telemetry.pauseEnded({ pipeline_id: this.#pipeline_id, class: this.#pause.class, seconds });
    this.#pause = undefined;
  }

  #enter({ class: kind, text }: Waited, from = new Date().toISOString()): void {
    if (this.#pause?.class === kind && this.#pause.text === text) return;
    const since = this.#pause?.class === kind ? this.#pause.since : from;
    if (this.#pause !== undefined && this.#pause.class !== kind) this.#end();
    if (this.#pause === undefined) this.#began = performance.now();
    this.#pause = { class: kind, since, text, way_out: waysOut[kind] };
    this.#telemetry.paused({ pipeline_id: this.#pipeline_id, pause: this.#pause });
  }

  /**
   * A server that could not be connected to has come back when it answers. One that broke a connection may do so again
   * with each attempt while it answers all small questions: only when it was seen to be gone has it come back.
   */
  async #waitForServer(
    connection: "none" | "lost",
    longest: number,
    signal: AbortSignal,
    isReachable: IsReachable,
  ): Promise<void> {
    const over = new AbortController();
    const end = (): void => over.abort();
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    const asking = (this.#asking ??= this.#ask(isReachable));
    asking.waiting += 1;
    void asking.answered.then(({ wasGone }) => {
      if (connection === "none" || wasGone) end();
    });
    await this.#pace(longest, over.signal);
    signal.removeEventListener("abort", end);
    asking.waiting -= 1;
    if (asking.waiting > 0) return;
    if (this.#asking === asking) this.#asking = undefined;
    asking.stop.abort();
  }

  /** Who comes after it has answered asks again: it may be gone by then. */
  #ask(isReachable: IsReachable): Asking {
    const stop = new AbortController();
    const asking: Asking = { waiting: 0, stop, answered: this.#untilAnswered(isReachable, stop.signal) };
    void asking.answered.then(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    return asking;
  }

  async #untilAnswered(isReachable: IsReachable, signal: AbortSignal): Promise<{ wasGone: boolean }> {
    for (let wasGone = false; ; wasGone = true) {
      await this.#pace(jitter(askEvery, [0.75, 1.25]), signal);
      if (signal.aborted || (await isReachable(signal))) return { wasGone };
    }
  }
}
