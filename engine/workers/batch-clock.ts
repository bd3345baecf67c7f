import type { Journal } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

const hour = 3_600_000;

/** A step of the wall clock by so many milliseconds; negative: backward. */
export interface ClockStep {
  /** It has been found, and time goes on without it; false: it has stood for an hour, and time is the wall clock's again. */
  held: boolean;
  by: number;
  /** The batch clock before and after it, in milliseconds since the epoch: the same while it is held. */
  from: number;
  to: number;
}

export interface BatchClockOptions {
  /** The last time that an earlier run gave, in milliseconds since the epoch; 0 or absent if there was none. */
  last?: number;
  /** In milliseconds since the epoch. */
  wall?: () => number;
  /** In milliseconds since whenever; never runs backwards. */
  monotonic?: () => number;
  /** Called once when a step is found and once when it is taken, within the constructor or `now`. */
  onStep: (step: ClockStep) => void;
}

/**
 * The time that batches are stamped with, and that decides which keys count. It follows the wall clock, but a wall clock
 * that was set wrong for a while must not end dedup windows, nor make keys that never end. A step is what the wall clock
 * has moved beyond the monotonic one since it was last looked at:
 *
 * - **following**: time is the wall clock's. A step of up to an hour is followed: forward at once; backward time stands
 *   still until the wall clock has caught up.
 * - **holding**: entered by a step of more than an hour, also one against the last time of an earlier run. Time goes on by
 *   the monotonic clock. Left when the wall clock is back within the hour, and the step is forgotten; or when it has
 *   stood for an hour, and is taken: time is the wall clock's. Another step of more than an hour meanwhile stands for an
 *   hour of its own.
 *
 * An hour is counted from the first look that found the step, and anew after a restart.
 */
export class BatchClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  readonly #onStep: (step: ClockStep) => void;
  /** The time last given. */
  #time: number;
  /** By how much the wall clock was ahead of the monotonic one when it was last followed. */
  #ahead: number;
  /** The same for a step that is held, and the monotonic time since when it stands. */
  #step: { ahead: number; since: number } | undefined;

  constructor({ last = 0, wall = () => Date.now(), monotonic = () => performance.now(), onStep }: BatchClockOptions) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#onStep = onStep;
    this.#time = last;
    this.#ahead = (last === 0 ? wall() : last) - monotonic();
    this.now();
  }

  /** In whole milliseconds since the epoch. Never less than the last one, except when a backward step has been taken. */
  now(): number {
    const wall = this.#wall();
    const monotonic = this.#monotonic();
    const ahead = wall - monotonic;
    if (Math.abs(ahead - this.#ahead) <= hour) this.#follow(ahead);
    else if (this.#stands(ahead, monotonic)) this.#take(ahead, monotonic);
    const time = this.#step === undefined ? wall : monotonic + this.#ahead;
    this.#time = Math.max(this.#time, Math.floor(time));
    return this.#time;
  }

  /** The earlier of this time and the wall clock's: what is too old by this one is too old by both. */
  earlier(): number {
    return Math.min(this.now(), this.#wall());
  }

  #follow(ahead: number): void {
    this.#ahead = ahead;
    this.#step = undefined;
  }

  /** Whether a step has stood for an hour by now. */
  #stands(ahead: number, monotonic: number): boolean {
    if (this.#step === undefined || Math.abs(ahead - this.#step.ahead) > hour) {
      this.#step = { ahead, since: monotonic };
      this.#onStep({ held: true, by: Math.round(ahead - this.#ahead), from: this.#time, to: this.#time });
    }
    this.#step.ahead = ahead;
    return monotonic - this.#step.since >= hour;
  }

  #take(ahead: number, monotonic: number): void {
    const by = Math.round(ahead - this.#ahead);
    const from = Math.max(this.#time, Math.floor(monotonic + this.#ahead));
    const to = Math.floor(monotonic + ahead);
    // Here alone time may run backwards.
    this.#time = by < 0 ? to : Math.max(from, to);
    this.#follow(ahead);
    this.#onStep({ held: false, by, from, to });
  }
}

interface ClockedParts extends Omit<BatchClockOptions, "last" | "onStep"> {
  pipeline_id: string;
  journal: Journal;
  keys: KeyMemory;
  telemetry: Telemetry;
}

/**
 * The batch clock of a pipeline, from where it was at the end of the last run. When it is set back, keys that were
 * stamped later count from then on, in memory at once and over a restart too.
 */
export function pipelineClock({ pipeline_id, journal, keys, telemetry, ...clocks }: ClockedParts): BatchClock {
  return new BatchClock({
    ...clocks,
    last: journal.progress(pipeline_id).clock,
    onStep: ({ held, by, from, to }) => {
      telemetry.clockStepped({ pipeline_id, held, by });
      if (held || by >= 0) return;
      keys.setBack(from, to);
      // Where it cannot be written, the next start finds stamps of the future and counts them from there.
      void journal.setBack(pipeline_id, from, to).catch(() => undefined);
    },
  });
}
