import type { Event } from "../../core/batch.ts";
import type { Source } from "../../core/source.ts";
import type { StreamReader } from "../../core/stream.ts";

/** Events that were pushed: a reader of their durable stream, and word of what came in since. */
export class WebhookSource implements Source {
  readonly #reader: StreamReader;
  #end: number;
  #waiting = new Set<() => void>();

  /** `end` is the newest durable sequence at the start. */
  constructor(reader: StreamReader, end: number) {
    this.#reader = reader;
    this.#end = end;
  }

  get end(): number {
    return this.#end;
  }

  /** Tells that events up to `end` are durable. */
  arrived(end: number): void {
    if (end <= this.#end) return;
    this.#end = end;
    this.#reader.advance(end);
    for (const wake of this.#waiting) wake();
  }

  read(position: number, limit: number, maxBytes: number): Promise<Event[]> {
    return this.#reader.read(position, limit, maxBytes);
  }

  wait(position: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    if (position <= this.#end || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = until === undefined ? undefined : setTimeout(() => wake(), Math.max(0, until - Date.now()));
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake);
    });
  }

  close(): Promise<void> {
    return this.#reader.close();
  }
}
