import { EventEmitter } from "node:events";
import { ThreadHost, type ThreadMachine } from "../workers/host.ts";
import type { FromThread, ToThread, WorkerLike } from "../workers/protocol.ts";

/**
 * A "thread" that runs its pipelines in the calling thread, so that these share the clock and the events that it gives
 * them. Messages are copies that arrive later, in their order, as between real threads.
 */
export class LocalThread implements WorkerLike {
  readonly #outside = new EventEmitter();
  readonly #inside = new EventEmitter();
  #isOver = false;

  constructor(machine: ThreadMachine) {
    const postMessage = (messages: FromThread[]): void => this.#pass(this.#outside, messages);
    const port = { postMessage, on: this.#inside.on.bind(this.#inside) };
    // It listens to its port from now on.
    void new ThreadHost(port, machine);
  }

  postMessage(message: ToThread): void {
    this.#pass(this.#inside, message);
  }

  on(event: string, listener: (...given: never[]) => void): this {
    this.#outside.on(event, listener as (...given: unknown[]) => void);
    return this;
  }

  terminate(): Promise<void> {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#outside.emit("exit", 0);
    }
    return Promise.resolve();
  }

  #pass(to: EventEmitter, message: FromThread[] | ToThread): void {
    const copy = structuredClone(message);
    setImmediate(() => {
      if (!this.#isOver) to.emit("message", copy);
    });
  }
}
