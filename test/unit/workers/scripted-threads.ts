import { EventEmitter } from "node:events";
import type { FromThread, ToThread, WorkerLike } from "../../../engine/workers/protocol.ts";

/**
 * Threads that run no pipeline, but answer as if they did: a start is answered with "started", a stop or an abort with
 * "left", a check with "ready". They note which pipelines would run, and whether one ever runs twice.
 */
export class ScriptedThreads {
  readonly threads: ScriptedThread[] = [];
  /** Such as `start orders`, in the order in which threads heard it. */
  readonly heard: string[] = [];
  /** Pipelines that were started while they ran. */
  readonly doubled: string[] = [];
  /** The limits of the stops that threads heard, in milliseconds. */
  readonly limits: number[] = [];
  /** Pipelines that run, each with its thread. */
  readonly running = new Map<string, ScriptedThread>();
  /** Whether threads answer at once what the engine tells them; where not, the test does. */
  answers = true;

  readonly spawn = (): ScriptedThread => {
    const thread = new ScriptedThread(this);
    this.threads.push(thread);
    return thread;
  };

  /** The thread that a pipeline runs on. */
  of(pipeline_id: string): ScriptedThread {
    const thread = this.running.get(pipeline_id);
    if (thread === undefined) throw new Error(`pipeline ${pipeline_id} does not run`);
    return thread;
  }
}

export class ScriptedThread implements WorkerLike {
  readonly #all: ScriptedThreads;
  readonly #events = new EventEmitter();
  #isEnding = false;
  isDead = false;

  constructor(all: ScriptedThreads) {
    this.#all = all;
  }

  on(event: string, listener: (...given: never[]) => void): this {
    this.#events.on(event, listener as (...given: unknown[]) => void);
    return this;
  }

  postMessage(message: ToThread): void {
    queueMicrotask(() => this.#hear(structuredClone(message)));
  }

  /** Says something to the engine, as its thread would. */
  say(message: FromThread): void {
    if (!this.isDead) this.#events.emit("message", [structuredClone(message)]);
  }

  /** A pipeline leaves it. */
  left(pipeline_id: string, message?: string): void {
    if (this.#all.running.get(pipeline_id) === this) this.#all.running.delete(pipeline_id);
    this.say({ type: "left", pipeline_id, ...(message === undefined ? {} : { error: { message } }) });
  }

  die(message = "killed by the test"): void {
    if (this.isDead) return;
    for (const [pipeline_id, thread] of this.#all.running) if (thread === this) this.#all.running.delete(pipeline_id);
    this.isDead = true;
    this.#events.emit("error", new Error(message));
    this.#events.emit("exit", 1);
  }

  /** As a real thread does, it takes a moment to end, in which it hears nothing. */
  async terminate(): Promise<void> {
    this.#isEnding = true;
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.isDead) this.die("it was ended");
  }

  #hear(message: ToThread): void {
    if (this.isDead || this.#isEnding) return;
    switch (message.type) {
      case "start":
        this.#start(message.spec.pipeline_id);
        break;
      case "stop":
      case "abort":
        if (message.type === "stop") this.#all.limits.push(message.limit);
        this.#all.heard.push(`${message.type} ${message.pipeline_id}`);
        if (this.#all.answers && this.#all.running.get(message.pipeline_id) === this) this.left(message.pipeline_id);
        break;
      case "check":
        if (this.#all.answers) this.say({ type: "checked", call: message.call, readiness: { kind: "ready" } });
        break;
      default:
        break;
    }
  }

  #start(pipeline_id: string): void {
    const { running, doubled, heard, answers } = this.#all;
    heard.push(`start ${pipeline_id}`);
    if (running.has(pipeline_id)) doubled.push(pipeline_id);
    running.set(pipeline_id, this);
    if (answers) this.say({ type: "started", pipeline_id });
  }
}
