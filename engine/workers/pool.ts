import type { LetterEvent } from "../core/dead-letter.ts";
import { LeftForLater } from "../core/errors.ts";
import type { Pause } from "../core/pause.ts";
import { foreignText } from "../peers/foreign-text.ts";
import type { BatchRecord, FinalKeys, Journal } from "../core/journal.ts";
import type { Readiness } from "../core/readiness.ts";
import type { RewoundPartition } from "../core/positions.ts";
import type { SourceSample } from "../event/newest-events.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { Placement, type Left } from "./placement.ts";
import type {
  CheckedSpec,
  FromThread,
  PipelineSpec,
  PlainError,
  RewoundSpec,
  SampledSpec,
  ToThread,
  WorkerLike,
} from "./protocol.ts";
import { fromPlain, toPlain } from "./remote.ts";
import { type Hold, Watchdog } from "./watchdog.ts";

type JournalCall = Exclude<
  Extract<FromThread, { call: number }>,
  { type: "reprocessing" | "checked" | "sampled" | "rewound" }
>;

/**
 * What a thread is for: any pipelines (`shared`); pipelines whose threads die repeatedly (`lone`), usually one, with
 * which it ends; or checks of pipelines that do not run yet, and samples of sources (`checks`).
 */
type ThreadUse = "shared" | "lone" | "checks";

interface Thread {
  worker: WorkerLike;
  /** Pipelines that have not left. */
  pipelines: Map<string, Placement>;
  isDead: boolean;
  /** It was told to end, which takes a moment, in which it takes no more work. */
  isEnding: boolean;
  /** The text of the exception that ends it, without secrets. */
  failure?: string;
  use: ThreadUse;
  /** Calls that the thread has not answered yet. */
  calls: Map<number, { resolve: (answer?: unknown) => void; reject: (error: Error) => void }>;
}

/** The most threads for pipelines whose threads die repeatedly. */
const mostLone = 16;
/** A pipeline that keeps other pipelines from their thread for so long loses it, in milliseconds. */
const mostHeld = 5_000;
/** How long the thread of the checks waits for another one, in milliseconds. */
const checksLinger = 10_000;

export interface PoolOptions {
  size: number;
  journal: Journal;
  telemetry: Telemetry;
  log: Log;
  /** A batch was committed: its events are final. */
  onCommitted(record: BatchRecord): void;
  /** Starts a thread. */
  spawn(): WorkerLike;
}

/**
 * A few threads that run all pipelines, so that a busy pipeline does not delay the API and the reconciler. A pipeline
 * is put on the thread that has the fewest; a thread that dies is replaced when the next pipeline starts. A pipeline
 * whose threads die repeatedly has an additional thread of its own; where there are too many of them they share these
 * threads, and never one with other pipelines. So has one that keeps others from their thread (`Watchdog`). Checks have a thread too: a broker or a server that ends it, named in a
 * file that was just written, ends no pipeline. A pipeline runs once: the pool refuses to start one that has not left.
 */
