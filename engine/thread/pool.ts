import { Worker } from "node:worker_threads";
import type { LetterEvent } from "../assembler.ts";
import type { BatchRecord, FinalKeys, Journal } from "../core/journal.ts";
import { entryPoint } from "../entry.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { FromThread, PipelineSpec, PlainError, ToThread, WorkerLike } from "./protocol.ts";
import { fromPlain, toPlain } from "./remote.ts";

type JournalCall = Exclude<Extract<FromThread, { call: number }>, { type: "reprocessing" }>;

interface Thread {
  worker: WorkerLike;
  pipelines: Map<string, Placed>;
  /** Calls that the thread has not answered yet. */
  calls: Map<number, PromiseWithResolvers<void>>;
}

interface Placed {
  started: PromiseWithResolvers<void>;
  left: PromiseWithResolvers<Error | undefined>;
  hasStarted: boolean;
}

interface PromiseWithResolvers<T> {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
}

export interface PoolOptions {
  size: number;
  journal: Journal;
  telemetry: Telemetry;
  log: Log;
  /** A batch was committed: its events are final. */
  onCommitted(record: BatchRecord): void;
  /** A pipeline ended without being told to: with its error, or because its thread died. */
  onLeft(pipeline_id: string, error: Error, threadDied: boolean): void;
  /** Makes a thread. Default: a worker thread of this process. */
  spawn?: () => WorkerLike;
}

/**
 * A few threads that run all pipelines, so that none of them, however busy or hostile, delays the control plane. A
 * pipeline is put on the thread that has the fewest; a thread that dies is replaced when the next pipeline starts.
 */
export class ThreadPool {
  readonly #options: PoolOptions;
  readonly #threads: Thread[] = [];
  #isClosing = false;
  #nextCall = 1;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Starts a pipeline; resolves when it runs, rejects when it cannot be built from its spec. */
  async start(spec: PipelineSpec): Promise<void> {
    const thread = this.#leastBusy();
    const placed: Placed = { started: withResolvers(), left: withResolvers(), hasStarted: false };
    thread.pipelines.set(spec.pipeline_id, placed);
    post(thread, { type: "start", spec });
    await placed.started.promise;
  }

  /** Drains a pipeline for at most `limit` milliseconds; resolves when it has left. */
  async stop(pipeline_id: string, limit: number): Promise<void> {
    await this.#end(pipeline_id, { type: "stop", pipeline_id, limit });
  }

  /** Ends a pipeline at once; resolves when it has left. */
  async abort(pipeline_id: string): Promise<void> {
    await this.#end(pipeline_id, { type: "abort", pipeline_id });
  }

  /** Tells a pipeline that its stream is durable up to `end`. */
  arrived(pipeline_id: string, end: number): void {
    const thread = this.#threadOf(pipeline_id);
    if (thread !== undefined) post(thread, { type: "arrived", pipeline_id, end });
  }

  /** Hands dead letters to a running pipeline; resolves when their batch is prepared. */
  async reprocess(pipeline_id: string, letters: LetterEvent[]): Promise<void> {
    const thread = this.#threadOf(pipeline_id);
    if (thread === undefined) throw new Error(`pipeline ${pipeline_id} does not run`);
    const call = this.#nextCall++;
    const prepared = withResolvers<void>();
    thread.calls.set(call, prepared);
    post(thread, { type: "reprocess", call, pipeline_id, letters });
    await prepared.promise;
  }

  /** Ends every pipeline, draining for at most `limit` milliseconds, then the threads. */
  async close(limit: number): Promise<void> {
    this.#isClosing = true;
    const ids = this.#threads.flatMap(({ pipelines }) => [...pipelines.keys()]);
    await Promise.all(ids.map((pipeline_id) => this.stop(pipeline_id, limit)));
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  async #end(pipeline_id: string, message: ToThread): Promise<void> {
    const thread = this.#threadOf(pipeline_id);
    const placed = thread?.pipelines.get(pipeline_id);
    if (thread === undefined || placed === undefined) return;
    // From here on its end is what was asked for.
    placed.hasStarted = false;
    post(thread, message);
    await placed.left.promise;
  }

