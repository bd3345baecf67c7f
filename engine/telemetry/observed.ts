import type { KeysHeld, Pause, PipelineCounters, SourceLag } from "../core/view.ts";
import { zeroCounters } from "./counters.ts";

/** What is known of a pipeline besides its catalog entry. Gone with the process. */
export class Observed {
  readonly counters: PipelineCounters = zeroCounters();
  /** By class: a source and a target may keep a pipeline waiting at the same time. */
  readonly #pauses = new Map<Pause["class"], { pause: Pause; began: number }>();
  at_least_once?: string;
  keys?: KeysHeld;
  source?: SourceLag;
  strangers?: string[];

  /** The pause that began first. */
  get pause(): Pause | undefined {
    return this.#pauses.values().next().value?.pause;
  }

  /** Notes a pause, or what is said of one by now. */
  paused(pause: Pause): void {
    const { began = performance.now() } = this.#pauses.get(pause.class) ?? {};
    this.#pauses.set(pause.class, { pause, began });
  }

  /** Forgets a pause; false where there is none. */
  wentOn(kind: Pause["class"]): boolean {
    return this.#pauses.delete(kind);
  }

  /** The pauses that are not over, and since how many seconds each has been known, by the monotonic clock. */
  get open(): { class: Pause["class"]; seconds: number }[] {
    return [...this.#pauses].map(([kind, { began }]) => ({ class: kind, seconds: (performance.now() - began) / 1000 }));
  }
}
