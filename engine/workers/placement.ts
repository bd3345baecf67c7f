import type { EventPlace } from "../batch/careful-reading.ts";
import type { Death } from "./thread-deaths.ts";
import type { ToThread } from "./protocol.ts";

/** How a pipeline left its thread: it ended, by itself with what no wait can mend or as it was told; or the thread died. */
export type Left = { kind: "ended"; error?: Error } | ({ kind: "died" } & Death);

/**
 * A pipeline on a thread, from its start until it has left:
 *
 *     placed ──its thread has built it──> started ──> left
 *        └──────it cannot be built, or the thread dies──────^
 */
export class Placement {
  readonly pipeline_id: string;
  /** Resolves with true when it runs, with false where it left before. Never rejects. */
  readonly started: Promise<boolean>;
  /** Resolves when it has left, and its thread waits for no write to the journal any more. Never rejects. */
  readonly left: Promise<Left>;
  /** The event that it is processing, where it notes that. */
  trying: EventPlace | undefined;
  readonly #tell: (message: ToThread) => void;
  readonly #writes = new Set<Promise<void>>();
  #started: (runs: boolean) => void = () => undefined;
  #left: (how: Left) => void = () => undefined;

  constructor(pipeline_id: string, tell: (message: ToThread) => void) {
    this.pipeline_id = pipeline_id;
    this.#tell = tell;
    this.started = new Promise((resolve) => (this.#started = resolve));
    this.left = new Promise((resolve) => (this.#left = resolve));
  }

  /** Tells it to drain for at most `limit` milliseconds. */
  stop(limit: number): void {
    this.#tell({ type: "stop", pipeline_id: this.pipeline_id, limit });
  }

  /** Tells it to end at once. */
  abort(): void {
    this.#tell({ type: "abort", pipeline_id: this.pipeline_id });
  }

  hasStarted(): void {
    this.#started(true);
  }

  hasLeft(how: Left): void {
    this.#started(false);
    this.#left(how);
  }

  /** Notes a write to the journal that it has asked for. Must not reject. */
  writes(write: Promise<void>): void {
    this.#writes.add(write);
    void write.then(() => this.#writes.delete(write));
  }

  /** Resolves when no such write is under way. */
  async written(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }
}
