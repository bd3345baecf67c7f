import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { ApiError } from "../http/api-error.ts";
import type { PureAnswer, PurePath } from "./pure-call.ts";

export interface ToPure {
  path: PurePath;
  bytes: Uint8Array;
}

export type FromPure = { type: "ready" } | { type: "answer"; answer: PureAnswer } | { type: "failed"; error: string };

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
  readonly #waiting: Job[] = [];
  #running: Job | undefined;
  #worker: Worker | undefined;
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(limits: Partial<PureLimits> = {}) {
    this.#limits = { ...usual, ...limits };
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
      this.#next();
    });
  }

  /** Ends the thread; calls under way are refused. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.reject(closing());
    this.#settle(({ reject }) => reject(closing()));
    await this.#worker?.terminate();
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

  #next(): void {
    if (this.#running !== undefined || this.#waiting.length === 0) return;
    this.#running = this.#waiting.shift();
    if (this.#worker === undefined) this.#spawn();
    else if (this.#isReady) this.#start();
  }

  /** The time of a call counts from when the thread is ready, because loading may take long. */
  #start(): void {
    const { path, bytes } = this.#running!;
    this.#worker!.postMessage({ path, bytes } satisfies ToPure);
    this.#timer = setTimeout(() => this.#exhausted(), this.#limits.time);
  }

  #spawn(): void {
    const { memory } = this.#limits;
    const resourceLimits = { maxOldGenerationSizeMb: memory, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
    const worker = new Worker(entryPoint(), { resourceLimits });
    // The thread has no state, so the process may end without it.
    worker.unref();
    this.#worker = worker;
    worker.on("message", (message: FromPure) => this.#heard(worker, message));
    worker.on("error", (error: NodeJS.ErrnoException) => this.#died(worker, error));
    worker.on("exit", () => this.#died(worker, new Error("the thread of pure calls ended unexpectedly")));
  }

  #heard(worker: Worker, message: FromPure): void {
    if (worker !== this.#worker) return;
    if (message.type === "ready") {
      this.#isReady = true;
      if (this.#running !== undefined) this.#start();
      return;
    }
    this.#settle(({ resolve, reject }) => {
      if (message.type === "answer") resolve(message.answer);
      else reject(new Error(message.error));
    });
  }

  #exhausted(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isReady = false;
    void worker?.terminate();
    this.#settle(({ resolve }) => resolve("exhausted"));
  }

  #died(worker: Worker, error: NodeJS.ErrnoException): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#isReady = false;
    this.#settle(({ resolve, reject }) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") resolve("exhausted");
      else reject(error);
    });
  }

  #settle(tell: (job: Job) => void): void {
    clearTimeout(this.#timer);
    const job = this.#running;
    this.#running = undefined;
    if (job !== undefined) tell(job);
    if (!this.#isClosed) this.#next();
  }
}

function closing(): ApiError {
  return new ApiError(
    503,
    "service_unavailable",
    "the call was cancelled: the process stops, or its caller disconnected",
  );
}

/** The bundled entry: beside this file when this runs from the bundle, in `dist/` when it runs from its sources. */
function entryPoint(): string {
  const folder = import.meta.url.endsWith(".ts") ? "../../../dist/" : "./";
  return fileURLToPath(new URL(`${folder}pure.js`, import.meta.url));
}
