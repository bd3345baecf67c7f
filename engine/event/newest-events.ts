import { isUtf8 } from "node:buffer";
import type { Event } from "./event.ts";

/** An event as its source has it. */
export interface SampledEvent {
  text: string;
  /** Which of the pipeline's sources it came from (see `Event.origin`). */
  origin?: string;
}

/** The newest events of a source, oldest first within each of its feeds. */
export interface SourceSample {
  events: SampledEvent[];
  /** Events that are left out: without a value, not UTF-8, or beyond the bytes of a sample. */
  left_out: number;
}

/** The most events of a sample, and the most bytes of all of them. */
export const mostSampled = { events: 1_000, bytes: 8 * 1024 * 1024 } as const;

/** An event without a text is left out, and counted. */
interface Kept {
  origin: string | undefined;
  text: string | undefined;
  /** In bytes. */
  size: number;
}

/** Keeps the newest of the events that it is given in order, at most `count` of them. */
export class NewestEvents {
  readonly #count: number;
  readonly #mostBytes: number;
  #bytes = 0;
  readonly #events: Kept[] = [];
  /** So many of the oldest have no room. */
  #dropped = 0;

  constructor(count: number, mostBytes: number = mostSampled.bytes) {
    this.#count = count;
    this.#mostBytes = mostBytes;
  }

  add(events: readonly Event[]): void {
    for (const event of events) {
      const text = event.isTombstone || !isUtf8(event.bytes) ? undefined : event.text;
      this.#keep({ origin: event.origin, text, size: text === undefined ? 0 : event.size });
    }
  }

  /** Adds those that another one keeps. */
  addAll(others: NewestEvents): void {
    for (const event of others.#events) this.#keep(event);
  }

  get length(): number {
    return this.#events.length;
  }

  get sample(): SourceSample {
    const events = this.#events.flatMap(({ text, origin }): SampledEvent[] =>
      text === undefined ? [] : [{ text, ...(origin !== undefined && { origin }) }],
    );
    return { events, left_out: this.#events.length - events.length };
  }

  #keep(event: Kept): void {
    this.#events.push({ ...event });
    this.#bytes += event.size;
    if (this.#events.length > this.#count) {
      this.#bytes -= this.#events.shift()!.size;
      this.#dropped = Math.max(0, this.#dropped - 1);
    }
    for (; this.#bytes > this.#mostBytes; this.#dropped += 1) {
      const oldest = this.#events[this.#dropped]!;
      this.#bytes -= oldest.size;
      Object.assign(oldest, { text: undefined, size: 0 });
    }
  }
}
