import { setTimeout as sleep } from "node:timers/promises";
import type { KafkaSubject } from "./kafka-subject.ts";

const every = 500;

/** Produces events of a subject without a pause, until it is stopped. */
export class KafkaLoad {
  readonly #subject: KafkaSubject;
  readonly #perSecond: number;
  readonly #stopped = new AbortController();
  readonly #done: Promise<void>;

  constructor(subject: KafkaSubject, perSecond: number) {
    this.#subject = subject;
    this.#perSecond = perSecond;
    this.#done = this.#produce();
    this.#done.catch(() => undefined);
  }

  /** Resolves when the last event is there. Throws what kept events from being produced. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#done;
  }

  async #produce(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const pause = sleep(every, undefined, { signal }).catch(() => undefined);
      await this.#subject.produce(Math.ceil((this.#perSecond * every) / 1_000));
      await pause;
    }
  }
}
