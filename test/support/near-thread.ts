import { EventEmitter } from "node:events";
import { ThreadHost } from "../../engine/workers/host.ts";
import type { FromThread, ThreadPort, ToThread, WorkerLike } from "../../engine/workers/protocol.ts";

/**
 * A "thread" that runs its pipelines in the thread of the test: messages are structured clones that arrive later, in
 * their order, as between real threads. From its death on no message passes in either direction, and its pipelines end:
 * one that goes on would keep the timers of the tests after it busy.
 */
export class NearThread implements WorkerLike {
  readonly #outside = new EventEmitter();
  readonly #inside = new EventEmitter();
  readonly host: ThreadHost;
  /** The pipelines that run in it, also after its death. */
  readonly running = new Set<string>();
  #isDead = false;

  constructor() {
    const port: ThreadPort = {
      postMessage: (messages) => {
        for (const message of messages) if (message.type === "left") this.running.delete(message.pipeline_id);
        if (this.#isDead) this.#refuse(messages);
        else this.#pass(this.#outside, messages);
      },
      on: (event, heard) => this.#inside.on(event, heard),
    };
    this.host = new ThreadHost(port);
  }

  postMessage(message: ToThread): void {
    if (message.type === "start" && !this.#isDead) this.running.add(message.spec.pipeline_id);
    this.#pass(this.#inside, message);
  }

  on(event: string, listener: (...given: never[]) => void): this {
    this.#outside.on(event, listener as (...given: unknown[]) => void);
    return this;
  }

  /** It dies at this moment, of `error` if that is given. */
  die(error?: Error): void {
    if (this.#isDead) return;
    this.#isDead = true;
    for (const pipeline_id of this.running) this.#inside.emit("message", { type: "abort", pipeline_id });
    if (error !== undefined) this.#outside.emit("error", error);
    this.#outside.emit("exit", 1);
  }

  async terminate(): Promise<void> {
    this.die();
  }

  /** Fails the calls to the journal, as nobody else answers those of a dead thread. */
  #refuse(messages: FromThread[]): void {
    const error = { message: "the thread is dead" };
    for (const message of messages)
      if ("call" in message)
        queueMicrotask(() => this.#inside.emit("message", { type: "answer", call: message.call, error }));
  }

  #pass(to: EventEmitter, message: FromThread[] | ToThread): void {
    const copy = structuredClone(message);
    queueMicrotask(() => {
      if (!this.#isDead) to.emit("message", copy);
    });
  }
}
