import { isPushed } from "../sources/registry.ts";
import { systemDisk } from "../system/disk.ts";
import type { PipelineSpec, WorkerLike } from "../workers/protocol.ts";
import { GivenLog } from "./given-log.ts";
import { LocalThread } from "./local-thread.ts";

/** What a pipeline of a trial has of its own: its clock, and its log where events are not pushed to it. */
interface Trial {
  /** The beginning of its clock, and its time now, in milliseconds since the epoch. */
  begin: number;
  now: number;
  log: GivenLog;
  /** Aborts when the thread dies that it runs on, with the exception that nothing caught. */
  death: AbortController;
}

export type Fate<Result> = { kind: "done"; result: Result } | { kind: "died"; error: Error };

/**
 * Threads for pipelines that run on given events, each by a clock that stands still until it is moved. Everything else
 * is what runs in production: transforms, delivery, journal, dead letters and the sink.
 */
export class TrialThreads {
  readonly #trials = new Map<string, Trial>();
  readonly #caught = (error: unknown): void => this.#onUncaught(error);

  /** From now on an exception that a thread does not catch ends that thread alone, and not the process. */
  constructor() {
    process.on("uncaughtException", this.#caught);
  }

  /** Starts a thread, for `Machine.spawnThread`. Give the engine so many that each pipeline has one of its own. */
  readonly spawn = (): WorkerLike =>
    new LocalThread({
      disk: systemDisk,
      clockOf: (pipeline_id) => this.#clock(pipeline_id),
      sourceOf: (spec) => this.#source(spec),
      // What becomes of an event is known when that is settled.
      reportEvery: 0,
    });

  /** Begins the trial of a pipeline at `begin`, in milliseconds since the epoch. Call it before the pipeline is created. */
  begin(pipeline_id: string, begin: number): void {
    this.#trials.set(pipeline_id, { begin, now: begin, log: new GivenLog(), death: new AbortController() });
  }

  /** What `work` resolves with, or the exception of which the thread of the pipeline dies meanwhile: `work` is left then. */
  fateOf<Result>(pipeline_id: string, work: Promise<Result>): Promise<Fate<Result>> {
    const { signal } = this.#trial(pipeline_id).death;
    const died = new Promise<Fate<Result>>((resolve) => {
      signal.addEventListener("abort", () => resolve({ kind: "died", error: signal.reason as Error }), { once: true });
    });
    return Promise.race([work.then((result): Fate<Result> => ({ kind: "done", result })), died]);
  }

  /** Moves its clock on, by milliseconds. */
  pass(pipeline_id: string, milliseconds: number): void {
    this.#trial(pipeline_id).now += milliseconds;
  }

  /** The time of its clock, in milliseconds since the epoch. */
  readonly timeOf = (pipeline_id: string): number => this.#trial(pipeline_id).now;

  /** Adds a message to a topic that it reads. */
  give(pipeline_id: string, topic: string, bytes: Buffer): void {
    this.#trial(pipeline_id).log.give(topic, bytes);
  }

  /** Whether every message that was given is final. */
  isSettled(pipeline_id: string): boolean {
    return this.#trial(pipeline_id).log.isSettled;
  }

  end(pipeline_id: string): void {
    this.#trials.delete(pipeline_id);
  }

  close(): void {
    process.off("uncaughtException", this.#caught);
  }

  /** An error of no thread ends the process as it does without trials. */
  #onUncaught(thrown: unknown): void {
    const thread = LocalThread.current;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (thread === undefined) {
      this.close();
      process.nextTick(() => {
        throw thrown;
      });
      return;
    }
    for (const pipeline_id of thread.pipelines) this.#trials.get(pipeline_id)?.death.abort(error);
    thread.dies(error);
  }

  /** Both clocks of the machine move together, so that no step of one is seen. */
  #clock(pipeline_id: string): { wall: () => number; monotonic: () => number } {
    const trial = this.#trial(pipeline_id);
    return { wall: () => trial.now, monotonic: () => trial.now - trial.begin };
  }

  #source({ pipeline_id, config }: PipelineSpec): GivenLog | undefined {
    return isPushed(config) ? undefined : this.#trial(pipeline_id).log;
  }

  #trial(pipeline_id: string): Trial {
    const trial = this.#trials.get(pipeline_id);
    if (trial === undefined) throw new Error(`expected a trial of pipeline ${pipeline_id} that has begun`);
    return trial;
  }
}
