import { ApiError } from "../http/api-error.ts";
import { BoundedThread, entryPoint } from "../../../engine/index.ts";
import type { PureAnswer, PurePath } from "./pure-call.ts";

export interface ToPure {
  path: PurePath;
  bytes: Uint8Array;
}

/** Limits of the pure calls of a process. */
export interface PureLimits {
  /** Milliseconds that one call may run; then its thread is ended. */
  time: number;
  /** Calls that may wait while one runs. */
  waiting: number;
  /** Bytes that the bodies of waiting calls may have together. */
  waitingBytes: number;
  /** Megabytes of heap; a thread that needs more is ended by the system. */
  memory: number;
}

const usual: PureLimits = { time: 2000, waiting: 256, waitingBytes: 32 * 1024 * 1024, memory: 128 };

interface Job extends ToPure {
  resolve: (answer: PureAnswer | "exhausted") => void;
  reject: (error: Error) => void;
}

/**
 * Answers pure calls in a separate thread, one after the other, so that no hostile body delays other work. The thread
 * starts with the first call; a new one replaces a thread that exceeds its time or memory.
 */
export class PureCalls {
  readonly #limits: PureLimits;
  readonly #thread: BoundedThread<ToPure, PureAnswer>;
  readonly #waiting: Job[] = [];
  #running: Job | undefined;
  #isClosed = false;

  constructor(limits: Partial<PureLimits> = {}) {
    this.#limits = { ...usual, ...limits };
    this.#thread = new BoundedThread(entryPoint("pure"), this.#limits);
  }

  /**
   * The answer to one call; `exhausted` if it exceeds its time or memory. Throws ApiError 503 if too many calls wait;
   * any other error is a defect. A waiting call whose `signal` aborts is dropped.
   */
  async ask(path: PurePath, bytes: Uint8Array, signal: AbortSignal): Promise<PureAnswer | "exhausted"> {
    if (this.#isClosed || this.#isFull(bytes)) {
      throw new ApiError(503, "service_unavailable", "too many calls of this kind wait: try again in a few seconds");
    }
    return new Promise((resolve, reject) => {
      const job: Job = { path, bytes, resolve, reject };
      this.#waiting.push(job);
      signal.addEventListener("abort", () => this.#forget(job), { once: true });
      void this.#next();
    });
  }

  /** Ends the thread; calls under way are refused. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.reject(closing());
    this.#running?.reject(closing());
    await this.#thread.close();
  }

  /** Whether a call would wait, and has no room to. */
  #isFull({ length }: Uint8Array): boolean {
    if (this.#running === undefined) return false;
    const { waiting, waitingBytes } = this.#limits;
    const held = this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
    return this.#waiting.length >= waiting || held + length > waitingBytes;
  }

  #forget(job: Job): void {
    const index = this.#waiting.indexOf(job);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    job.reject(closing());
  }

  async #next(): Promise<void> {
    if (this.#running !== undefined) return;
    const job = (this.#running = this.#waiting.shift());
    if (job === undefined) return;
    try {
      job.resolve(await this.#thread.call({ path: job.path, bytes: job.bytes }));
    } catch (error) {
      job.reject(error as Error);
    }
    this.#running = undefined;
    void this.#next();
  }
}

function closing(): ApiError {
  return new ApiError(
    503,
    "service_unavailable",
    "the call was cancelled: the process stops, or its caller disconnected",
  );
}
