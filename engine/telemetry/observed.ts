import type { KeysHeld, Pause, PipelineCounters, SourceLag } from "../view.ts";
import { zeroCounters } from "./counters.ts";

/** What is known of a pipeline besides its catalog entry. Gone with the process. */
export class Observed {
  readonly counters: PipelineCounters = zeroCounters();
  /** By class: a source and a target may keep a pipeline waiting at the same time. */
  readonly pauses = new Map<Pause["class"], Pause>();
  at_least_once?: string;
  keys?: KeysHeld;
  source?: SourceLag;
  strangers?: string[];

  /** The pause that began first. */
  get pause(): Pause | undefined {
    return this.pauses.values().next().value;
  }
}
