import type { Event } from "../../core/batch.ts";
import type { Rejection } from "../../core/dead-letter.ts";
import { fieldReader, type ReadField } from "../../core/field-path.ts";
import type { WaitingDrop } from "../../core/journal.ts";
import type { KeyMemory } from "../../core/key-memory.ts";
import type { BatchContext, Transform, TransformResult } from "../../core/transform.ts";
import { badDedupKey, dedupKeyText } from "./dedup-key.ts";
import type { Fingerprints } from "./fingerprint.ts";

/**
 * Drops events whose key was seen before, inside its window (the specification, engine semantics, section 5): the first
 * one wins, also within a batch. An event without a key is a dead letter.
 */
export class DedupTransform implements Transform {
  readonly name = "dedup";
  readonly #key: string;
  readonly #read: ReadField;
  readonly #memory: KeyMemory;
  readonly #prints: Fingerprints;
  readonly #print = new Uint32Array(4);

  constructor(key: string, memory: KeyMemory, prints: Fingerprints) {
    this.#key = key;
    this.#read = fieldReader(key);
    this.#memory = memory;
    this.#prints = prints;
  }

  apply(events: readonly Event[], context: BatchContext): TransformResult {
    const passed: Event[] = [];
    const rejected: Rejection[] = [];
    const waiting: WaitingDrop[] = [];
    for (const event of events) {
      const value = this.#read(event.record ?? {});
      const text = dedupKeyText(value);
      if (text === undefined) rejected.push(this.#reject(event, value));
      else if (this.#passes(event, text, context, waiting)) passed.push(event);
    }
    const dropped = events.length - passed.length - rejected.length - waiting.length;
    return { passed, dropped, rejected, waiting };
  }

  #passes({ position }: Event, text: string, { batch, clock, kept }: BatchContext, waiting: WaitingDrop[]): boolean {
    if (kept !== undefined) return kept.has(position);
    this.#prints.of(text, this.#print, 0);
    const sight = this.#memory.see(this.#print, position, batch, clock);
    if (sight === "waiting") waiting.push({ position, print: Array.from(this.#print) });
    return sight === "first";
  }

  #reject(event: Event, value: unknown): Rejection {
    return {
      component: "ingestor",
      reason: "parse_error",
      error: badDedupKey(this.#key, value),
      original_message: event.text,
      position: event.position,
    };
  }
}
