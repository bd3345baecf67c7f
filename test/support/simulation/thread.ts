import { EventEmitter } from "node:events";
import type { FromThread, ThreadPort, ToThread, WorkerLike } from "../../../engine/workers/protocol.ts";
import { ThreadHost, type ThreadMachine } from "../../../engine/workers/host.ts";
import { Life } from "./clock.ts";

/** A thread of a simulated process: it shares nothing with it, and each message is a copy that arrives later. */
export class SimulatedThread implements WorkerLike {
  readonly #life: Life;
  readonly #process: Life | undefined = Life.current;
  readonly #outside = new EventEmitter();
  readonly #inside = new EventEmitter();

  constructor(life: Life, machine: ThreadMachine) {
    this.#life = life;
    const port: ThreadPort = {
      postMessage: (messages) => this.#pass(this.#process, this.#outside, messages),
      on: (event, heard) => this.#inside.on(event, heard),
    };
    life.run(() => new ThreadHost(port, machine));
  }

  get isDead(): boolean {
    return this.#life.isOver;
  }

  postMessage(message: ToThread): void {
    this.#pass(this.#life, this.#inside, message);
  }

  on(event: string, listener: (...given: never[]) => void): this {
    this.#outside.on(event, listener as (...given: unknown[]) => void);
    return this;
  }

  /** It ends at this moment, in the middle of whatever it does. */
  die(reason: string): void {
    if (this.isDead) return;
    this.#life.end();
    Life.runIn(this.#process, () => {
      this.#outside.emit("error", new Error(reason));
      this.#outside.emit("exit", 1);
    });
  }

  async terminate(): Promise<void> {
    this.#life.end();
    Life.runIn(this.#process, () => this.#outside.emit("exit", 1));
  }

  #pass(life: Life | undefined, to: EventEmitter, message: FromThread[] | ToThread): void {
    const copy: unknown = structuredClone(message);
    // The order is kept: immediates run one after the other.
    Life.runIn(life, () => setImmediate(() => !this.isDead && to.emit("message", copy)));
  }
}