  #threadOf(pipeline_id: string): Thread | undefined {
    return this.#threads.find(({ pipelines }) => pipelines.has(pipeline_id));
  }

  #leastBusy(): Thread {
    if (this.#threads.length < this.#options.size) return this.#spawn();
    return this.#threads.reduce((least, thread) => (thread.pipelines.size < least.pipelines.size ? thread : least));
  }

  #spawn(): Thread {
    const worker = (this.#options.spawn ?? spawnWorker)();
    const thread: Thread = { worker, pipelines: new Map(), calls: new Map() };
    this.#threads.push(thread);
    worker.on("message", (message: FromThread) => this.#heard(thread, message));
    let failure = "the thread ended";
    worker.on("error", (error) => (failure = error.message));
    worker.on("exit", () => this.#died(thread, failure));
    return thread;
  }

  #heard(thread: Thread, message: FromThread): void {
    switch (message.type) {
      case "prepare":
      case "amend":
      case "commit":
      case "set back":
      case "mark":
      case "keys":
      case "place":
      case "give up":
        void this.#answer(thread, message);
        break;
      case "told":
        this.#options.telemetry[message.event](message.fields as never);
        break;
      case "logged":
        this.#options.log[message.level](message.fields, message.sentence);
        break;
      case "reprocessing":
        settle(thread, message.call, message.error);
        break;
      case "started":
        this.#started(thread, message.pipeline_id);
        break;
      case "left":
        this.#left(thread, message.pipeline_id, message.error === undefined ? undefined : fromPlain(message.error));
        break;
    }
  }

  async #answer(thread: Thread, message: JournalCall): Promise<void> {
    const { call } = message;
    try {
      const keys = await this.#carryOut(message);
      post(thread, { type: "answer", call, ...(keys === undefined ? {} : { keys }) });
    } catch (error) {
      post(thread, { type: "answer", call, error: toPlain(error) });
    }
  }

  async #carryOut(message: JournalCall): Promise<FinalKeys[] | undefined> {
    const { journal } = this.#options;
    switch (message.type) {
      case "keys":
        return journal.finalKeys(message.pipeline_id, message.after);
      case "set back":
        await journal.setBack(message.pipeline_id, message.from, message.to);
        return undefined;
      case "mark":
        await journal.mark(message.pipeline_id, message.clock);
        return undefined;
      case "place":
        await journal.place(message.pipeline_id, message.positions, message);
        return undefined;
      case "give up":
        await journal.giveUp(message.record);
        return undefined;
      case "commit":
        await journal.commit(message.record, message.aside);
        this.#options.onCommitted(message.record);
        return undefined;
      default:
        await journal[message.type](message.record);
        return undefined;
    }
  }

  #started(thread: Thread, pipeline_id: string): void {
    const placed = thread.pipelines.get(pipeline_id);
    if (placed === undefined) return;
    placed.hasStarted = true;
    placed.started.resolve();
  }

  #left(thread: Thread, pipeline_id: string, error: Error | undefined): void {
    const placed = thread.pipelines.get(pipeline_id);
    if (placed === undefined) return;
    thread.pipelines.delete(pipeline_id);
    placed.started.reject(error ?? new Error(`pipeline ${pipeline_id} ended before it had started`));
    placed.left.resolve(error);
    if (placed.hasStarted) this.#options.onLeft(pipeline_id, error ?? new Error("it ended by itself"), false);
  }

  #died(thread: Thread, failure: string): void {
    this.#threads.splice(this.#threads.indexOf(thread), 1);
    if (this.#isClosing) return;
    for (const call of thread.calls.values()) call.reject(new Error(`the thread died: ${failure}`));
    const pipelines = [...thread.pipelines];
    this.#options.telemetry.threadDied({ pipelines: pipelines.map(([pipeline_id]) => pipeline_id), error: failure });
    for (const [pipeline_id, placed] of pipelines) {
      const error = new Error(`its thread died: ${failure}`);
      placed.started.reject(error);
      placed.left.resolve(error);
      if (placed.hasStarted) this.#options.onLeft(pipeline_id, error, true);
    }
  }
}

function spawnWorker(): WorkerLike {
  return new Worker(entryPoint("thread"));
}

function post({ worker }: Thread, message: ToThread): void {
  worker.postMessage(message);
}

function settle(thread: Thread, call: number, error: PlainError | undefined): void {
  const waiting = thread.calls.get(call);
  thread.calls.delete(call);
  if (error === undefined) waiting?.resolve();
  else waiting?.reject(fromPlain(error));
}

function withResolvers<T>(): PromiseWithResolvers<T> {
  const made = {} as PromiseWithResolvers<T>;
  made.promise = new Promise<T>((resolve, reject) => Object.assign(made, { resolve, reject }));
  // Whoever waits hears of it; nobody has to.
  made.promise.catch(() => undefined);
  return made;
}
