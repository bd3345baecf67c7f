import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { ThreadHost, type ThreadMachine } from "../workers/host.ts";
import type { FromThread, ToThread, WorkerLike } from "../workers/protocol.ts";

/** The thread that a callback or a promise belongs to. */
const current = new AsyncLocalStorage<LocalThread>();

/**
 * A "thread" that runs its pipelines in the calling thread, so that these share the clock and the events that it gives
 * them. Messages are copies that arrive later, in their order, as between real threads. It does not end by itself when
 * an exception is not caught: call `dies` then.
 */
export class LocalThread implements WorkerLike {
  /** The one whose work is being done; undefined outside of them. */
  static get current(): LocalThread | undefined {
    return current.getStore();
  }

  /** The pipelines that were started on it. */
  readonly pipelines = new Set<string>();
  readonly #outside = new EventEmitter();
  readonly #inside = new EventEmitter();
  #isOver = false;

  constructor(machine: ThreadMachine) {
    const postMessage = (messages: FromThread[]): void =>
      this.#pass(messages, (copy) => this.#outside.emit("message", copy));
    const port = { postMessage, on: this.#inside.on.bind(this.#inside) };
    // It listens to its port from now on.
    void new ThreadHost(port, machine);
  }

  postMessage(message: ToThread): void {
    if (message.type === "start") this.pipelines.add(message.spec.pipeline_id);
    this.#pass(message, (copy) => current.run(this, () => this.#inside.emit("message", copy)));
  }

  /** Ends as a thread does of an exception that nothing caught. What it has begun goes on, and is not heard. */
  dies(error: Error): void {
    if (this.#isOver) return;
    this.#outside.emit("error", error);
    void this.terminate();
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

  #pass<Message extends FromThread[] | ToThread>(message: Message, deliver: (copy: Message) => void): void {
    const copy = structuredClone(message);
    // The process hears a message outside of the thread that sent it.
    current.exit(() =>
      setImmediate(() => {
        if (!this.#isOver) deliver(copy);
      }),
    );
  }
}
