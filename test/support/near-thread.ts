import { EventEmitter } from "node:events";
import { ThreadHost } from "../../engine/workers/host.ts";
import type { FromThread, ThreadPort, ToThread, WorkerLike } from "../../engine/workers/protocol.ts";

/**
 * A "thread" that runs its pipelines in the thread of the test: messages are structured clones that arrive later, in
 * their order, as between real threads. From its death on no message passes in either direction.
 */
export class NearThread implements WorkerLike {
  readonly #outside = new EventEmitter();
  readonly #inside = new EventEmitter();
  readonly host: ThreadHost;
  #isDead = false;

  constructor() {
    const port: ThreadPort = {
      postMessage: (messages) => this.#pass(this.#outside, messages),
      on: (event, heard) => this.#inside.on(event, heard),
    };
    this.host = new ThreadHost(port);
  }

  postMessage(message: ToThread): void {
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
    if (error !== undefined) this.#outside.emit("error", error);
    this.#outside.emit("exit", 1);
  }

  async terminate(): Promise<void> {
    this.die();
  }

  #pass(to: EventEmitter, message: FromThread[] | ToThread): void {
    const copy = structuredClone(message);
    queueMicrotask(() => {
      if (!this.#isDead) to.emit("message", copy);
    });
  }
}
