import { createHash, createHmac } from "node:crypto";
import { durationMs } from "../../../schemas/duration.ts";
import type { DedupKey, TransformConfig } from "../../../schemas/pipeline.ts";
import type { Event } from "../../event/event.ts";
import type { Rejection } from "../../core/dead-letter.ts";
import type { WaitingDrop } from "../../core/journal.ts";
import type { KeyMemory } from "../../core/key-memory.ts";
import type { BatchContext, Transform, TransformResult, TransformTools } from "../../core/transform.ts";
import { badDedupKey, keyReader, type KeyReader } from "../../keys/key-reader.ts";
import { Fingerprints } from "../../keys/fingerprint.ts";

type DedupConfig = Extract<TransformConfig, { type: "dedup" }>;

/** A dedup, which shares the key memory of its pipeline. */
export function createDedup(entry: DedupConfig, { keys, salt }: TransformTools): DedupTransform {
  const { key, time_window } = entry.config;
  const prints = new Fingerprints(saltFor(entry, salt));
  return new DedupTransform(key, durationMs(time_window), keys, prints, dedupId(entry));
}

/** With another key or source the window begins empty: keys remembered for the old one do not count. */
function saltFor(entry: DedupConfig, salt: Uint8Array): Buffer {
  return createHmac("sha256", salt).update(keyText(entry)).digest().subarray(0, 16);
}

/** Names a dedup by its source and its key, 16 hex digits: keys that were remembered for another one do not count for it. */
export function dedupId(entry: DedupConfig): string {
  return createHash("sha256").update(keyText(entry)).digest("hex").slice(0, 16);
}

function keyText({ source_id, config }: DedupConfig): string {
  return JSON.stringify([source_id, config.key]);
}

/**
 * Drops events whose key was seen before, inside its window (docs/delivery-protocol.md, Dedup): the first event is
 * kept, also within a batch. An event without a key, or without one of its fields, is a dead letter.
 */
export class DedupTransform implements Transform {
  readonly name = "dedup";
  readonly reads: readonly string[];
  readonly #key: KeyReader;
  readonly #memory: KeyMemory;
  readonly #window: number;
  readonly #id: string | undefined;

  /** `window`: how long a key counts, in milliseconds. `id`: see `dedupId`; without one, its keys are not told from those of others. */
  constructor(key: DedupKey, window: number, memory: KeyMemory, prints: Fingerprints, id?: string) {
    this.#window = window;
    this.#id = id;
    this.#key = keyReader(typeof key === "string" ? [key] : key, prints);
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
    const [window, dedup] = [this.#window, this.#id];
    const sight = this.#memory.see(print, position, batch, clock, window, dedup);
    if (sight === "waiting") {
      const of = this.#memory.holder(print);
      const drop = { position, print: Array.from(print), window };
      waiting.push({ ...drop, ...(dedup !== undefined && { dedup }), ...(of !== undefined && { of }) });
    }
    return sight === "first";
  }

  #reject(event: Event): Rejection {
    return {
      component: "ingestor",
      reason: "parse_error",
      error: badDedupKey(...this.#key.missing(event)),
      original_message: event.text,
      position: event.position,
    };
  }
}
