import { Worker } from "node:worker_threads";

/** What a thread sends to its process. */
export type FromThread<Answer> =
  | { type: "ready" }
  | { type: "answer"; answer: Answer }
  /** The call needs more stack than the thread has. */
  | { type: "exhausted" }
  /** A defect. */
  | { type: "failed"; error: string };

/** Bounds of one call. */
export interface CallLimits {
  /** Milliseconds that it may run; then its thread is ended. */
  time: number;
  /** Megabytes of heap; a thread that needs more is ended by the system. */
  memory: number;
  /** Milliseconds without a call after which the thread is ended; by default it stays. */
  idle?: number;
}

interface Call<Answer> {
  question: unknown;
  time: number;
  resolve: (answer: Answer | "exhausted") => void;
  reject: (error: Error) => void;
}

/**
 * A thread that answers calls, one at a time, with bounds on the time and the memory of each. It starts with the first
 * call; a new one replaces a thread that exceeded a bound.
 */
export class BoundedThread<Question, Answer> {
  readonly #entry: string;
  readonly #limits: CallLimits;
  readonly #onEnded: () => void;
  #call: Call<Answer> | undefined;
  #worker: Worker | undefined;
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * `entry` is the path of the bundled file that the thread runs; it calls `serve`. `onEnded` is called when a thread is gone,
   * however it went, before the next one starts.
   */
  constructor(entry: string, limits: CallLimits, onEnded: () => void = () => undefined) {
    this.#entry = entry;
    this.#limits = limits;
    this.#onEnded = onEnded;
  }

  /** Starts the thread before its first call, which then does not wait for it. */
  warm(): void {
    this.#worker ??= this.#spawn();
  }

  get isBusy(): boolean {
    return this.#call !== undefined;
  }

  /**
   * The answer to one call; `exhausted` if it exceeds its bounds. `time` is how many milliseconds this call may run, by
   * default those of the limits. Any error is a defect, or the thread was closed. Must not be called while another call is
   * under way.
   *
   * The question is copied, but for memory that threads share. None is handed over: once a thread has given up the memory
   * of one buffer, its machine code checks on each access to any buffer whether that one is still there.
   */
  call(question: Question, time = this.#limits.time): Promise<Answer | "exhausted"> {
    clearTimeout(this.#timer);
    return new Promise((resolve, reject) => {
      this.#call = { question, time, resolve, reject };
      if (this.#worker === undefined) this.#worker = this.#spawn();
      else if (this.#isReady) this.#start(this.#worker, this.#call);
    });
  }

  /** Ends the thread; a call under way is rejected. Safe to call twice. */
  async close(): Promise<void> {
    const worker = this.#drop();
    this.#settle(({ reject }) => reject(new Error("the thread was closed")));
    clearTimeout(this.#timer);
    await worker?.terminate();
  }

  /** The time of a call counts from when the thread is ready, because loading may take long. */
  #start(worker: Worker, { question, time }: Call<Answer>): void {
    worker.postMessage(question);
    this.#timer = setTimeout(() => this.#exhausted(), time);
  }

  #spawn(): Worker {
    const { memory } = this.#limits;
    const resourceLimits = { maxOldGenerationSizeMb: memory, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
    const worker = new Worker(this.#entry, { resourceLimits });
    // The thread has no state, so the process may end without it.
    worker.unref();
    worker.on("message", (message: FromThread<Answer>) => this.#heard(worker, message));
    worker.on("error", (error: NodeJS.ErrnoException) => this.#died(worker, error));
    worker.on("exit", () => this.#died(worker, new Error(`the thread of ${this.#entry} ended unexpectedly`)));
    return worker;
  }

  #heard(worker: Worker, message: FromThread<Answer>): void {
    if (worker !== this.#worker) return;
    if (message.type === "ready") {
      this.#isReady = true;
      if (this.#call !== undefined) this.#start(worker, this.#call);
      return;
    }
    this.#settle(({ resolve, reject }) => {
      if (message.type === "answer") resolve(message.answer);
      else if (message.type === "exhausted") resolve("exhausted");
      else reject(new Error(message.error));
    });
  }

  #exhausted(): void {
    void this.#drop()?.terminate();
    this.#settle(({ resolve }) => resolve("exhausted"));
  }

  #died(worker: Worker, error: NodeJS.ErrnoException): void {
    if (worker !== this.#worker) return;
    this.#drop();
    this.#settle(({ resolve, reject }) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") resolve("exhausted");
      else reject(error);
    });
  }

  #drop(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isReady = false;
    if (worker !== undefined) this.#onEnded();
    return worker;
  }

  #settle(tell: (call: Call<Answer>) => void): void {
    clearTimeout(this.#timer);
    const call = this.#call;
    this.#call = undefined;
    const { idle } = this.#limits;
    if (idle !== undefined && this.#worker !== undefined) {
      this.#timer = setTimeout(() => void this.#drop()?.terminate(), idle).unref();
    }
    if (call !== undefined) tell(call);
  }
}