export class ThreadPool {
  readonly #options: PoolOptions;
  /** Threads that have not ended. */
  readonly #threads: Thread[] = [];
  /** Where each pipeline is, until it has left. */
  readonly #places = new Map<string, Thread>();
  #isClosed = false;
  #nextCall = 1;
  #nextNumber = 1;
  readonly #watchdog = new Watchdog<Thread>(this.#threads, (hold) => this.#held(hold));
  #checksTimer: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * Puts a pipeline on a thread, with `alone` on one of its own, or from `mostLone` of them on with others that are alone.
   * Throws where it runs already, and LeftForLater where the pool is closed.
   */
  start(spec: PipelineSpec, { alone = false } = {}): Placement {
    const { pipeline_id } = spec;
    if (this.#isClosed) throw new LeftForLater("the process ends");
    if (this.#places.has(pipeline_id)) {
      throw new Error(`pipeline ${pipeline_id} runs already: expected it to have left before it is started`);
    }
    const thread = alone ? this.#leastBusy("lone", mostLone) : this.#leastBusy("shared", this.#options.size);
    const number = this.#nextNumber++;
    const placement = new Placement(pipeline_id, number, (message) => thread.worker.postMessage(message));
    thread.pipelines.set(pipeline_id, placement);
    this.#places.set(pipeline_id, thread);
    thread.worker.postMessage({ type: "start", spec, number });
    return placement;
  }

  /** A pipeline's stream is durable up to `end`: the pipeline may read so far. */
  arrived(pipeline_id: string, end: number): void {
    this.#places.get(pipeline_id)?.worker.postMessage({ type: "arrived", pipeline_id, end });
  }

  /** Sends dead letters through a running pipeline again; resolves when their batch is prepared. */
  async reprocess(pipeline_id: string, letters: LetterEvent[]): Promise<void> {
    const thread = this.#places.get(pipeline_id);
    if (thread === undefined || thread.isDead) throw new Error(`pipeline ${pipeline_id} does not run`);
    await this.#call<void>(thread, (call) => ({ type: "reprocess", call, pipeline_id, letters }));
  }

  /** Whether a pipeline could run. Throws LeftForLater where the pool is closed, and where the thread died. */
  check(spec: CheckedSpec): Promise<Readiness> {
    return this.#callChecks((call) => ({ type: "check", call, spec }));
  }

  /** The newest events of a source, read beside its pipeline. Throws as `check`, and where it cannot be read. */
  sample(spec: SampledSpec): Promise<SourceSample> {
    return this.#callChecks((call) => ({ type: "sample", call, spec }));
  }

  /** What a rewind of a pipeline reads again, asked beside it. Throws as `sample`, and REWIND_REFUSED. */
  rewind(spec: RewoundSpec): Promise<RewoundPartition[]> {
    return this.#callChecks((call) => ({ type: "rewind", call, spec }));
  }

  async #callChecks<Answer>(message: (call: number) => ToThread): Promise<Answer> {
    if (this.#isClosed) throw new LeftForLater("the process ends");
    clearTimeout(this.#checksTimer);
    const thread = this.#leastBusy("checks", 1);
    try {
      return await this.#call<Answer>(thread, message);
    } finally {
      this.#endChecksLater(thread);
    }
  }

  #endChecksLater(thread: Thread): void {
    if (thread.isDead || thread.calls.size > 0) return;
    clearTimeout(this.#checksTimer);
    this.#checksTimer = setTimeout(() => void endThread(thread), checksLinger).unref();
  }

  /** Calls a thread, and resolves with its answer, which is the one that its message has. */
  #call<Answer>(thread: Thread, message: (call: number) => ToThread): Promise<Answer> {
    const call = this.#nextCall++;
    const answered = new Promise<Answer>((resolve, reject) =>
      thread.calls.set(call, { resolve: resolve as (answer?: unknown) => void, reject }),
    );
    thread.worker.postMessage(message(call));
    return answered;
  }

  /** Ends the threads, and with them the pipelines that still run; from now on it starts none. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watchdog.end();
    clearTimeout(this.#checksTimer);
    await Promise.all(this.#threads.map(endThread));
  }

  /** The thread of this use with the fewest pipelines; a new one as long as there are fewer than `most`. */
  #leastBusy(use: ThreadUse, most: number): Thread {
    const threads = this.#threads.filter((thread) => thread.use === use && !thread.isEnding);
    if (threads.length < most) return this.#spawn(use);
    return threads.reduce((least, thread) => (thread.pipelines.size < least.pipelines.size ? thread : least));
  }

  #spawn(use: ThreadUse): Thread {
    const worker = this.#options.spawn();
    const thread: Thread = { worker, pipelines: new Map(), isDead: false, isEnding: false, use, calls: new Map() };
    this.#threads.push(thread);
    if (worker.hold !== undefined) this.#watchdog.begin();
    worker.on("message", (messages: FromThread[]) => {
      for (const message of messages) this.#onMessage(thread, message);
    });
    let failure = "the thread ended";
    worker.on("error", (error: unknown) => (failure = foreignText(error)));
    worker.on("exit", () => this.#died(thread, thread.failure ?? failure));
    return thread;
  }

