import { backOff, jitter } from "./back-off.ts";
import { sleep } from "./sleep.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type Pause, quietAttempts, type SourcePause, type Waited, waysOut } from "../core/pause.ts";

const firstWait = 500;
const longestWait = 60_000;

/** Waits for a time in milliseconds, or until the signal aborts. Never throws. */
export type Pace = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** An answer that takes longer is shown as a pause, in milliseconds. */
const quietAnswer = 10_000;
/** The average time between two probes of a server that does not answer, in milliseconds. */
const askEvery = 1_500;

/** The probes of a server, shared by all waits for it. */
interface Probing {
  /** How many waits share it; it is stopped after the last one. */
  waiting: number;
  stop: AbortController;
  /** Resolves when the server has answered; `wasGone`: a probe before was not answered. */
  answered: Promise<{ wasGone: boolean }>;
}

/** Whether a server answers now. Never throws. */
export type IsReachable = (signal: AbortSignal) => Promise<boolean>;

/**
 * Waits between the attempts of a pipeline, with a back-off of 0.5 s to 60 s, and reports waits that last as a pause with
 * its reason. Failures and a missing answer begin a pause; the first success ends it. While the network fails the server
 * is probed, so that the wait ends with the outage.
 */
export class RetryPause implements SourcePause {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #pace: Pace;
  #pause: Pause | undefined;
  /** Answers that have been missing for longer than `quietAnswer`. */
  readonly #overdue = new Set<symbol>();
  #probing: Probing | undefined;
  /** When the pause began, by the monotonic clock of this thread, in milliseconds. */
  #began = 0;

  constructor(pipeline_id: string, telemetry: Telemetry, pace: Pace = sleep) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#pace = pace;
  }

  /** Whether a wait after this failure is shown as a pause; a short outage is not. */
  isPause(failure: { class: Pause["class"] }, attempt: number): boolean {
    return failure.class !== "transient" || attempt >= quietAttempts;
  }

  /**
   * Waits before attempt number `attempt` + 1 (attempts count from 1). Returns early, without an error, when `signal`
   * aborts, and when a server that did not answer `isReachable` again.
   */
  async wait(failure: Waited, attempt: number, signal: AbortSignal, isReachable?: IsReachable): Promise<void> {
    if (this.isPause(failure, attempt)) this.#enter(failure);
    const longest = backOff(attempt, firstWait, longestWait);
    if (isReachable === undefined || failure.connection === undefined) return this.#pace(longest, signal);
    await this.#waitForServer(failure.connection, longest, signal, isReachable);
  }

  /** Waits for the answer to what was just sent. An answer that is missing for long is a pause. */
  async answerOf<Answer>(what: string, answer: Promise<Answer>): Promise<Answer> {
    const [since, own] = [new Date().toISOString(), Symbol(what)];
    const timer = setTimeout(() => {
      this.#overdue.add(own);
      this.#enter({ class: "transient", text: overdueText(what, since) }, since);
    }, quietAnswer);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
      this.#overdue.delete(own);
    }
  }

  /** An attempt succeeded: the pause is over, unless another answer is still missing. */
  leave(): void {
    if (this.#overdue.size === 0) this.#end();
  }

  #end(): void {
    if (this.#pause === undefined) return;
    const seconds = (performance.now() - this.#began) / 1000;
    this.#telemetry.pauseEnded({ pipeline_id: this.#pipeline_id, class: this.#pause.class, seconds });
    this.#pause = undefined;
  }

  #enter({ class: kind, text, way_out = waysOut[kind] }: Waited, from = new Date().toISOString()): void {
    if (this.#pause?.class === kind && this.#pause.text === text) return;
    const since = this.#pause?.class === kind ? this.#pause.since : from;
    if (this.#pause !== undefined && this.#pause.class !== kind) this.#end();
    if (this.#pause === undefined) this.#began = performance.now();
    this.#pause = { class: kind, since, text, way_out };
    this.#telemetry.paused({ pipeline_id: this.#pipeline_id, pause: this.#pause });
  }

  /**
   * After a failed connect, the wait ends with the first answer to a probe. A server that broke a connection may answer
   * every probe and break the connection of each attempt: then the wait ends early only after an unanswered probe.
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
    const probing = (this.#probing ??= this.#probe(isReachable));
    probing.waiting += 1;
    void probing.answered.then(({ wasGone }) => {
      if (connection === "none" || wasGone) end();
    });
    await this.#pace(longest, over.signal);
    signal.removeEventListener("abort", end);
    probing.waiting -= 1;
    if (probing.waiting > 0) return;
    if (this.#probing === probing) this.#probing = undefined;
    probing.stop.abort();
  }

  /** Starts probes. A wait that begins after their answer starts new ones. */
  #probe(isReachable: IsReachable): Probing {
    const stop = new AbortController();
    const probing: Probing = { waiting: 0, stop, answered: this.#untilAnswered(isReachable, stop.signal) };
    void probing.answered.then(() => {
      if (this.#probing === probing) this.#probing = undefined;
    });
    return probing;
  }

  async #untilAnswered(isReachable: IsReachable, signal: AbortSignal): Promise<{ wasGone: boolean }> {
    for (let wasGone = false; ; wasGone = true) {
      await this.#pace(jitter(askEvery, [0.75, 1.25]), signal);
      if (signal.aborted || (await isReachable(signal))) return { wasGone };
    }
  }
}

/** The text of the pause because what was sent at a time has no answer yet. */
export function overdueText(what: string, since: string): string {
  return `no answer yet to ${what}, sent at ${since}`;
}
