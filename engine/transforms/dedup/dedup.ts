import type { Event } from "../../event/event.ts";
import type { Rejection } from "../../core/dead-letter.ts";
import type { WaitingDrop } from "../../core/journal.ts";
import type { KeyMemory } from "../../core/key-memory.ts";
import type { BatchContext, Transform, TransformResult } from "../../core/transform.ts";
import { badDedupKey } from "./dedup-key.ts";
import type { Fingerprints } from "./fingerprint.ts";
import { KeyReader } from "./key-reader.ts";

/**
 * Drops events whose key was seen before, inside its window (the specification, engine semantics, section 5): the first
 * one wins, also within a batch. An event without a key is a dead letter.
 */
export class DedupTransform implements Transform {
  readonly name = "dedup";
  readonly reads: readonly string[];
  readonly #name: string;
  readonly #key: KeyReader;
  readonly #memory: KeyMemory;
  readonly #window: number;

  /** `window`: how long a key counts, in milliseconds. */
  constructor(key: string, window: number, memory: KeyMemory, prints: Fingerprints) {
    this.#name = key;
    this.#window = window;
    this.#key = new KeyReader(key, prints);
    this.#memory = memory;
    this.reads = this.#key.reads;
  }

  apply(events: readonly Event[], context: BatchContext): TransformResult {
    const passed: Event[] = [];
    const rejected: Rejection[] = [];
    const waiting: WaitingDrop[] = [];
    for (const event of events) {
      if (!this.#key.makePrint(event)) rejected.push(this.#reject(event));
      else if (this.#passes(event, context, waiting)) passed.push(event);
    }
    const dropped = events.length - passed.length - rejected.length - waiting.length;
    return { passed, dropped, rejected, waiting };
  }

  #passes({ position }: Event, { batch, clock, kept }: BatchContext, waiting: WaitingDrop[]): boolean {
    if (kept !== undefined) return kept.has(position);
    const { print } = this.#key;
    const sight = this.#memory.see(print, position, batch, clock, this.#window);
    if (sight === "waiting") {
      const of = this.#memory.holder(print);
      waiting.push({ position, print: Array.from(print), window: this.#window, ...(of === undefined ? {} : { of }) });
    }
    return sight === "first";
  }

  #reject(event: Event): Rejection {
    return {
      component: "ingestor",
      reason: "parse_error",
      error: badDedupKey(this.#name, this.#key.value(event)),
      original_message: event.text,
      position: event.position,
    };
  }
}