  #onMessage(thread: Thread, message: FromThread): void {
    switch (message.type) {
      case "prepare":
      case "amend":
      case "commit":
      case "set back":
      case "mark":
      case "keys":
      case "place":
      case "give up":
        this.#answer(thread, message);
        break;
      case "telemetry":
        this.#options.telemetry[message.event](message.fields as never);
        break;
      case "logged":
        this.#options.log[message.level](message.fields, message.sentence);
        break;
      case "reprocessing":
        settle(thread, message.call, message.error);
        break;
      case "checked":
        settle(thread, message.call, undefined, message.readiness);
        break;
      case "sampled":
        settle(thread, message.call, message.error, message.sample);
        break;
      case "rewound":
        settle(thread, message.call, message.error, message.partitions);
        break;
      case "started":
        thread.pipelines.get(message.pipeline_id)?.hasStarted();
        break;
      case "opened":
        thread.pipelines.get(message.pipeline_id)?.hasOpened();
        break;
      case "trying":
        this.#tries(thread, message);
        break;
      case "dying":
        this.#dies(thread, message);
        break;
      case "left":
        void this.#left(thread, message.pipeline_id, {
          kind: "ended",
          ...(message.error !== undefined && { error: fromPlain(message.error) }),
        });
        break;
    }
  }

  #tries(thread: Thread, { pipeline_id, event }: Extract<FromThread, { type: "trying" }>): void {
    const placement = thread.pipelines.get(pipeline_id);
    if (placement !== undefined) placement.trying = event;
  }

  #dies(thread: Thread, { error, pipeline_id }: Extract<FromThread, { type: "dying" }>): void {
    thread.failure = error;
    const placement = pipeline_id === undefined ? undefined : thread.pipelines.get(pipeline_id);
    if (placement !== undefined) placement.isDying = true;
  }

  #answer(thread: Thread, message: JournalCall): void {
    const { call } = message;
    const pipeline_id = "record" in message ? message.record.pipeline_id : message.pipeline_id;
    const answered = this.#carryOut(message).then(
      (keys) => thread.worker.postMessage({ type: "answer", call, ...(keys !== undefined && { keys }) }),
      (error: unknown) => thread.worker.postMessage({ type: "answer", call, error: toPlain(error) }),
    );
    thread.pipelines.get(pipeline_id)?.writes(answered);
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
        await journal.commit(message.record, message.released);
        this.#options.onCommitted(message.record);
        return undefined;
      default:
        await journal[message.type](message.record);
        return undefined;
    }
  }

  /** It counts as running until the writes that it has sent are done: the next start reads the journal. */
  async #left(thread: Thread, pipeline_id: string, how: Left): Promise<void> {
    const placement = thread.pipelines.get(pipeline_id);
    if (placement === undefined) return;
    await placement.written();
    // Its thread may have died meanwhile, which has ended the placement already.
    if (thread.pipelines.get(pipeline_id) !== placement) return;
    thread.pipelines.delete(pipeline_id);
    this.#places.delete(pipeline_id);
    placement.hasLeft(how);
    if (thread.use === "lone" && thread.pipelines.size === 0 && !thread.isDead) await endThread(thread);
  }

  /** A pipeline keeps its thread from all others. One that does not end so soon loses the thread, and they go on in another one. */
  #held({ thread, number, milliseconds, isNew }: Hold<Thread>): void {
    const placement = [...thread.pipelines.values()].find((one) => one.number === number);
    if (placement === undefined) return;
    if (isNew) placement.onHeld(thread.use === "shared");
    if (milliseconds < mostHeld || thread.pipelines.size === 1 || thread.isEnding) return;
    placement.isDying = true;
    thread.failure = heldText(placement.pipeline_id);
    void endThread(thread);
  }

  #died(thread: Thread, failure: string): void {
    thread.isDead = true;
    this.#threads.splice(this.#threads.indexOf(thread), 1);
    for (const call of thread.calls.values()) call.reject(new Error(`the thread died: ${failure}`));
    const pipelines = [...thread.pipelines.keys()];
    // A thread without pipelines was ended by the pool.
    if (!this.#isClosed && pipelines.length > 0) this.#options.telemetry.threadDied({ pipelines, error: failure });
    const causes = [...thread.pipelines.values()].filter(({ trying, isDying }) => trying !== undefined || isDying);
    const others = causes.map(({ pipeline_id }) => pipeline_id);
    for (const [pipeline_id, placement] of thread.pipelines) {
      const by = placement.trying;
      const isByOther = causes.length > 0 && !causes.includes(placement);
      const error = new Error(deathText(failure, isByOther ? others : []));
      void this.#left(thread, pipeline_id, { kind: "died", error, isByOther, ...(by !== undefined && { by }) });
    }
  }
}

/** The pause of a pipeline that has kept a thread from everything else. */
export const holdPause = {
  class: "thread",
  text: "it kept its thread from all other work for more than a second: it has a thread of its own, where it goes on",
  way_out:
    "send it smaller events or batches, or make its expressions cheaper; it is over when that has not happened for 30 s",
} as const satisfies Omit<Pause, "since">;

/** Why a thread ends that a pipeline does not let go. */
export function heldText(pipeline_id: string): string {
  return `pipeline ${pipeline_id} held it for more than ${mostHeld / 1000} s`;
}

/** Why a pipeline has no thread any more. `others`: the pipelines that it died of, where this one was only beside them. */
export function deathText(failure: string, others: readonly string[] = []): string {
  return `${others.length === 0 ? "its thread died" : `its thread died of pipeline ${others.join(", ")}`}: ${failure}`;
}

async function endThread(thread: Thread): Promise<void> {
  thread.isEnding = true;
  await thread.worker.terminate();
}

function settle(thread: Thread, call: number, error: PlainError | undefined, answer?: unknown): void {
  const waiting = thread.calls.get(call);
  thread.calls.delete(call);
  if (error === undefined) waiting?.resolve(answer);
  else waiting?.reject(fromPlain(error));
}
