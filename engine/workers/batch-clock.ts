import type { Journal } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

const hour = 3_600_000;

/** A step of the wall clock. */
export interface ClockStep {
  /**
   * True when it is found and ignored. False when it has lasted for an hour and is followed: time is the wall clock's
   * again.
   */
  held: boolean;
  /** In milliseconds; negative: backward. */
  by: number;
  /** The batch clock before and after it, in milliseconds since the epoch: the same while it is held. */
  from: number;
  to: number;
}

export interface BatchClockOptions {
  /** The last time of an earlier run, in milliseconds since the epoch; 0 or absent if there was none. */
  last?: number;
  /** In milliseconds since the epoch. */
  wall?: () => number;
  /** In milliseconds since an arbitrary time; never runs backwards. */
  monotonic?: () => number;
  /** Called once when a step is found and once when it is followed, within the constructor or `now`. */
  onStep: (step: ClockStep) => void;
}

/**
 * The time that batches are stamped with, and that decides which keys are inside the dedup window. It follows the wall
 * clock, but a wall clock that is wrong for a while must neither end dedup windows nor make keys that never expire. A
 * step is the difference between the wall clock and the monotonic clock since the last call:
 *
 * - **following**: time is the wall clock's. A step of up to an hour is followed: forward at once; after a backward one
 *   time stands still until the wall clock has caught up.
 * - **holding**: entered by a step of more than an hour, also one against the last time of an earlier run. Time goes on by
 *   the monotonic clock. Left when the wall clock is back within the hour, and the step is forgotten; or when the step has
 *   lasted for an hour, and is followed: time is the wall clock's. Another step of more than an hour meanwhile has to last
 *   for an hour of its own.
 *
 * An hour is counted from the call that found the step, and anew after a restart.
 */
export class BatchClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  readonly #onStep: (step: ClockStep) => void;
  /** The time last given. */
  #time: number;
  /** By how much the wall clock was ahead of the monotonic one when it was last followed. */
  #ahead: number;
  /** The same for a step that is held, and the monotonic time when it was found. */
  #step: { ahead: number; since: number } | undefined;

  constructor({ last = 0, wall = () => Date.now(), monotonic = () => performance.now(), onStep }: BatchClockOptions) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#onStep = onStep;
    this.#time = last;
    this.#ahead = (last === 0 ? wall() : last) - monotonic();
    this.now();
  }

  /** In whole milliseconds since the epoch. Never less than the last one, except after a backward step was followed. */
  now(): number {
    const wall = this.#wall();
    const monotonic = this.#monotonic();
    const ahead = wall - monotonic;
    if (Math.abs(ahead - this.#ahead) <= hour) this.#follow(ahead);
    else if (this.#hasLasted(ahead, monotonic)) this.#followStep(ahead, monotonic);
    const time = this.#step === undefined ? wall : monotonic + this.#ahead;
    this.#time = Math.max(this.#time, Math.floor(time));
    return this.#time;
  }

  /** The earlier of this time and the wall clock's: an event that is too old by this one is too old by both. */
  earlier(): number {
    return Math.min(this.now(), this.#wall());
  }

  #follow(ahead: number): void {
    this.#ahead = ahead;
    this.#step = undefined;
  }

  /** Whether a step has lasted for an hour by now. */
  #hasLasted(ahead: number, monotonic: number): boolean {
    if (this.#step === undefined || Math.abs(ahead - this.#step.ahead) > hour) {
      this.#step = { ahead, since: monotonic };
      this.#onStep({ held: true, by: Math.round(ahead - this.#ahead), from: this.#time, to: this.#time });
    }
    this.#step.ahead = ahead;
    return monotonic - this.#step.since >= hour;
  }

  #followStep(ahead: number, monotonic: number): void {
    const by = Math.round(ahead - this.#ahead);
    const from = Math.max(this.#time, Math.floor(monotonic + this.#ahead));
    const to = Math.floor(monotonic + ahead);
    // The only place where time may run backwards.
    this.#time = by < 0 ? to : Math.max(from, to);
    this.#follow(ahead);
    this.#onStep({ held: false, by, from, to });
  }
}

interface PipelineClockOptions extends Omit<BatchClockOptions, "last" | "onStep"> {
  pipeline_id: string;
  journal: Journal;
  keys: KeyMemory;
  telemetry: Telemetry;
}

/**
 * The batch clock of a pipeline, from the last time of the last run. When it is set back, keys with a later stamp are
 * valid from the new time on, in memory at once and in the journal for the next start.
 */
export function pipelineClock({ pipeline_id, journal, keys, telemetry, ...clocks }: PipelineClockOptions): BatchClock {
  return new BatchClock({
    ...clocks,
    last: journal.progress(pipeline_id).clock,
    onStep: ({ held, by, from, to }) => {
      telemetry.clockStepped({ pipeline_id, held, by });
      if (held || by >= 0) return;
      keys.setBack(from, to);
      // If this write fails, the next start finds stamps in the future and corrects them.
      void journal.setBack(pipeline_id, from, to).catch(() => undefined);
    },
  });
}
