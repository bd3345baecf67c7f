import type { EventPlace } from "../batch/careful-reading.ts";
import type { Death } from "./thread-deaths.ts";
import type { ToThread } from "./protocol.ts";

/** How a pipeline left its thread: it was ended, or failed with an error that no retry mends; or the thread died. */
export type Left = { kind: "ended"; error?: Error } | ({ kind: "died" } & Death);

/**
 * A pipeline on a thread, from its start until it has left:
 *
 *     placed ──its thread has built it──> started ──> left
 *        └──────it cannot be built, or the thread dies──────^
 */
export class Placement {
  readonly pipeline_id: string;
  /** By which its thread notes that it works for this pipeline. */
  readonly number: number;
  /** Resolves with true when it runs, with false where it left before. Never rejects. */
  readonly started: Promise<boolean>;
  /** Resolves when its source and its target have answered, or it has left. Never rejects. */
  readonly opened: Promise<void>;
  /** Resolves when it has left, and its last write to the journal is done. Never rejects. */
  readonly left: Promise<Left>;
  /** The event that it is processing, in careful reading. */
  trying: EventPlace | undefined;
  /** An exception of this pipeline ends the thread. */
  isDying = false;
  /** Called when it has kept its thread from everything else for more than a second; `isShared`: from other pipelines. */
  onHeld: (isShared: boolean) => void = () => undefined;
  readonly #send: (message: ToThread) => void;
  readonly #writes = new Set<Promise<void>>();
  #started: (runs: boolean) => void = () => undefined;
  #opened: () => void = () => undefined;
  #left: (how: Left) => void = () => undefined;

  constructor(pipeline_id: string, number: number, send: (message: ToThread) => void) {
    this.pipeline_id = pipeline_id;
    this.number = number;
    this.#send = send;
    this.started = new Promise((resolve) => (this.#started = resolve));
    this.opened = new Promise((resolve) => (this.#opened = resolve));
    this.left = new Promise((resolve) => (this.#left = resolve));
  }

  /** Makes it drain for at most `limit` milliseconds. */
  stop(limit: number): void {
    this.#send({ type: "stop", pipeline_id: this.pipeline_id, limit });
  }

  /** Makes it end at once. */
  abort(): void {
    this.#send({ type: "abort", pipeline_id: this.pipeline_id });
  }

  hasStarted(): void {
    this.#started(true);
  }

  hasOpened(): void {
    this.#opened();
  }

  hasLeft(how: Left): void {
    this.#started(false);
    this.#opened();
    this.#left(how);
  }

  /** Notes one of its writes to the journal. Must not reject. */
  writes(write: Promise<void>): void {
    this.#writes.add(write);
    void write.then(() => this.#writes.delete(write));
  }

  /** Resolves when all such writes are done. */
  async written(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes);
  }
}
