import { backOff } from "./core/back-off.ts";
import { sleep } from "./core/sleep.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { Pause } from "./view.ts";

const firstWait = 500;
const longestWait = 60_000;
/** A failure that may pass, shorter than this many attempts, is no pause that a person needs to see. */
export const quietAttempts = 3;

/** What a person can do about a pause. */
export const waysOut: Record<Pause["class"], string> = {
  transient: "it goes on by itself when the server answers again",
  row: "correct the mapping or the table; it goes on by itself when the server takes the rows",
  partitions:
    "use fewer partitions per insert (a smaller max_batch_size, another PARTITION BY) or raise max_partitions_per_insert_block",
  view: "mend or drop the materialized view; the rows in the base table are kept",
  setup: "correct the table, the rights, the login or the mapping; it goes on by itself within a minute",
  disk: "make room on the disk of the data dir; it goes on by itself",
  probe: "grant what is named, or correct the mapping or the table; it goes on by itself within a minute",
  uncertain: "set x-sluice.on_uncertain to insert (at least once) or skip (at most once)",
  source: "correct the brokers, the login, the rights or the topic; it goes on by itself when they answer",
  owner: `stop the other one, or set x-sluice.take_over to its run, such as "0a1b2c3d", to go on from where it stands`,
  lost: "restore what is gone, or set x-sluice.on_lost: skip to go on with what is left",
  storage:
    "it goes on by itself as keys expire; a shorter time_window, or more limits.memory for the transform, makes room sooner",
};

/** Waits for so many milliseconds, or until the signal aborts. Never throws. */
export type Pace = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/**
 * Where a pipeline waits between attempts: it backs off 0.5 s to 60 s, and says from when on, and why, the wait is a
 * pause. It is entered by failures and left by the first success.
 */
export class WaitingRoom {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #pace: Pace;
  #pause: Pause | undefined;
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

  /** Waits before attempt number `attempt` + 1 (attempts count from 1). Returns early, without an error, when `signal` aborts. */
  async wait(failure: { class: Pause["class"]; text: string }, attempt: number, signal: AbortSignal): Promise<void> {
    if (this.isPause(failure, attempt)) this.#enter(failure);
    await this.#pace(backOff(attempt, firstWait, longestWait), signal);
  }

  /** Something worked: the pause is over. */
  leave(): void {
    if (this.#pause === undefined) return;
    const seconds = (performance.now() - this.#began) / 1000;
    this.#telemetry.wentOn({ pipeline_id: this.#pipeline_id, class: this.#pause.class, seconds });
    this.#pause = undefined;
  }

  #enter({ class: kind, text }: { class: Pause["class"]; text: string }): void {
    if (this.#pause?.class === kind && this.#pause.text === text) return;
    const since = this.#pause?.class === kind ? this.#pause.since : new Date().toISOString();
    if (this.#pause !== undefined && this.#pause.class !== kind) this.leave();
    if (this.#pause === undefined) this.#began = performance.now();
    this.#pause = { class: kind, since, text, way_out: waysOut[kind] };
    this.#telemetry.paused({ pipeline_id: this.#pipeline_id, pause: this.#pause });
  }
}
